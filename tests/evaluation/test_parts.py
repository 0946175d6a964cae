"""The tests of writes to parts of a value detect a framework that assigns to another part."""

from __future__ import annotations

import pytest
import torch

from autograd_conformance.checking.check import Check
from autograd_conformance.programs.language import Attrs
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.situations import writes
from evaluation.mutants.kill import TORCH, failure, prepared
from evaluation.mutants.mutant import Honest, Mutant, Roots
from evaluation.mutants.probes import QUICK, Probe, check_drawn


class DiagonalsMeet(Mutant):
    """An assignment to another diagonal is made to the main diagonal of a non-square matrix."""

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        given = dict(attrs)
        fits = op == "set_diagonal_" and given["offset"] and target.shape[0] != target.shape[1]
        super().write(op, target, operands, (("offset", 0),) if fits and not operands[0].dim() else attrs)


class StepsLost(Mutant):
    """An assignment to every other column is made to adjacent columns."""

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        if op == "set_steps_":
            columns = target.shape[-1]
            start, stop, step = (number for _, number in attrs if isinstance(number, int))
            last = min(columns, start + len(range(start, stop, step)))
            fits = not operands[0].dim() or operands[0].shape[-1] in (1, last - start)
            attrs = (("start", start), ("stop", last), ("step", 1)) if fits else attrs
        super().write(op, target, operands, attrs)


def found(framework: type[Mutant], write: str) -> str | None:
    """The rule whose violation the write's own test reports; None if it passes."""
    with alphabet.using(alphabet.current()):
        check = Check(prepared(framework).target, known=TORCH)
        drawn = {"drawn": writes.single_writes(write)}
        broken = failure(Probe("writes/value", write, check_drawn, drawn, QUICK), check, 0)
    return broken[0].violation.rule if broken else None


@pytest.mark.parametrize(("framework", "write"), [(DiagonalsMeet, "set_diagonal_"), (StepsLost, "set_steps_")])
def test_an_assignment_to_another_part_is_detected(framework: type[Mutant], write: str) -> None:
    assert found(framework, write) == "writes/value"


@pytest.mark.parametrize("write", ["set_steps_", "set_elements_", "set_points_", "set_diagonal_"])
def test_right_assignments_pass(write: str) -> None:
    assert found(Honest, write) is None
