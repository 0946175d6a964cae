"""JAX, with and without `jit` and batches, as frameworks under test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograd_conformance.adapters.jax.adapter import Jax, JaxJit
from autograd_conformance.adapters.jax.batched import JaxPerSample, JaxVmap
from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.programs.observations import Kind, Raised, Returned
from tests.frameworks.test_functional import PRINTED, PROGRAMS, program_of
from tests.plugin.test_cli import ROOT

ADAPTERS = (Jax, JaxJit, JaxVmap, JaxPerSample)
TARGETS = {make.name: InProcess(make()) for make in ADAPTERS}
ENTRIES = known("jax")

each = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


@pytest.mark.parametrize("make", ADAPTERS)
def test_they_are_adapters(make: type[Jax]):
    smoke(make())


@each
@pytest.mark.parametrize("text", [PROGRAMS[0], *(pytest.param(text, marks=pytest.mark.slow) for text in PROGRAMS[1:])])
def test_derivatives_of_every_order_are_right(text: str, target: InProcess):
    program = program_of(text)
    assert violation_of(program, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in target.observe(program))


@each
@pytest.mark.parametrize("text", PRINTED)
def test_printed_code_does_the_same(text: str, target: InProcess):
    program = program_of(text)
    printed = target.observe_printed(program)
    assert first_violation(program, printed, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in printed)


@each
def test_no_gradient_flows_through_what_is_detached(target: InProcess):
    text = "a = leaf [2, 3]; b = exp a; c = detach b; d = multiply a c; e = grad d wrt a with [1, 1] materialize=True"
    assert violation_of(program_of(text), target) is None


@each
def test_a_cotangent_of_another_shape_is_refused(target: InProcess):
    program = program_of("a = leaf [2, 3]; b = exp a; c = grad b wrt a with [1, 2, 3] materialize=True")
    outcome = target.observe(program)[2].outcome
    assert isinstance(outcome, Raised)
    assert outcome.kind is Kind.COTANGENT_SHAPE
    assert violation_of(program, target) is None


@each
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.op)
def test_each_difference_shows_in_its_witness(entry, target: InProcess):
    violation = violation_of(entry.witness, target)
    assert violation is not None
    assert is_known(entry, entry.witness, violation)


@each
def test_a_fault_is_seen(target: InProcess):
    """The reference computes along another path, so a fault that is put into JAX does not affect it."""

    class Doubled(type(target.adapter)):  # type: ignore[misc]
        def vjp(self, function, values, cotangents):
            return [2 * made for made in super().vjp(function, values, cotangents)]

    violation = violation_of(program_of(PROGRAMS[0]), InProcess(Doubled()))
    assert violation is not None
    assert violation.rule == "gradients/cotangent"  # as if it were twice what it is


def test_what_is_compiled_is_kept_from_one_run_to_the_next(tmp_path: Path):
    """JAX keeps compiled programs in the user's cache directory, or in the folder that an environment variable
    names.
    """
    code = (
        "from autograd_conformance.adapters.jax.adapter import Jax; import numpy as np; a = Jax(); "
        "a.apply('sin', [a.leaf(np.ones(3), True)], ())"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "caches"), "PYTHONPATH": str(ROOT)}
    for more, folder in (({}, "caches/autograd-conformance/jax"), ({"JAX_COMPILATION_CACHE_DIR": "mine"}, "mine")):
        more = {key: str(tmp_path / value) for key, value in more.items()}
        words = [sys.executable, "-c", code]
        done = subprocess.run(words, env=environment | more, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("", "")
        assert (tmp_path / folder).is_dir()
    assert [*(tmp_path / "caches").rglob("jit_sin*")]


@pytest.mark.parametrize("short", ["bf16", "f16"])
def test_few_digits_are_judged_by_their_own_bounds(short: str):
    target, call = TARGETS["jax"], "grad c wrt a materialize=True"
    program = program_of(f"a = leaf {short} [2, 0.25]; b = sin a; c = logsumexp b dim=(0,) keepdim=False; d = {call}")
    observation = target.observe(program)
    assert first_violation(program, observation, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in observation)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("RFFT input must be float32 or float64, got bfloat16", Kind.NO_KERNEL),
        ("x.dtype=float16 is not supported, see docstring for supported types.", Kind.NO_KERNEL),
        ("x.dtype=float32 is not supported, see docstring for supported types.", Kind.UNKNOWN),
    ],
)
def test_a_refusal_of_a_dtype_of_few_digits_alone_is_a_missing_kernel(message: str, kind: Kind):
    assert Jax().classify(ValueError(message)) is kind
