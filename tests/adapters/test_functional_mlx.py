"""MLX as a framework under test, if it is installed."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("mlx.core")

from autograd_conformance.adapters.mlx.adapter import Mlx
from autograd_conformance.adapters.mlx.forward import MlxJvp
from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.programs.observations import Returned
from tests.frameworks.test_functional import OF_NUMBER, PROGRAMS, SECOND, SEVERAL, program_of

MLX = InProcess(Mlx())
ENTRIES = known("mlx")

each_mode = pytest.mark.parametrize("mode", [MLX, InProcess(MlxJvp())], ids=["reverse", "forward"])


def in_float32(text: str) -> str:
    """Parse a program and convert its leaves and cotangents to float32, MLX's dtype."""
    return re.sub(r"with (?=[\[\d])", "with f32 ", text.replace("leaf ", "leaf f32 ")).replace("], [", "], f32 [")


def test_it_is_an_adapter():
    smoke(Mlx())


@each_mode
@pytest.mark.parametrize("text", PROGRAMS)
def test_derivatives_of_every_order_are_right(mode: InProcess, text: str):
    program = program_of(in_float32(text))
    assert violation_of(program, mode) is None
    assert all(isinstance(seen.outcome, Returned) for seen in mode.observe(program))


@each_mode
@pytest.mark.parametrize("text", [SECOND, SEVERAL, OF_NUMBER])
def test_printed_code_does_the_same(mode: InProcess, text: str):
    program = program_of(in_float32(text))
    printed = mode.observe_printed(program)
    assert first_violation(program, printed, mode) is None
    assert all(isinstance(seen.outcome, Returned) for seen in printed)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.op)
def test_each_difference_shows_in_its_witness(entry):
    violation = violation_of(entry.witness, MLX)
    assert violation is not None
    assert is_known(entry, entry.witness, violation)


def test_a_fault_is_seen():
    class Doubled(Mlx):
        def vjp(self, function, values, cotangents):
            return [2 * made for made in super().vjp(function, values, cotangents)]

    violation = violation_of(program_of(in_float32(SEVERAL)), InProcess(Doubled()))
    assert violation is not None
    assert violation.rule.startswith("gradients/")
