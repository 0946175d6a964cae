"""Custom functions of every framework that is installed: programs run through them by their stated derivatives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.failures.listing import listing
from autograd_conformance.frameworks.loading.registry import AdapterError, load
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Returned

DERIVATIVES = {
    "jax-custom": ["return (g * y,)", "tangent * jnp.cos(x)", "return (g * factor,)"],
    "jax-jit-custom": ["return (g * y,)", "tangent * jnp.cos(x)"],
    "autograd-custom": ["lambda g: g * y)", "lambda g: g * np.cos(x)", "lambda g: g * factor"],
    "mlx-custom": ["return g * y", "return g * cos(x)"],
    "tensorflow-custom": ["lambda g: g * y", "return g * cos(x)"],
    "tensorflow-function-custom": ["lambda g: g * y", "return g * cos(x)"],
    "paddle-custom": ["return g * y", "return g * paddle.cos(x)", "return g * ctx.factor"],
}
"""Code of derivatives in the functions of each mode."""
ALL = (
    "a = leaf [[2, 1], [0.5, 3]]; b = leaf [1, 2]; c = multiply a b; d = sin b; e = exp c; f = add e d; "
    "g = multiply_scalar f scalar=0.5; h = tanh d; i = mm g a; j = multiply i h; k = square j; "
    "l, m = grad k wrt a, b with [[1, 2], [3, 4]]"
)
TWO = "a = leaf [[2, 1], [0.5, 3]]; b, c = slogdet a; d = multiply_scalar c scalar=3.0; e = grad d wrt a with 2"
SECOND = (
    "a = leaf [1, 2]; b = sin a; c = exp b; d = multiply c a; e = grad d wrt a with [1, 2] create=True; "
    "f = grad e wrt a with [3, 4]"
)
PROGRAMS = (ALL, TWO, SECOND)


def adapter_of(mode: str) -> Any:
    try:
        return load(mode)
    except AdapterError as error:
        pytest.skip(str(error))


def program_of(text: str, target: InProcess) -> Program:
    if "float64" not in target.dtypes:
        text = text.replace("leaf ", "leaf f32 ").replace("with ", "with f32 ")
    if Capability.MATERIALIZES in target.capabilities:
        text = "; ".join(f"{line} materialize=True" if "grad " in line else line for line in text.split("; "))
    return parse(text, VOCABULARY)


@pytest.mark.parametrize("mode", DERIVATIVES)
def test_programs_run_through_the_functions(mode: str):
    adapter = adapter_of(mode)
    smoke(adapter)
    target = InProcess(adapter)
    for program in (program_of(text, target) for text in PROGRAMS if "slogdet" not in text or "slogdet" in adapter.ops):
        for seen in (target.observe(program), target.observe_printed(program)):
            assert first_violation(program, seen, target) is None
            assert all(isinstance(each.outcome, Returned) for each in seen)


@pytest.mark.parametrize(("mode", "code"), [(mode, code) for mode, codes in DERIVATIVES.items() for code in codes])
def test_the_derivative_that_a_function_states_is_the_one_that_counts(mode: str, code: str):
    adapter = adapter_of(mode)
    assert adapter.dialect.prelude.count(code) == 1
    doubled = code.replace("g * ", "2 * g * ").replace("tangent * ", "2 * tangent * ")
    adapter.dialect = replace(adapter.dialect, prelude=adapter.dialect.prelude.replace(code, doubled))
    adapter.templates = Templates.of(adapter.dialect)
    target = InProcess(adapter)
    violation = violation_of(program_of(ALL, target), target)
    assert violation is not None and violation.rule in ("functional/value", "gradients/op", "gradients/graph")


def test_scripts_contain_the_functions_that_they_use():
    target = InProcess(adapter_of("jax-custom"))
    text = listing(program_of("a = leaf [1, 2]; b = sin a; c = grad b wrt a with [1, 1]", target), target)
    assert "sin.defjvps(" in text and "multiply" not in text and "exp" not in text
