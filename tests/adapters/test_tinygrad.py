"""tinygrad: its adapter, its known differences, and the traits that its documentation states."""

from __future__ import annotations

import numpy as np
import pytest
from tinygrad import Device, Tensor

from autograd_conformance.adapters.tinygrad.adapter import Tinygrad
from autograd_conformance.checking.check import violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.formats.text import parse

TARGET = InProcess(Tinygrad())
ENTRIES = known("tinygrad")


def test_it_is_an_adapter():
    smoke(Tinygrad())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.rule}-{entry.op}")
def test_each_difference_shows_in_its_witness(entry):
    if entry.device == ("cpu",) and Device.DEFAULT != "CPU":
        pytest.skip("the CPU's device needs clang")
    violation = violation_of(entry.witness, TARGET)
    assert violation is not None
    assert is_known(entry, entry.witness, violation)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a = leaf 2; b = sin a; backward b", None),
        ("a = leaf [2]; b = sin a; backward b", None),  # refused: it is no number
        ("a = leaf [1, 2]; b = sin a; backward b with [1, 1]; c = cos b; backward c with [1, 1]", None),
        (
            "a = leaf [1, 2]; d = detach a; z = leaf [3, 4]; b = multiply d z; backward b with [1, 1]",
            None,
        ),  # zeros for a
        ("a = leaf [1, 2]; z = leaf [3, 4]; b = sin z; backward b with [1, 1]", None),  # none for a
    ],
)
def test_what_its_documentation_says_is_legal(text: str, rule: str | None):
    assert violation_of(parse(text, VOCABULARY), TARGET) == rule


class Fills(Tinygrad):
    """Every leaf gets a gradient, also if the root was not computed from it."""

    def __init__(self, of: float) -> None:
        super().__init__()
        self.of, self.leaves = of, []

    def reset(self):
        self.leaves = []

    def leaf(self, data, requires_grad):
        self.leaves.append(super().leaf(data, requires_grad))
        return self.leaves[-1]

    def backward(self, roots, cotangents, retain_graph):
        super().backward(roots, cotangents, retain_graph)
        for leaf in self.leaves:
            if leaf.grad is None or not leaf.grad.numpy().any():
                leaf.grad = Tensor(np.full(leaf.shape, self.of))


DETACHED = "a = leaf [1, 2]; d = detach a; z = leaf [3, 4]; b = multiply d z; backward b with [1, 1]"
APART = "a = leaf [1, 2]; z = leaf [3, 4]; b = sin z; backward b with [1, 1]"


@pytest.mark.parametrize(("text", "of"), [(DETACHED, 1.0), (APART, 0.0), (APART, 1.0)])
def test_zeros_are_for_leaves_that_the_root_was_computed_from(text: str, of: float):
    violation = violation_of(parse(text, VOCABULARY), InProcess(Fills(of)))
    assert violation is not None
    assert violation.rule in ("accumulation/unreached", "detach/blocks")


def test_a_program_runs_as_it_is_printed():
    adapter = Tinygrad()
    program = parse("a = leaf 2; z = leaf [1, 2]; b = multiply a z; backward b with [3, 4]; zero z", VOCABULARY)
    known: dict[str, Tensor] = {}
    exec("\n".join([adapter.dialect.prelude, *code(program, adapter.dialect)]), known)
    assert known["a"].grad.tolist() == 11
    assert known["b"].grad is None
