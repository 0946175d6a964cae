"""From the ledger to records: each claim with its programs in the framework's own code, and what it showed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from reports.claims import OBSERVED, ClaimProgram, ClaimRecord, Observed
from rules.dialect import Dialect, code
from rules.documents.claim import Article, Case, Claim, Holds, Prediction, Raises, Returns, Saved
from rules.language import Program, Ref
from rules.observations import Gradient, Kind, Observation, Raised, Returned
from rules.text import names, parse

Observe = Callable[[Program], Observation]
"""Runs a program on the framework."""


def claim_records(
    observed: Mapping[str, str], dialect: Dialect | None, observe: Observe | None = None
) -> list[ClaimRecord]:
    """A record for every claim of the ledger; `observed` maps a claim's key to what the framework showed of it.

    A claim without an observation was not run. With `observe` the programs of those that were run are run once more, so
    that the record says of each whether its prediction came true, and its code, in comments, what happened.
    ValueError where an observation is of no claim, or none of the known ones.
    """
    claims = ledger()
    strange = [f"{key}: {word}" for key, word in observed.items() if key not in claims or word not in OBSERVED]
    if strange:
        raise ValueError(f"no observation of a claim: {', '.join(strange)}")
    return [
        record(claim, article, cast(Observed, observed.get(key, "not run")), dialect, observe)
        for key, (claim, article) in claims.items()
    ]


def ledger() -> dict[str, tuple[Claim, Article]]:
    """Every claim of the ledger by its key, with its article."""
    from rules import documents  # here: whoever imports this module need not hold the ledger

    articles, claims = (
        {each.key: each for each in (table.values() if isinstance(table, Mapping) else table)}
        for table in (documents.ARTICLES, documents.CLAIMS)
    )
    return {key: (claim, articles[claim.article]) for key, claim in claims.items()}


def record(
    claim: Claim, article: Article, observed: Observed, dialect: Dialect | None, observe: Observe | None = None
) -> ClaimRecord:
    """One claim's record; its programs are run where the framework was seen to run those of its kind."""
    runs = observe if observed in ("right", "wrong", "mixed") else None
    whole: bool | None = {"right": True, "wrong": False}.get(observed)
    return ClaimRecord(
        key=claim.key,
        article=article.title,
        section=claim.section,
        says=claim.says,
        truth=claim.truth,
        condition=claim.condition,
        verdict=claim.verdict.value,  # type: ignore[arg-type]
        observed=observed,
        programs=tuple(_program(case, dialect, runs, whole) for case in (*claim.right, *claim.wrong)),
        reason=claim.untestable or None,
    )


def _program(case: Case, dialect: Dialect | None, observe: Observe | None, whole: bool | None) -> ClaimProgram:
    program = parse(case.program)
    lines, came_true = code(program, dialect), whole
    if observe is not None:
        seen = observe(program)
        told = [_came_true(each, program, seen) for each in case.predicts]
        came_true = whole if None in told else all(told)
        lines = [f"{line}  # {said}" if said else line for line, said in zip(lines, _said(case, program, seen))]
    places = {each.line for each in case.predicts}
    return ClaimProgram(
        code="\n".join(lines),
        line=places.pop() if len(places) == 1 else None,
        predicts="; ".join(predicted(each) for each in case.predicts),
        came_true=came_true,
        note=case.note,
    )


def predicted(prediction: Prediction) -> str:
    """A prediction in words."""
    match prediction:
        case Raises(line, None):
            return f"line {line} raises"
        case Raises(line, kind):
            return f"line {line} raises ({kind.value})"  # type: ignore[union-attr]
        case Returns(line):
            return f"line {line} works"
        case Holds(line, leaf, None):
            return f"after line {line} there is no {leaf}.grad"
        case Holds(line, leaf, values):
            return f"after line {line} {leaf}.grad is {_values(values or ())}"
        case Saved(line, relation, than):
            tensors = f"{'no' if relation == 'none' else relation} saved tensors are alive after line {line}"
            joint = "as" if relation.startswith("as") else "than"
            return tensors if than is None else f"{tensors} {joint} after line {than}"


def _came_true(prediction: Prediction, program: Program, seen: Observation) -> bool | None:
    """Whether a prediction did; None where a plain run does not tell, as for what is kept in memory."""
    at = seen[prediction.line - 1]
    match prediction:
        case Raises(_, kind):
            return isinstance(at.outcome, Raised) and kind in (None, at.outcome.kind)
        case Returns():
            return isinstance(at.outcome, Returned)
        case Holds(_, leaf, values):
            gradient = at.gradients.get(_ref(leaf, program))
            if gradient is None or values is None:
                return gradient is None and values is None
            return gradient.value.size == len(values) and bool(np.allclose(gradient.value.ravel(), values, rtol=1e-4))
        case Saved():
            return None


def _said(case: Case, program: Program, seen: Observation) -> list[str]:
    """What happened, line by line, where an article says something about the line or it raised."""
    said = []
    for at, each in enumerate(seen, start=1):
        about = [prediction for prediction in case.predicts if prediction.line == at]
        leaves = [prediction.leaf for prediction in about if isinstance(prediction, Holds)]
        match each.outcome:
            case Raised(kind, error, _):
                said.append(error if kind is Kind.UNKNOWN else f"{error}: {kind.value}")
            case Returned() if leaves:
                said.append(", ".join(_gradient(leaf, program, each.gradients) for leaf in dict.fromkeys(leaves)))
            case Returned() if any(isinstance(prediction, Raises | Returns) for prediction in about):
                said.append("works")
            case _:
                said.append("")
    return said


def _gradient(leaf: str, program: Program, gradients: Mapping[Ref, Gradient | None]) -> str:
    held = gradients.get(_ref(leaf, program))
    return f"{leaf}.grad is {'None' if held is None else _values(held.value.ravel().tolist())}"


def _ref(leaf: str, program: Program) -> Ref:
    known = {name: ref for ref, name in names(program).items()}
    if leaf not in known:
        raise ValueError(f"a prediction is about {leaf}, but the values of its program are {', '.join(known)}")
    return known[leaf]


def _values(values: tuple[float, ...] | list[float]) -> str:
    texts = [f"{value:.6g}" if math.isfinite(value) else str(value) for value in values]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
