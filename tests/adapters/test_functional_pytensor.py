"""PyTensor as a framework under test, if it is installed."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("PYTENSOR_FLAGS", "linker=py,optimizer=None")  # read once, by whichever import comes first
pytest.importorskip("pytensor")

from autograd_conformance.adapters.pytensor.adapter import PyTensor
from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.programs.observations import Returned
from tests.frameworks.test_functional import PROGRAMS, SECOND, SEVERAL, program_of

PYTENSOR = InProcess(PyTensor())
ENTRIES = known("pytensor")


def test_it_is_an_adapter():
    smoke(PyTensor())


@pytest.mark.parametrize("text", PROGRAMS)
def test_derivatives_of_every_order_are_right(text: str):
    program = program_of(text)
    assert violation_of(program, PYTENSOR) is None
    assert all(isinstance(seen.outcome, Returned) for seen in PYTENSOR.observe(program))


@pytest.mark.parametrize("text", [SECOND, SEVERAL])
def test_printed_code_does_the_same(text: str):
    program = program_of(text)
    printed = PYTENSOR.observe_printed(program)
    assert first_violation(program, printed, PYTENSOR) is None
    assert all(isinstance(seen.outcome, Returned) for seen in printed)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.op)
def test_each_difference_shows_in_its_witness(entry):
    violation = violation_of(entry.witness, PYTENSOR)
    assert violation is not None
    assert is_known(entry, entry.witness, violation)


def test_functions_inside_of_ops_are_not_compiled_by_numba():
    """`einsum` compiles its inner function in PyTensor's default mode, which the prelude sets."""
    pytensor = PYTENSOR.adapter.templates.scope["pytensor"]
    assert type(pytensor.compile.mode.get_default_mode().linker).__name__ == "PerformLinker"


def test_a_fault_is_seen():
    class Doubled(PyTensor):
        def vjp(self, function, values, cotangents):
            return [2 * made for made in super().vjp(function, values, cotangents)]

    violation = violation_of(program_of(SEVERAL), InProcess(Doubled()))
    assert violation is not None
    assert violation.rule.startswith("gradients/")
