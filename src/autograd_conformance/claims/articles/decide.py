"""Decides whether an article's predictions about a program are true in an observation."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from autograd_conformance.claims.articles.claim import Case, Claim, HasGrad, Prediction, Raises, Returns, Saved
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Observation, Raised, Returned, Skipped, is_inconclusive
from autograd_conformance.programs.own_numpy import np

CLOSE = 1e-6
"""Relative and absolute tolerance of predicted gradients."""

RELATIONS = {
    "none": lambda count, other: count == 0,
    "fewer": lambda count, other: count < other,
    "as many": lambda count, other: count == other,
    "more": lambda count, other: count > other,
}


def leaves(program: str) -> dict[str, Ref]:
    """Returns the references of a program's leaves by the names that the program's text gives to them."""
    made = (line.partition(" = ") for line in program.splitlines())
    return {head: Ref(at) for at, (head, _, tail) in enumerate(made) if tail.startswith("leaf ")}


def came_true(case: Case, observation: Observation) -> bool | None:
    """Returns True if an observation of a program agrees with all of the article's predictions for the program, False
    if one prediction is wrong.

    Returns None if no prediction is wrong, but some cannot be checked: the framework does not count saved tensors, has
    no kernel, or did not reach the line.
    """
    found = [_came_true(prediction, case, observation) for prediction in case.predicts]
    return False if False in found else None if None in found else True


def verdict(claim: Claim, found: Iterable[bool | None]) -> str:
    """Summarizes the outcomes of a claim's cases, right ones first, in one word: ``right`` if the framework behaves as
    the article says in all cases, ``wrong`` in none, ``mixed`` in some, or ``unknown``.

    Undecided outcomes are ignored. But if all cases of one kind, those that confirm the claim or those that refute it,
    are undecided, the summary is unknown.
    """
    outcomes = list(found)
    kinds: Collection[list[bool | None]] = (outcomes[: len(claim.right)], outcomes[len(claim.right) :])
    if not outcomes or any(kind and set(kind) == {None} for kind in kinds):
        return "unknown"
    decided = {outcome for outcome in outcomes if outcome is not None}
    return "mixed" if len(decided) == 2 else "right" if True in decided else "wrong"


def _came_true(prediction: Prediction, case: Case, observation: Observation) -> bool | None:
    step = observation[prediction.line - 1]
    if isinstance(step.outcome, Skipped) or is_inconclusive(step):
        return None
    match prediction:
        case Raises(_, kind):
            return isinstance(step.outcome, Raised) and kind in (None, step.outcome.kind)
        case Returns():
            return isinstance(step.outcome, Returned)
        case HasGrad(_, leaf, values):
            gradient = step.gradients.get(leaves(case.program)[leaf])
            if gradient is None or values is None:
                return gradient is None and values is None
            got = gradient.value.ravel()
            return got.size == len(values) and bool(np.allclose(got, values, rtol=CLOSE, atol=CLOSE))
        case Saved(_, relation, than):
            other = 0 if than is None else observation[than - 1].saved
            return None if step.saved is None or other is None else bool(RELATIONS[relation](step.saved, other))
