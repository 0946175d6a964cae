"""A failure counts in the stage of the line that goes wrong, not in that of the test that found it."""

from __future__ import annotations

import pytest

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.rules.failing_line import stage_of_failure, stage_of_line

VALUES, FIRST, ADDS = "forward values", "first gradients", "accumulation and clearing"
ONCE = "a = leaf [1, 2]; b = exp a; backward b with [1, 1]"


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        ("a = leaf [1, 2]; b = exp a", VALUES),
        (ONCE, FIRST),
        (f"{ONCE} retain=True", FIRST),
        ("a = leaf 2; b = exp a; c = grad b wrt a", FIRST),
        (f"{ONCE}; zero a", ADDS),
        (f"{ONCE}; c = exp a; backward c with [1, 1]", ADDS),
        (f"{ONCE}; backward b with [1, 1]", None),
        (f"{ONCE}; c = exp a", None),
        (f"{ONCE} create=True", None),
        ("a = leaf 2; b = exp a; backward b inputs a", None),
        ("a = leaf 2; b = detach a; c = multiply a b; backward c", None),
        ("a = leaf 2; no_grad: b = exp a; c = multiply a b; backward c", None),
        ("a = leaf 2; h = hook a observe; b = exp a; backward b", None),
        ("a = leaf 2; b = exp a; c = grad b wrt a; d = exp a; backward d", None),
    ],
)
def test_the_stage_of_a_line(text: str, stage: str | None) -> None:
    program = parse(text, VOCABULARY)
    found = stage_of_line(program, len(program) - 1)
    assert (found and found.name) == stage


@pytest.mark.parametrize(
    ("rule", "at", "stage"),
    [
        ("errors/legal-returns", 2, FIRST),
        ("errors/legal-returns", 1, VALUES),
        ("errors/legal-returns", None, "lifetime and retain_graph"),
        ("errors/non-scalar-root", 2, "lifetime and retain_graph"),
        ("accumulation/first", 2, FIRST),
        ("gradients/op", 2, FIRST),
        ("networks/gradient", 2, "optimizers and networks"),
    ],
)
def test_the_stage_of_a_failure(rule: str, at: int | None, stage: str) -> None:
    assert stage_of_failure(rule, parse(ONCE, VOCABULARY), at).name == stage


def test_a_later_line_moves_no_failure_to_a_later_stage() -> None:
    program = parse(f"{ONCE}; c = exp a; backward c with [1, 1]", VOCABULARY)
    assert stage_of_failure("gradients/op", program, 4).name == FIRST
