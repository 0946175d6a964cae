"""Errors in words that an adapter does not know count as refusals where the rules let a call raise."""

from __future__ import annotations

import pytest

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.observations import Kind, Raised
from autograd_conformance.rules.judge.judgement import Judgement
from tests.rules.judge.tampering import CLAIMS, does, judged, tampered

CALLED = "a = leaf [1, 2]; b = log1p a; backward b with [1, 1]"
STEPPED = "a = leaf [1, 2]; b = log1p a; backward a with [1, 1]; step a sgd lr=0.5; backward b with [1, 1]"
AGAIN = "a = leaf [1, 2]; b = add a a; backward b with [1, 1]; backward b with [1, 1]"
WRONG_SHAPE = "a = leaf [1, 2, 3]; backward a with [1, 2]"
WRITTEN = "it was modified in-place"


def judgement(text: str, words: str, kind: Kind = Kind.UNKNOWN, *, knows: bool = False) -> Judgement:
    """The judgement on PyTorch if the last call of the program raises in these words."""
    claims = CLAIMS if knows else CLAIMS - {Capability.KNOWS_ERRORS}
    return judged(*tampered(text, does(Raised(kind, "RuntimeError", words))), claims)


def rule(text: str, words: str, kind: Kind = Kind.UNKNOWN, *, knows: bool = False) -> str | None:
    """The rule that is broken then."""
    found = judgement(text, words, kind, knows=knows).violation
    return found.rule if found else None


@pytest.mark.parametrize(
    "words",
    [
        "a tensor needed for gradient computation was modified in-place: storage version 1, expected version 0",
        "an in-place operation has changed saved tensor 0",
        "operand 0 was mutated in place after it was recorded",
        "version counter is 3, expected 2",
    ],
)
def test_a_refusal_may_say_that_a_value_was_written_to(words: str) -> None:
    assert rule(STEPPED, words) is None
    assert rule(STEPPED, words, knows=True) == "errors/legal-returns"


@pytest.mark.parametrize("words", ["the graph has already been freed", "backward a second time"])
def test_a_refusal_may_say_that_the_graph_is_freed(words: str) -> None:
    assert rule(AGAIN, words) is None


@pytest.mark.parametrize("words", ["shape mismatch in matmul", "place the operands in a list"])
def test_any_other_error_is_no_refusal(words: str) -> None:
    assert rule(STEPPED, words) == "errors/legal-returns"


def test_a_call_that_must_return_may_not_say_so() -> None:
    assert rule(CALLED, WRITTEN) is not None


def test_the_words_are_remarked_on() -> None:
    assert [each.expected for each in judgement(STEPPED, WRITTEN).refusals] == [Kind.MODIFIED]


def test_a_shape_may_be_refused_in_the_words_about_a_missing_cotangent() -> None:
    words, kind = "grad can be implicitly created only for scalar outputs", Kind.NON_SCALAR_ROOT
    assert rule(WRONG_SHAPE, words, kind) is None
    assert rule(WRONG_SHAPE, words, kind, knows=True) == "errors/cotangent-shape"
    assert rule(CALLED, words, kind) is not None
    assert not judgement(WRONG_SHAPE, words, kind).refusals
