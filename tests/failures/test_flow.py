"""The gradient's path through a failing call: the first wrong gradient, saved tensors, and calls without either."""

from __future__ import annotations

from typing import Any

from autograd_conformance.failures.evidence.flow import flow
from autograd_conformance.failures.listing import groups
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.reporting.records.flow import GradientFlow, ValueGradient, first_wrong_gradient
from evaluation.mutants.derivatives import SinFlipped
from evaluation.mutants.lifetime import NeverFrees
from evaluation.mutants.printed import FREES, OVERWRITES, Printed
from evaluation.mutants.writes import NoVersions
from tests.failures.cases import failing

CHAIN = "a = leaf 3; b = multiply a a; c = sin b; d = exp c; e = add d b; backward e"


class Shy(SinFlipped):
    """Gives right gradients if hooks observe them."""

    looked = False

    def hook(self, *given: Any) -> Any:
        self.looked = True
        return super().hook(*given)

    def changed(self, operand: Any, contribution: Any) -> Any:
        return contribution if self.looked else -contribution


def told(framework: Torch, text: str) -> GradientFlow:
    found = flow(failing(framework, text))
    assert found is not None
    return found


def first(framework: Torch, text: str) -> ValueGradient:
    found = told(framework, text).first
    assert found is not None
    return found


def test_the_first_wrong_gradient_is_the_one_upstream_of_the_faulty_op() -> None:
    found = told(SinFlipped(), CHAIN)
    assert [(each.name, each.through, each.right) for each in found.gradients] == [
        ("e", (), True), ("d", (5,), True), ("c", (4,), True), ("b", (5, 3), False), ("a", (2,), False),
    ]  # fmt: skip
    assert found.first is found.gradients[3] and found.first.line == 2
    assert first_wrong_gradient(found).startswith("The first wrong gradient is that of b (line 2), computed by lines")


def test_a_right_gradient_that_is_held_wrongly_is_reported_as_that() -> None:
    text = "a = leaf [1, 2]; b = multiply a a; backward b with [1, 1] retain=True; backward b with [3, 1]"
    flown = told(Printed(OVERWRITES), text)
    found = flown.first
    assert found and (found.name, found.held, found.expected, found.observed) == ("a", True, "[8., 8.]", "[6., 4.]")
    assert "computes for a (line 1) is right, but a.grad is wrong" in first_wrong_gradient(flown)


def test_what_the_functional_form_returns_is_seen() -> None:
    found = first(SinFlipped(), "a = leaf 3; b = sin a; c = exp b; g = grad c wrt a")
    assert (found.name, found.through, found.held) == ("a", (2,), False)


def test_a_value_that_was_written_to_has_the_gradient_that_it_has_now() -> None:
    found = told(SinFlipped(), "a = leaf 3; b = multiply a a; write b mul_ a; c = sin b; backward c")
    assert [(each.name, each.line, each.right) for each in found.gradients] == [
        ("c", 4, True), ("b", 3, False), ("b", 2, None), ("a", 1, False),
    ]  # fmt: skip


def test_no_hook_is_put_on_a_view_whose_memory_was_written_to() -> None:
    text = "a = leaf [1, 2]; b = expand_dims a dim=0; no_grad: write a mul_ a; c = sin b; backward c with [[1, 1]]"
    found = told(SinFlipped(), text)
    assert [(each.name, each.right) for each in found.gradients if not each.held] == [
        ("c", True),
        ("b", None),
        ("a", None),
    ]


def test_hooks_under_which_the_failure_is_another_say_nothing() -> None:
    found = told(Shy(), "a = leaf 3; b = sin a; c = exp b; backward c")
    assert {each.name: each.observed for each in found.gradients if not each.held}.keys() == {"a", "b", "c"}
    assert all(each.observed is None for each in found.gradients if not each.held)
    assert found.first is not None and found.first.held
    assert first_wrong_gradient(found).startswith(
        "The first wrong gradient that could be observed is a.grad (line 1): it is"
    )


def test_what_was_freed_and_what_was_written_to_since_is_reported() -> None:
    (freed,) = told(NeverFrees(), "a = leaf 3; b = multiply a a; backward b; backward b").saved
    assert (freed.line, freed.name, freed.freed_by, freed.stale) == (2, "a", 3, False)
    stale = told(NoVersions(), "a = leaf [1, 2]; b = sin a; no_grad: write a add_ b; backward b with [1, 1]").saved
    assert [(each.name, each.version, each.now) for each in stale] == [("a", 0, 1)]
    result = told(NoVersions(), "a = leaf [1, 2]; b = exp a; no_grad: write b add_ a; backward b with [1, 1]").saved
    assert [(each.name, each.stale) for each in result] == [("a", False), ("b", True)]


def test_an_error_in_the_place_of_gradients_is_reported_without_them() -> None:
    found = told(Printed(FREES), "a = leaf 3; b = multiply a a; backward b retain=True; backward b")
    assert not found.gradients and [each.freed_by for each in found.saved] == [None]


def test_iterations_are_groups_of_lines() -> None:
    text = "; ".join(f"s{n} = sin a; t{n} = exp s{n}; backward t{n}; zero a" for n in range(3))
    case = failing(SinFlipped(), f"a = leaf 3; {text}")
    assert [(each.kind, each.lines) for each in groups(case.program, case.target)] == [
        ("iteration", tuple(range(start, start + 4))) for start in (2, 6, 10)
    ]
