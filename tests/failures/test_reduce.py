"""Reducing removes lines, detours, options and modes that a failure does not need, and keeps the others and the
rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from autograd_conformance.checking.check import first_violation, related_as
from autograd_conformance.failures import reduce
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.reduce import reduced
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import Known
from autograd_conformance.known_differences.conditions.subjects import Elements
from autograd_conformance.known_differences.limits import Limits
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.editing import without_leaf
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import Attrs, Leaf, Ref
from autograd_conformance.rules.relations.relation import Related
from evaluation.mutants.graphs import EqualLeavesMerged
from evaluation.mutants.relations import WeakensLater
from examples import tiny
from examples.tiny_adapter import Tiny


class Forgets(Torch):
    """The second backward call of a program does nothing."""

    def reset(self) -> None:
        super().reset()
        self.walked = 0

    def backward(
        self, roots: Sequence[torch.Tensor], cotangents: Sequence[np.ndarray | None], keep: bool | None, **more: Any
    ) -> None:
        self.walked += 1
        if self.walked == 2:
            return
        super().backward(roots, cotangents, keep, **more)


class FlatSum(Tiny):
    """The derivative of a sum multiplies the cotangent by the operand without the dimensions that the sum dropped."""

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        made = super().apply(op, operands, attrs)
        (source, *_) = operands
        if op == "sum":
            made[0].pull = lambda cotangent: (tiny.multiply(tiny.Tensor(cotangent), source).data,)
        return made


class Stumbles(Torch):
    """Backward calls fail by an error of no known kind."""

    def backward(self, *arguments: Any, **more: Any) -> None:
        torch.zeros(2).view(3)


FRAMEWORK = Forgets()
CORE = "a = leaf [1.5, 2]\nbackward a with [2.5, 3]\nbackward a with [3.5, 4]"


def broken(text: str, framework: Adapter = FRAMEWORK) -> Case:
    program = parse(text, VOCABULARY)
    observation = run(program, framework)
    violation = first_violation(program, observation, InProcess(framework))
    assert violation is not None
    return Case(program, observation, violation, InProcess(framework))


def test_an_op_without_which_there_is_no_error_is_left_alone():
    case = broken(
        "a = leaf [[1, 2], [3, 4], [5, 6]]; b = exp a; c = sum b dim=(1,) keepdim=False; backward c with [1, 1, 1]",
        FlatSum(),
    )
    found = reduced(case)
    assert (case.violation.op, found.violation.op) == (None, "sum")
    assert "exp" not in render(found.program)


LONG = """a = leaf [1, 2]
u = leaf [3, 4]
v = sin u
no_grad: w = add v u
b = sin a
c = negative b
d = detach u
backward c with [1, 1] retain=True
no_grad: backward c with [1, 1] retain=True
x = multiply u u
backward x with [1, 1]"""


def test_what_would_make_an_op_give_more_results_stays() -> None:
    """Without the slice, `unstack` returns three results."""
    made = "a = leaf [1, 2, 3]; b = slice a start=0 stop=2 step=1; c, d = unstack b dim=0; e = multiply c d"
    found = reduced(broken(f"{made}; backward e with 1 retain=True; backward e with 1"))
    assert found.violation.rule == broken(CORE).violation.rule


def test_what_has_no_part_goes() -> None:
    found = reduced(broken(LONG))
    assert render(found.program) == CORE
    assert found.violation.rule == "accumulation/adds"
    assert found.violation.at == 2
    assert len(found.observation) == 3


def test_an_error_of_no_known_kind_is_not_of_the_rule_whose_program_met_it() -> None:
    failure = broken("a = leaf [1, 2]; b = sin a; c = detach b; d = multiply b b; backward d with [1, 1]", Stumbles())
    assert failure.violation.rule == "detach/keeps-source"
    found = reduced(failure)
    assert (found.violation.rule, render(found.program)) == (
        "errors/legal-returns",
        "a = leaf [1.5, 2]\nb = sin a\nbackward b with [2.5, 3]",
    )


def test_nothing_that_fails_otherwise_takes_its_place() -> None:
    failure = broken(LONG)
    entry = Known("accumulation/adds", "a reason", failure.program, (Elements(2),), Limits(any_value=True))
    assert reduced(failure, [entry]).program == failure.program


def test_the_work_is_bounded() -> None:
    runs: list[object] = []
    failure = broken(LONG)
    reduced(replace(failure, target=InProcess(FRAMEWORK, runs.append)), tries=5)
    assert 0 < len(runs) <= 5 + 3


def test_digits_that_have_no_part_go(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reduce, "MAX_NUMBERS", 0)
    text = "a = leaf [1.0221, 2.0442]\nbackward a with [1.375, -3.125]\nbackward a with [0.625, 1.25]"
    small = reduced(broken(text))
    assert render(small.program) == "a = leaf [1, 2]\nbackward a with [1, -3]\nbackward a with [1, 1]"


def test_digits_that_have_a_part_stay(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reduce, "MAX_NUMBERS", 0)
    text = "a = leaf [0.25, 0.375]\nb = sin a\nbackward b with [0.25, 0.25]\nbackward a with [0.125, 0.125]"
    assert "0.125" in render(reduced(broken(text)).program)


def test_leaves_that_have_no_part_leave_optimizers() -> None:
    text = """a = leaf [1.5, 2]
b = leaf [1, 2]
c = leaf [1, 2]
backward a with [2.5, 3]
clip_grad a, b value 100.0
backward a with [3.5, 4]"""
    assert render(reduced(broken(text)).program) == CORE


def test_an_optimizer_keeps_the_leaves_and_groups_that_it_needs() -> None:
    text = "a = leaf 1; b = leaf 2; c = leaf 3; step a, b, c sgd lr=0.5 groups=((1,()),(2,(('lr',0.25),)))"
    program = parse(text, VOCABULARY)
    head = "a = leaf 1; b = leaf 2; c = leaf 3; step "
    without_a = without_leaf(program, Ref(0))
    assert without_a == parse(f"{head}b, c sgd lr=0.5 groups=((2,(('lr',0.25),)),)", VOCABULARY)
    assert without_leaf(without_a, Ref(1)) == parse(f"{head}c sgd lr=0.5 groups=((1,(('lr',0.25),)),)", VOCABULARY)
    alone = parse("a = leaf 1; zero a", VOCABULARY)
    assert without_leaf(alone, Ref(0)) == alone


def test_numbers_are_made_distinct_if_the_failure_allows_it() -> None:
    assert render(reduced(broken(CORE.replace("1.5, 2", "1, 1").replace("2.5, 3", "1, 1"))).program) == CORE


def test_equal_tensors_stay_equal_where_the_failure_hangs_on_it() -> None:
    target = InProcess(EqualLeavesMerged())
    program = parse("a = leaf [1, 2]; b = leaf [1, 2]; c = add a b; backward c with [1, 2]", VOCABULARY)
    observation = target.observe(program)
    violation = first_violation(program, observation, target)
    assert violation is not None
    found = reduced(Case(program, observation, violation, target)).program
    assert render(found).splitlines()[:2] == ["a = leaf [1.5, 2]", "b = leaf [1.5, 2]"]
    assert render(found).endswith("backward c with [2.5, 3]")


class Flat(Torch):
    """The derivative of tanh is off by one part in ten thousand."""

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Any) -> Any:
        made = super().apply(op, operands, attrs)
        if op == "tanh" and made[0].requires_grad:
            made[0].register_hook(lambda grad: grad * 1.0001)
        return made


def test_numbers_stay_small_where_an_op_is_flat_for_larger_ones() -> None:
    target = InProcess(Flat())
    program = parse("a = leaf [0, 0, 0, 0]; s = sum a dim=(0,) keepdim=False; b = tanh s; backward b")
    observation = target.observe(program)
    violation = first_violation(program, observation, target)
    assert violation is not None
    found = reduced(Case(program, observation, violation, target))
    (leaf, *_) = found.program
    assert isinstance(leaf, Leaf)
    assert leaf.value.data == (0.3, 0.4, 0.5, 0.6)


class RefusesLosses(Torch):
    """Raises for each loss of probabilities."""

    packages = ("torch", __name__)

    def apply(self, op: str, args: Sequence[torch.Tensor], attrs: Any) -> Any:
        if op == "binary_cross_entropy":
            raise RuntimeError("not today")
        return super().apply(op, args, attrs)


def test_operands_stay_where_an_op_takes_them() -> None:
    """PyTorch refuses some numbers. Another framework would not refuse them with the same message, so that is no
    failure.
    """
    target = InProcess(RefusesLosses())
    text = "a = leaf [0.40625, 0.6875]; b = leaf [0.34375, 0.5] const; c = binary_cross_entropy a b reduction='mean'"
    program = parse(text, VOCABULARY)
    observation = target.observe(program)
    violation = first_violation(program, observation, target)
    assert violation is not None
    found = reduced(Case(program, observation, violation, target))
    numbers = [x for step in found.program if isinstance(step, Leaf) for x in step.value.data]
    assert all(0 < x < 1 for x in numbers)


class RefusesWrites(Torch):
    """Raises for each write that multiplies or fills."""

    packages = ("torch", __name__)

    def write(self, op: str, target: torch.Tensor, operands: Sequence[torch.Tensor], attrs: Any) -> None:
        if op in ("mul_", "masked_fill_"):
            raise RuntimeError("not today")
        super().write(op, target, operands, attrs)


@pytest.mark.parametrize(
    "text",
    [
        # without the sum, the factor does not fit the target
        "a = leaf [[1, 2]]; s = leaf [[3], [4], [5]]; t = sum s dim=(0,) keepdim=True; b = sin a; write b mul_ t",
        # without the reshape, the mask does not fit the target
        "a = leaf [[1, 2, 3]]; v = reshape a shape=(3, 1); b = sin v; write b masked_fill_ "
        "mask=((True,), (False,), (True,)) value=1.0",
        # without the matrix product, the target has another shape
        "a = leaf [[1, 2]]; m = leaf [[1], [2]]; p = matmul a m; f = leaf [[7]]; b = sin p; write b mul_ f; backward b",
    ],
)
def test_shapes_still_fit_where_a_write_is_refused(text: str) -> None:
    """A framework that refuses a write is right where the shapes do not fit, so a program with such a write is no
    failure, although it fails by the same rule.
    """
    target = InProcess(RefusesWrites())
    program = parse(text, VOCABULARY)
    observation = target.observe(program)
    violation = first_violation(program, observation, target)
    assert violation is not None
    found = reduced(Case(program, observation, violation, target))
    correct = InProcess(Torch())
    assert first_violation(found.program, correct.observe(found.program), correct) is None
    assert found.context


def test_related_programs_get_the_same_other_numbers() -> None:
    first = parse("a = leaf [1, 2]; b = square a; c = leaf [1, 2]; d = square c; backward b with [1, 2]; "
                  "backward d with [1, 2]", VOCABULARY)  # fmt: skip
    second = parse("a = leaf [1, 2]; b = square a; c = leaf [1, 2]; backward b with [1, 2]; d = square c; "
                   "backward d with [1, 2]", VOCABULARY)  # fmt: skip
    related = Related("relations/order", first, second, same=((0, 0), (1, 1), (2, 2), (3, 4), (4, 3), (5, 5)))
    target = InProcess(WeakensLater())
    seen = target.observe(first)
    violation = related_as(related, seen, target.observe(second), target).violation
    assert violation is not None
    found = reduced(Case(first, seen, violation, target, related))
    assert found.related is not None
    for program in (found.related.first, found.related.second):
        assert render(program).count("leaf [1.5, 2]") == 2 and render(program).count("with [2.5, 3]") == 2
    assert found.violation.rule == "relations/order"
    scaled = replace(related, rule="relations/scaling")
    assert reduced(Case(first, seen, violation, target, scaled)).related == scaled


def test_the_numbers_of_a_program_that_somebody_wrote_stay():
    case = broken("a = leaf [0.3, 0.1]; b = exp a; backward a with [1, 1]; backward a with [0.7, 0.2]")
    found = reduced(case, keeps_numbers=True).program
    assert render(found) == "a = leaf [0.3, 0.1]\nbackward a with [1, 1]\nbackward a with [0.7, 0.2]"
    assert "0.3" not in render(reduced(case).program)
