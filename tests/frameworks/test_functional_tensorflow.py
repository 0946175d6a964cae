"""TensorFlow as a framework under test, where it is installed."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

from autograd_conformance.frameworks.smoke import smoke
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.frameworks.tensorflow.adapter import TensorFlow
from autograd_conformance.harness.check import violation_of
from autograd_conformance.harness.known import is_known, read
from autograd_conformance.programs.observations import Returned
from tests.frameworks.test_functional import PROGRAMS, program_of
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


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.op)
def test_each_difference_shows_in_its_witness(entry):
    violation = violation_of(entry.witness, TARGET)
    assert violation is not None
    assert is_known(entry, entry.witness, violation)
