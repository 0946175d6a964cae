"""Variations make one change each, are valid programs, and a printed variation locates the fault."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain
from typing import Any

import pytest
import torch

from autograd_conformance.failures.variations.candidates import candidates
from autograd_conformance.failures.variations.nearest import nearest, simplifications
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.editing import is_valid
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import Attrs, Program, Ref
from autograd_conformance.programs.observations import Raised, Returned
from evaluation.mutants.accumulation import Overwrites
from evaluation.mutants.graphs import ArgumentOnce, DiamondOnce, EqualLeavesMerged
from evaluation.mutants.lifetime import ChecksRootOnly, NeverFrees
from evaluation.mutants.modes import NoGradIgnored
from evaluation.mutants.optimizers import ClipsEachLeaf, FusedWithoutDecay, SkippedForgets
from evaluation.mutants.views import ViewsWriteUnrecorded
from tests.failures.cases import failing

A = "a = leaf [1, 2]; b = square a; s = sum b dim=(0,) keepdim=False"
PROGRAMS = (
    f"{A}; backward s; backward s",
    f"{A}; c = exp b; no_grad: write b mul_ a; t = sum c dim=(0,) keepdim=False; no_grad: enable_grad: backward t",
    f"{A}; k = hook b scale 2.0; l = hook a observe; g, h = grad s wrt a, b create=True; unhook k; drop b; i = exp g",
    f"{A}; retain b; requires a False; backward s inputs a with 3; zero a; step a sgd lr=0.5; held a",
    f"c = leaf f32 [0, 1] const; no_grad: d = clone c; drop d; {A}; detach_ b; backward s",
    "a = leaf [1, 2]; v = reshape a shape=(2,); b = multiply v v; backward b, b with [1, 1], [2, 2]",
    "a = leaf [1, 2]; c = leaf 3; b = add a c; backward b with [3, 4]; step a adam lr=0.5 eps=0.5 foreach=True",
)


def changes(text: str) -> list[tuple[str, Program]]:
    program = parse(text, VOCABULARY)
    shapes = {
        Ref(at, k): value.value.shape
        for at, seen in enumerate(run(program, Torch()))
        if isinstance(seen.outcome, Returned)
        for k, value in enumerate(seen.outcome.values)
        if value is not None
    }
    found = chain(candidates(program, shapes, Torch.ops), simplifications(program))
    return [(phrase, changed) for phrase, changed in found if changed != program and is_valid(changed)]


def changed(text: str) -> dict[str, Program]:
    """The variations of a program, by their phrases."""
    return dict(changes(text))


@pytest.mark.parametrize("text", PROGRAMS)
def test_variations_can_be_written_and_run(text: str):
    program, found = parse(text, VOCABULARY), changes(text)
    assert len({phrase for phrase, _ in found}) == len(found) > 3
    for phrase, variation in found:
        assert parse(render(variation), VOCABULARY) == variation
        assert abs(len(variation) - len(program)) <= 1, phrase
        with warnings.catch_warnings(action="ignore"):
            run(variation, Torch())


def test_a_line_is_left_out_with_nothing_else_changed():
    found = changed(
        f"{A}; no_grad: write b mul_ a; k = hook a observe; l = hook a raise; enable_grad: unhook k; backward s"
    )
    assert found["without line 4"] == parse(
        f"{A}; k = hook a observe; l = hook a raise; enable_grad: unhook k; backward s"
    )
    assert found["without line 6"] == parse(
        f"{A}; no_grad: write b mul_ a; k = hook a observe; enable_grad: unhook k; backward s"
    )
    assert "without line 5" not in found
    assert "without line 8" not in found


def test_a_write_goes_to_a_clone():
    text = "a = leaf [1, 2]; b = square a; no_grad: write b zero_; c = exp b; enable_grad: backward c with [1, 1]"
    clone = changed(text)["with a clone before the write on line 3"]
    assert clone == parse(
        """a = leaf [1, 2]; b = square a; d = clone b; no_grad: write d zero_; c = exp d
        enable_grad: backward c with [1, 1]"""
    )
    plain = changed("a = leaf [1, 2]; write a zero_; c = exp a")["with a clone before the write on line 2"]
    assert plain == parse("a = leaf [1, 2]; d = clone a; write d zero_; c = exp d")
    assert isinstance(run(parse("a = leaf [1, 2]; write a zero_"), Torch())[1].outcome, Raised)
    assert isinstance(run(plain, Torch())[2].outcome, Returned)


def test_a_grad_mode_is_taken_away():
    found = changed("a = leaf [1, 2]; no_grad: enable_grad: b = exp a; no_grad: c = exp b; d = exp c")
    assert found["without the grad mode on line 2"] == parse(
        "a = leaf [1, 2]; b = exp a; no_grad: c = exp b; d = exp c"
    )
    assert "without the grad mode on line 4" not in found


def test_what_is_dropped_is_not_used_instead():
    found = changed("a = leaf [1, 2]; b = exp a; drop a; c = exp b; backward c with [1, 1]")
    assert "if the op on line 2 is left out" not in found
    assert "without line 3" in found


CHANGES = [
    (
        "a = leaf [1, 2]; b = multiply a a",
        "with another leaf like a as operand 2 on line 2",
        "a = leaf [1, 2]; c = leaf [1, 2]; b = multiply a c",
    ),
    (
        "a = leaf [1, 2]; b = exp a; c = multiply b b",
        "with a clone of b as operand 2 on line 3",
        "a = leaf [1, 2]; b = exp a; d = clone b; c = multiply b d",
    ),
    (
        "a = leaf [1, 2]; b = square a; v = reshape b shape=(2,); write v zero_; backward b with [1, 1]",
        "with b in the place of its view c",
        "a = leaf [1, 2]; b = square a; v = reshape b shape=(2,); write b zero_; backward b with [1, 1]",
    ),
    (
        "a = leaf [1, 2]; c = leaf 3; b = add a c",
        "with b of shape (2,) on line 2",
        "a = leaf [1, 2]; c = leaf [3, 3]; b = add a c",
    ),
    (
        "a = leaf [1, 2]; optimizer a sgd lr=0.5 momentum=0.5; step a sgd lr=0.5 momentum=0.5",
        "without momentum on line 2",
        "a = leaf [1, 2]; optimizer a sgd lr=0.5; step a sgd lr=0.5",
    ),
]


@pytest.mark.parametrize(("text", "phrase", "becomes"), CHANGES)
def test_one_thing_is_another(text: str, phrase: str, becomes: str):
    assert changed(text)[phrase] == parse(becomes, VOCABULARY)


# -- which one is printed ---------------------------------------------------------------------------------------------


SKIPPED = "sgd lr=0.125 momentum=0.5"
NEAREST = [
    (
        FusedWithoutDecay(),
        "a = leaf [1.5, 2]; backward a with [3, 4]; step a sgd lr=0.125 weight_decay=0.25 foreach=True",
        "passes with foreach=False on line 3",
    ),
    (
        SkippedForgets(),
        f"a = leaf [1.5, 2]; backward a with [3, 4]; step a {SKIPPED}; zero a; step a {SKIPPED}; backward a with [5, 6]"
        f"; step a {SKIPPED}",
        "passes without momentum on line 3",
    ),
    (
        ClipsEachLeaf(),
        "a = leaf [1.5]; b = leaf [3]; backward a with [4]; backward b with [6]; clip_grad a, b norm 1.0",
        "passes without line 4",
    ),
    (
        DiamondOnce(),
        "a = leaf [1.5, 2]; b = square a; c = add b a; backward c with [3, 4]",
        "passes with another leaf like a in its place on line 3",
    ),
    (
        EqualLeavesMerged(),
        "a = leaf [1.5, 2]; b = leaf [1.5, 2]; c = add a b; backward c with [3, 4]",
        "passes with other numbers on line 2",
    ),
    (
        ViewsWriteUnrecorded(),
        "a = leaf [1.5, 2]; b = negative a; c = reshape b shape=(2,); write c reciprocal_; backward b with [3, 4]",
        "passes with b in the place of its view c",
    ),
    (
        ChecksRootOnly(),
        "a = leaf 2; b = square a; backward b; c = exp b; backward c",
        "passes if the op on line 4 is left out",
    ),
]


@pytest.mark.parametrize(("framework", "text", "phrase"), NEAREST, ids=[type(each[0]).__name__ for each in NEAREST])
def test_what_tells_is_printed(framework: Torch, text: str, phrase: str):
    assert nearest(failing(framework, text)) == phrase


SILENT = [
    (NeverFrees(), "a = leaf 2; b = square a; backward b; backward b"),  # to retain what is never freed tells nothing
    (NoGradIgnored(), "a = leaf 2; no_grad: b = square a"),  # nor to record what must not be recorded
    (Overwrites(), "a = leaf 2; backward a with 3; backward a with 4"),  # nor to have no call before
]


@pytest.mark.parametrize(("framework", "text"), SILENT, ids=[type(each[0]).__name__ for each in SILENT])
def test_what_only_avoids_the_comparison_is_not_printed(framework: Torch, text: str):
    assert nearest(failing(framework, text)) is None


class Few(DiamondOnce):
    """Has only the op and the dtype of the program."""

    ops = frozenset({"square", "sum"})
    dtypes = ("float32",)

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Any:
        assert op in self.ops
        made = Torch.apply(self, op, operands, attrs)
        if made[0].requires_grad:
            made[0].register_hook(lambda grad: grad * 2)
        return made


def test_no_variation_needs_a_feature_that_the_framework_lacks():
    """An unsupported variation would be an adapter error and end the run."""
    text = "a = leaf f32 [1.5, 2]; b = square a; backward b with f32 [3, 4]"
    assert nearest(failing(Few(), text)) is None


class Cured(ArgumentOnce):
    """Gives right results once a flag is set."""

    cured = False

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Any:
        return Torch.apply(self, op, operands, attrs) if self.cured else super().apply(op, operands, attrs)


def test_what_passes_because_everything_does_is_not_printed():
    framework = Cured()
    case = failing(framework, "a = leaf [1.5, 2]; b = multiply a a; backward b with [3, 4]")
    assert nearest(case) is not None
    framework.cured = True
    assert nearest(case) is None
