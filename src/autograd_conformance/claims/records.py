"""Makes the records of claims for a run's report: each claim of an article with its programs in the framework's code,
and with the outcomes of these programs.
"""

from __future__ import annotations

import cmath
import re
from collections.abc import Callable, Mapping
from typing import cast

from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.claims import articles as documents
from autograd_conformance.claims.articles import decide
from autograd_conformance.claims.articles.claim import Article, Case, Claim, HasGrad, Prediction, Raises, Returns, Saved
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.printing.dialect import Dialect, code
from autograd_conformance.programs.formats.text import names, parse
from autograd_conformance.programs.language import Apply, AssignGrad, Backward, InPlace, Program, ReadGrad, Ref, Step
from autograd_conformance.programs.observations import Gradient, Kind, Observation, Raised, Returned
from autograd_conformance.reporting.prose import counted
from autograd_conformance.reporting.records.claims import OBSERVED, ClaimProgram, ClaimRecord, Observed

Observe = Callable[[Case], Observation | None]
"""Runs the program of a case on the framework under test, and returns the observation; None if the framework does not
support the program, or if no more programs may run.
"""


def claim_records(
    observed: Mapping[str, str], dialect: Dialect | None, observe: Observe | None = None
) -> list[ClaimRecord]:
    """Makes a record for each claim; `observed` maps keys of claims to the framework's results (``right``, ``wrong``,
    ``mixed``, ``unknown``).

    A claim that is not in `observed` was not run. With `observe`, the programs of claims observed as right, wrong or
    mixed run again: the record then says for each program whether its predictions are true, and contains the outcomes
    as comments in the code. Raises ValueError if `observed` has an unknown key or an unknown result.
    """
    claims = claims_by_key()
    unknown = [f"{key}: {word}" for key, word in observed.items() if key not in claims or word not in OBSERVED]
    if unknown:
        raise ValueError(f"no observation of a claim: {', '.join(unknown)}")
    return [
        record(claim, article, cast(Observed, observed.get(key, "not run")), dialect, observe)
        for key, (claim, article) in claims.items()
    ]


def case_runner(target: Target) -> Callable[[Case], Observation]:
    """Returns a function that runs the program of a case on a target: on the target's variant that counts saved tensors
    if the case is about saved tensors.
    """
    counter = target.saved_tensor_counter or target

    def observe(case: Case) -> Observation:
        about_memory = any(isinstance(each, Saved) for each in case.predicts)
        return (counter if about_memory else target).observe(parse(case.program))

    return observe


def limited_case_runner(target: Target, may: Callable[[], bool]) -> Observe:
    """Returns a function that runs the program of a case on a target; it returns None, and runs nothing, if `may`
    returns False or the target does not support the program.
    """
    observe = case_runner(target)
    return lambda case: None if unsupported_by(parse(case.program), target) or not may() else observe(case)


def claims_by_key() -> dict[str, tuple[Claim, Article]]:
    """Returns all claims by key, each claim with its article."""
    articles = {article.key: article for article in documents.ARTICLES}
    return {claim.key: (claim, articles[claim.article]) for claim in documents.CLAIMS}


def record(
    claim: Claim, article: Article, observed: Observed, dialect: Dialect | None, observe: Observe | None = None
) -> ClaimRecord:
    """Makes the record of a claim. The claim's programs run only if `observe` is given and `observed` is right, wrong
    or mixed.
    """
    runs = observe if observed in ("right", "wrong", "mixed") else None
    result_of_all: bool | None = {"right": True, "wrong": False}.get(observed)
    return ClaimRecord(
        key=claim.key,
        article=article.title,
        section=claim.section,
        says=claim.says,
        truth=claim.truth,
        condition=claim.condition,
        verdict=claim.verdict.value,  # type: ignore[arg-type]
        observed=observed,
        programs=tuple(_program(case, dialect, runs, result_of_all) for case in (*claim.right, *claim.wrong)),
        reason=claim.untestable or None,
    )


def _program(case: Case, dialect: Dialect | None, observe: Observe | None, result_of_all: bool | None) -> ClaimProgram:
    program = parse(case.program)
    own = own_names(case.program, program)
    lines, came_true = _code(case.program, program, own, dialect), result_of_all
    observation = None if observe is None or (dialect and _is_unsupported(program, dialect)) else observe(case)
    if observation is not None:
        refs = {own[name]: ref for ref, name in names(program).items()}
        came_true = decide.came_true(case, observation)
        lines = [
            f"{line}  # {comments}" if comments else line
            for line, comments in zip(lines, _outcome_comments(case, refs, observation))
        ]
    places = {each.line for each in case.predicts}
    return ClaimProgram(
        code="\n".join(lines),
        line=places.pop() if len(places) == 1 else None,
        predicts="; ".join(prediction_text(each) for each in case.predicts),
        came_true=came_true,
        note=case.note,
    )


def prediction_text(prediction: Prediction) -> str:
    """Writes a prediction as text: ``line 3 raises (graph freed)``, ``line 4 works``."""
    match prediction:
        case Raises(line, None):
            return f"line {line} raises"
        case Raises(line, kind):
            return f"line {line} raises ({kind.value})"  # type: ignore[union-attr]
        case Returns(line):
            return f"line {line} works"
        case HasGrad(line, leaf, None):
            return f"after line {line} there is no {leaf}.grad"
        case HasGrad(line, leaf, values):
            return f"after line {line} {leaf}.grad is {_values(values or ())}"
        case Saved(line, relation, than):
            count = {"none": "no saved tensor is", "as many": "as many saved tensors are"}.get(relation)
            tensors = f"{count or f'{relation} saved tensors are'} alive after line {line}"
            return (
                tensors if than is None else f"{tensors} {'as' if relation == 'as many' else 'than'} after line {than}"
            )


def _outcome_comments(case: Case, refs: Mapping[str, Ref], observation: Observation) -> list[str]:
    """Returns a comment for each line of a program: the outcome (``works``, ``x.grad is 6``) if the line raised or the
    article makes a prediction about that line, else an empty text.
    """
    comments = []
    counts = {line for each in case.predicts if isinstance(each, Saved) for line in (each.line, each.than)}
    for at, each in enumerate(observation, start=1):
        about = [prediction for prediction in case.predicts if prediction.line == at]
        leaves = [prediction.leaf for prediction in about if isinstance(prediction, HasGrad)]
        match each.outcome:
            case Raised(kind, error, _):
                comments.append(error if kind is Kind.UNKNOWN else f"{error}: {kind.value}")
            case Returned() if leaves:
                comments.append(", ".join(_gradient(leaf, refs, each.gradients) for leaf in dict.fromkeys(leaves)))
            case Returned() if at in counts and each.saved is not None:
                comments.append(f"{counted(each.saved, 'saved tensor')} alive")
            case Returned() if any(isinstance(prediction, Raises | Returns) for prediction in about):
                comments.append("works")
            case _:
                comments.append("")
    return comments


def _gradient(leaf: str, refs: Mapping[str, Ref], gradients: Mapping[Ref, Gradient | None]) -> str:
    gradient = gradients.get(refs[leaf])
    return f"{leaf}.grad is {'None' if gradient is None else _values(gradient.value.ravel().tolist())}"


def _code(text: str, program: Program, own: Mapping[str, str], dialect: Dialect | None) -> list[str]:
    """Returns a program's lines in the framework's code, with the author's names of values, or in the suite's text form
    if the framework's code cannot express the program.
    """
    if dialect is not None and not _is_unsupported(program, dialect):
        return [with_own_names(line, own) for line in code(program, dialect)]
    return [statement.strip() for line in text.splitlines() for statement in line.split(";") if statement.strip()]


def _is_unsupported(program: Program, dialect: Dialect) -> bool:
    parts = {ReadGrad: dialect.held, AssignGrad: dialect.assign, Step: dialect.step}
    return any(
        step.op not in (dialect.ops if isinstance(step, Apply) else dialect.writes)
        if isinstance(step, Apply | InPlace)
        else not (
            dialect.create if isinstance(step, Backward) and step.create_graph else parts.get(type(step), "there")
        )
        for step in program
    )


def own_names(text: str, program: Program) -> dict[str, str]:
    """Maps the printed name of each value to the name that the program's author gave to that value: ``{"a": "x", "b":
    "loss"}``.
    """
    own = [name for made in re.findall(r"(?:^|[;\n])\s*(\w+(?:, *\w+)*) = ", text) for name in re.split(", *", made)]
    return dict(zip(names(program).values(), own, strict=True))


def with_own_names(line: str, own: Mapping[str, str]) -> str:
    """Replaces the printed names in a line of code by the author's names. Attributes and keyword arguments are not
    renamed.
    """
    return re.sub(r"(?<![\w.'\"])[a-z]\d*(?![\w'\"=])", lambda found: own.get(found[0], found[0]), line)


def _values(values: tuple[float, ...] | list[float]) -> str:
    texts = [f"{value:.6g}" if cmath.isfinite(value) else str(value) for value in values]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
