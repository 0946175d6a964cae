"""TensorFlow as a framework under test, where it is installed."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

from autograd_conformance.frameworks.smoke import smoke
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.frameworks.tensorflow.adapter import TensorFlow
from autograd_conformance.harness.check import judged, violation_of
from autograd_conformance.harness.known import is_known, read
from autograd_conformance.programs.observations import Kind, Raised, Returned
from tests.frameworks.test_functional import PROGRAMS, SECOND, SEVERAL, ZEROS, program_of
from tests.harness.test_cli import ROOT

TARGET = InProcess(TensorFlow())
ENTRIES = read(ROOT / "frameworks" / "known" / "tensorflow.toml")


def test_it_is_an_adapter():
    smoke(TensorFlow())


@pytest.mark.parametrize("text", PROGRAMS)
def test_derivatives_of_every_order_are_right(text: str):
    program = program_of(text)
    assert violation_of(program, TARGET) is None
    assert all(isinstance(seen.outcome, Returned) for seen in TARGET.observe(program))


@pytest.mark.parametrize("text", [SECOND, SEVERAL])
def test_printed_code_does_the_same(text: str):
    program = program_of(text)
    printed = TARGET.observe_printed(program)
    assert judged(program, printed, TARGET) is None
    assert all(isinstance(seen.outcome, Returned) for seen in printed)


@pytest.mark.parametrize("op", ["cholesky", "eigvalsh"])
def test_matrices_are_made_symmetric_one_by_one(op: str):
    text = f"a = leaf [[[4, 1], [2, 3]], [[5, 0], [1, 2]]]; b = {op} a"
    program = program_of(f"{text}; c = sum b dim=() keepdim=False; d = grad c wrt a with 1 {ZEROS}")
    assert violation_of(program, TARGET) is None
    assert all(isinstance(seen.outcome, Returned) for seen in TARGET.observe(program))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.op)
def test_each_difference_shows_in_its_witness(entry):
    violation = violation_of(entry.witness, TARGET)
    assert violation is not None
    assert is_known(entry, entry.witness, violation)


def test_a_fault_is_seen():
    class Doubled(TensorFlow):
        def vjp(self, function, values, cotangents):
            return [2 * made for made in super().vjp(function, values, cotangents)]

    violation = violation_of(program_of(SEVERAL), InProcess(Doubled()))
    assert violation is not None
    assert violation.rule.startswith("gradients/")


def test_an_op_without_a_second_derivative_says_so():
    program = program_of(SECOND.replace("sin", "softsign"))
    assert violation_of(program, TARGET) is None
    refused = [seen.outcome for seen in TARGET.observe(program) if isinstance(seen.outcome, Raised)]
    assert [each.kind for each in refused] == [Kind.NOT_IMPLEMENTED]
