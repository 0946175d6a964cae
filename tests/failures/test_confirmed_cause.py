"""Causes of failures: no accidental diagnosis, no diagnosis that an earlier call contradicts, and no op that
contributed the right gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import torch

from autograd_conformance.failures.variations.confirmed_cause import possible_rules, with_confirmed_cause
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.programs.capabilities import Capability
from evaluation.mutants.accumulation import Overwrites
from evaluation.mutants.derivatives import SinFlipped
from evaluation.mutants.graphs import ArgumentOnce, DiamondOnce, EqualLeavesMerged
from evaluation.mutants.higher import CreatesHalf, TanhCurvatureOff
from evaluation.mutants.mutant import Combining
from evaluation.mutants.process_state import WrongAfterFiveActions
from tests.failures.cases import failing


class Adds(Combining):
    """Adds 2 to the contributions of a second call, which many faults would explain with suitable numbers."""

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return old + new + 2 if old is not None and new is not None else super().combine(leaf, old, new)


class Late(Combining):
    """From the second call on, a value that is used twice counts once."""

    def backward(
        self,
        roots: Sequence[torch.Tensor],
        cotangents: Sequence[np.ndarray | None],
        retain: bool | None,
        **more: object,
    ) -> None:
        self.second = any(leaf.grad is not None for leaf in self.leaves)
        super().backward(roots, cotangents, retain, **more)

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return old + new / 2 if old is not None and new is not None else super().combine(leaf, old, new)


ACCIDENTS = [
    (Adds(), "a = leaf 2; backward a; backward a with 2", "added twice", "accumulation/adds", "gradients/graph"),
    (
        Late(),
        "a = leaf 2; b = multiply a a; backward b retain=True; backward b with 3",
        "that an op takes twice",
        "gradients/same-argument",
        "gradients/graph",
    ),
]


@pytest.mark.parametrize(("framework", "text", "diagnosis", "rule", "left"), ACCIDENTS, ids=["numbers", "earlier"])
def test_a_diagnosis_that_is_an_accident_is_taken_back(
    framework: Torch, text: str, diagnosis: str, rule: str, left: str
):
    case = failing(framework, text)
    assert diagnosis in str(case.violation.diagnosis)
    assert case.violation.rule == rule
    found = with_confirmed_cause(case).violation
    assert (found.diagnosis, found.rule, found.op) == (None, left, None)
    assert possible_rules(case.violation) >= {rule, left}


KEPT = [
    (Overwrites(), "a = leaf [1.5, 2]; backward a with [3, 4]; backward a with [5, 6]", "was overwritten"),
    (ArgumentOnce(), "a = leaf [1.5, 2]; b = multiply a a; backward b with [3, 4]", "takes twice"),
    (DiamondOnce(), "a = leaf [1.5, 2]; b = square a; c = add b a; backward c with [3, 4]", "only the first"),
    (EqualLeavesMerged(), "a = leaf [1, 2]; b = leaf [1, 2]; c = add a b; backward c with [3, 4]", "of equal values"),
]


@pytest.mark.parametrize(("framework", "text", "diagnosis"), KEPT, ids=[type(each[0]).__name__ for each in KEPT])
def test_a_diagnosis_that_explains_other_numbers_stays(framework: Torch, text: str, diagnosis: str):
    case = failing(framework, text)
    assert diagnosis in str(with_confirmed_cause(case).violation.diagnosis)


class Keeps(Combining):
    """Contributions of earlier calls are passed on to a leaf again."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[int, torch.Tensor] = {}

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        if old is None or new is None:
            self.kept[id(leaf)] = torch.zeros_like(leaf)
        if new is not None:
            self.kept[id(leaf)] = new = self.kept[id(leaf)] + new
        return super().combine(leaf, old, new)


class Twice(Combining):
    """The contributions of all calls but the first count twice."""

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return super().combine(leaf, old, new if old is None or new is None else 2 * new)


@pytest.mark.parametrize(
    "calls", ["backward b retain=True; backward b", "backward b with 2 retain=True; backward b with 2"]
)
def test_gradients_that_are_kept_are_told_from_contributions_that_count_twice(calls: str):
    for framework, kind, rule in ((Keeps(), "kept", "gradients/graph"), (Twice(), "added twice", "accumulation/adds")):
        case = failing(framework, f"a = leaf 3; b = exp a; {calls}")
        assert "added twice" in str(case.violation.diagnosis)
        found = with_confirmed_cause(case).violation
        assert kind in str(found.diagnosis) and found.rule == rule
        assert found.rule in possible_rules(case.violation)


def test_they_are_told_apart_by_another_root_where_a_call_takes_no_cotangent():
    for framework, kind in ((Keeps(), "kept"), (Twice(), "added twice")):
        framework.capabilities = framework.capabilities - {Capability.COTANGENTS}
        case = failing(framework, "a = leaf 3; b = exp a; backward b retain=True; backward b")
        assert "added twice" in str(case.violation.diagnosis)
        assert kind in str(with_confirmed_cause(case).violation.diagnosis)


class Stops(Torch):
    """No gradient goes through sin."""

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: dict) -> tuple[torch.Tensor, ...]:
        made = super().apply(op, operands, attrs)
        return tuple(made[0] * 0 + each.detach() for each in made) if op == "sin" else made


def test_leaves_are_not_confused_if_unequal_ones_fail_too():
    leaves = "a = leaf [1.5, 2, 2.5]; b = leaf [1.5, 2, 2.5]; c = multiply a b; d = multiply a b; "
    case = failing(Keeps(), f"{leaves} backward c with [3, 3.5, 4]; backward d with [3, 3.5, 4]")
    assert "equal values" in str(case.violation.diagnosis)
    assert "held is added twice" in str(with_confirmed_cause(case).violation.diagnosis)


class HeldTwice(Combining):
    """A call adds the gradient that a leaf held a second time."""

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return super().combine(leaf, old, new if old is None or new is None else old + new)


class KeepsAll(Keeps):
    """The same, also after the leaf's gradient was cleared."""

    def reset(self) -> None:
        super().reset()
        self.kept = {}

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        self.kept.setdefault(id(leaf), torch.zeros_like(leaf))
        if new is not None:
            self.kept[id(leaf)] = new = self.kept[id(leaf)].detach() + new
        return Combining.combine(self, leaf, old, new)


class FreedIsZero(Combining):
    """A call on a freed graph returns, and adds nothing."""

    capabilities = Combining.capabilities - {Capability.FREES}

    def backward(self, *given: Any, **more: Any) -> None:
        with suppress(RuntimeError):
            super().backward(*given, **more)


class AddsOnce(FreedIsZero):
    """Only the first call adds to a leaf."""

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return super().combine(leaf, old, new) if old is None or new is None else old


def test_a_freed_graph_is_told_from_calls_that_add_nothing():
    for framework, kind in ((FreedIsZero(), "retain_graph went through"), (AddsOnce(), "this call added nothing")):
        case = failing(framework, "a = leaf 3; b = tanh a; backward b; backward b with 2")
        assert "retain_graph went through" in str(case.violation.diagnosis)
        assert kind in str(with_confirmed_cause(case).violation.diagnosis)


@pytest.mark.parametrize("calls", ["backward b with 2; backward c with 2", "backward b with 2; backward c with 5"])
def test_what_a_leaf_held_is_told_from_what_values_of_another_graph_kept(calls: str):
    for framework, kind in ((HeldTwice(), "held is added twice"), (KeepsAll(), "kept the gradients")):
        case = failing(framework, f"a = leaf 3; b = exp a; c = exp a; {calls}")
        assert kind in str(with_confirmed_cause(case).violation.diagnosis)


def test_a_path_through_which_nothing_comes_is_no_first_contribution():
    case = failing(Stops(), "a = leaf [1.5, 2]; b = exp a; c = sin a; d = add b c; backward d with [3, 4]")
    assert "contribution to a value" in str(case.violation.diagnosis)
    found = with_confirmed_cause(case).violation
    assert (found.diagnosis, found.rule) == (None, "gradients/graph")


class CopiesStop(Torch):
    """No gradient goes through a copy."""

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: dict) -> tuple[torch.Tensor, ...]:
        made = super().apply(op, operands, attrs)
        return tuple(made[0] * 0 + each.detach() for each in made) if op == "clone" else made


def test_a_value_and_its_copy_through_which_nothing_comes_are_not_one_argument_that_counts_once():
    text = "a = leaf [1.5, 2]; b = multiply a a; c = clone b; d = multiply b c; backward d with [3, 4]"
    case = failing(CopiesStop(), text)
    assert "takes twice" in str(case.violation.diagnosis)
    found = with_confirmed_cause(case).violation
    assert (found.diagnosis, found.rule) == (None, "gradients/graph")


ONES = " with [1, 1] retain=True; "
OPS = [
    (SinFlipped(), "a = leaf [1.5, 2]; b = sin a; backward b with [3, 4]", "gradients/op", "sin"),
    (
        WrongAfterFiveActions(),
        f"a = leaf [1.5, 2]; b = sin a; {f'backward b{ONES}' * 5}backward b with [3, 4]",
        "accumulation/adds",
        None,
    ),
    (
        TanhCurvatureOff(),
        "a = leaf [1.5, 2]; b = tanh a; g = grad b wrt a with [3, 4] create=True; backward g with [5, 6]",
        "higher/op",
        "tanh",
    ),
    (
        CreatesHalf(),
        "a = leaf [1.5, 2]; b = multiply a a; c = multiply b b; g = grad c wrt a with [3, 4] create=True; "
        "backward g with [5, 6]",
        "higher/differentiable",
        None,
    ),
]


@pytest.mark.parametrize(("framework", "text", "rule", "op"), OPS, ids=[type(each[0]).__name__ for each in OPS])
def test_an_op_is_blamed_that_is_wrong_by_itself(framework: Torch, text: str, rule: str, op: str | None):
    case = failing(framework, text)
    found = with_confirmed_cause(case).violation
    assert (found.rule, found.op) == (rule, op)
    assert found.rule in possible_rules(case.violation)


class Tired(Combining):
    """The second contribution to a leaf is a third less."""

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return old + new * 0.7 if old is not None and new is not None else super().combine(leaf, old, new)


def test_no_op_is_blamed_whose_earlier_contribution_was_right():
    case = failing(Tired(), "a = leaf [1.5, 2]; b = sin a; backward b with [3, 4] retain=True; backward b with [5, 6]")
    assert (case.violation.rule, case.violation.op) == ("gradients/op", "sin")
    found = with_confirmed_cause(case).violation
    assert (found.rule, found.op) == ("gradients/graph", None)


def test_no_op_is_blamed_that_is_walked_after_a_write():
    # PyTorch recomputes a view after a write with a wrong derivative; the op that first made the view is right
    case = failing(
        Torch(),
        "a = leaf [1, 2] const; b = broadcast_to a shape=(2, 2); c = detach b; requires c True;"
        " d = expand_dims c dim=0; write a sin_; backward d with [[[1, 2], [5, 7]]]",
    )
    assert (case.violation.rule, case.violation.op) == ("gradients/op", "expand_dims")
    found = with_confirmed_cause(case).violation
    assert (found.rule, found.op) == ("gradients/graph", None)
