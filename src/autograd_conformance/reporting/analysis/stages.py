"""The state of each stage of a run, from forward values to sequences, and a sentence about all of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from autograd_conformance.reporting.analysis.causes import Cause
from autograd_conformance.reporting.analysis.verdicts import MEANING_OF
from autograd_conformance.reporting.prose import counted, listed, number_word
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Report, Result
from autograd_conformance.reporting.records.terms import Verdict

GATES = "stage[{}]"
"""Name of the result of a wholly broken stage, with the stage's name."""

State = Literal[
    "holds",
    "holds so far",
    "is broken",
    "is wholly broken",
    "waits",
    "was not reached",
    "is undecided",
    "has no rule",
]
"""State of a stage after a run. `holds`: each MUST rule that applies was tested enough and holds. `holds so far`:
some programs were right, but some rules had too few or none. `is undecided`: no program could be judged. `is wholly
broken`: all smallest programs of it go wrong. `has no rule`: no MUST rule of it applies, or the user
selected none of its tests.
"""


@dataclass(frozen=True, slots=True)
class StageSummary:
    """Summary of one stage of a run."""

    number: int
    """Position of the stage in the run, from 1."""
    name: str
    state: State
    programs: int
    """Number of programs that the stage's tests ran."""
    causes: int
    """Number of causes by which MUST rules of the stage are broken."""
    waits_for: str | None = None
    """Why the stage waits; None if it does not."""

    @property
    def is_broken(self) -> bool:
        """Whether the stage is broken, at least in part."""
        return self.state in ("is broken", "is wholly broken")


def stage_summaries(
    report: Report, verdicts: Iterable[tuple[str, str, Verdict]], causes: Sequence[Cause]
) -> tuple[StageSummary, ...]:
    """Returns the summary of each stage of a run, given the slug, the level and the verdict of each rule; empty if the
    records have no stages.
    """
    stage_of = {rule.rule: rule.stage for rule in report.rules}
    of_stage: dict[str | None, list[Verdict]] = {}
    moved = _failing_elsewhere(report)
    for rule, level, verdict in verdicts:
        if level == "MUST" and MEANING_OF[verdict].applicable:
            judged = verdict if rule not in moved else "vacuous"  # the stage's own programs may not have shown it
            of_stage.setdefault(stage_of[rule], []).append(judged)
    results: dict[str | None, list[Result]] = {}
    for result in report.results:
        results.setdefault(result.stage or stage_of[result.rule], []).append(result)
    footer = report.footer
    if footer is not None and (footer.selection or footer.deselected):
        of_stage = {name: found for name, found in of_stage.items() if name in results}
    broken_by = {name: _broken_by(name, causes, stage_of, {*of_stage}) for name in report.header.stages}
    return tuple(
        _summary(number, name, of_stage.get(name, []), results.get(name, []), broken_by[name])
        for number, name in enumerate(report.header.stages, 1)
    )


def _summary(number: int, name: str, must: Sequence[Verdict], results: Sequence[Result], causes: int) -> StageSummary:
    programs = sum(result.programs for result in results)
    waiting = [result.reason for result in results if result.verdict == "waiting"]
    state: State
    if any(result.test == GATES.format(name) for result in results):
        state = "is wholly broken"
    elif waiting and not programs:
        state = "waits"
    elif causes or any(MEANING_OF[each].is_failure for each in must):
        state = "is broken"
    elif not must or (results and all(result.verdict == "not applicable" for result in results)):
        state = "has no rule"
    elif not programs:
        state = "was not reached"
    elif not {"pass", "known difference", "vacuous"}.intersection(must):
        state = "is undecided"
    else:
        state = "holds so far" if any(MEANING_OF[each].prevents_verdict for each in must) else "holds"
    return StageSummary(number, name, state, programs, causes, waiting[0] if waiting else None)


def _failing_elsewhere(report: Report) -> frozenset[str]:
    """Returns the rules whose failures all count in other stages, as the lines that go wrong are of these stages."""
    staged: dict[str, list[str | None]] = {}
    for failure in report.failures:
        staged.setdefault(failure.rule, []).append(failure.stage)
    return frozenset(rule for rule, stages in staged.items() if all(stages))


def _broken_by(
    name: str, causes: Iterable[Cause], stage_of: Mapping[str, str | None], with_rules: Container[str | None]
) -> int:
    """Returns the number of causes by which a stage is broken: those with a failure of the stage's gates, or of a MUST
    rule in a line of the stage. A failure in a line of a stage without rules that apply counts in the stage of its
    rule.
    """

    def is_of_stage(failure: Failure) -> bool:
        return failure.test == GATES.format(name) or (
            failure.level == "MUST"
            and (failure.stage if failure.stage in with_rules else stage_of.get(failure.rule)) == name
        )

    return sum(any(map(is_of_stage, cause.failures)) for cause in causes)


def climb(stages: Sequence[StageSummary]) -> str:
    """Says how far a run came: ``Stages 1 to 4 (forward values to lifetime) hold in 1,200 programs; 5 (detach and
    modes) is broken by two causes; the rest was not reached.`` Empty if there are no stages with rules.
    """
    shown = [each for each in stages if each.state != "has no rule"]
    runs = [list(run) for _, run in groupby(shown, key=lambda each: (each.state, each.is_broken and each))]
    clauses = list(_clauses(runs))
    return f"{clauses[0][0].upper()}{'; '.join(clauses)[1:]}." if clauses else ""


def _clauses(runs: Sequence[Sequence[StageSummary]]) -> Iterator[str]:
    """Yields a clause for each run of stages with one state."""
    for at, run in enumerate(runs):
        state, programs = run[0].state, counted(sum(each.programs for each in run), "program")
        rest = at > 0 and at == len(runs) - 1
        named = "the rest" if rest and state == "was not reached" else _named(run, first=at == 0)
        plural = len(run) > 1 and named != "the rest"
        match state:
            case "holds":
                yield f"{named} {'hold' if plural else 'holds'} in {programs}"
            case "holds so far":
                yield f"{named} {'hold' if plural else 'holds'} so far, in {programs}"
            case "is broken" | "is wholly broken":
                number = run[0].causes
                by = f"{number_word(number)} {'cause' if number == 1 else 'causes'}" if number else "a failure"
                yield f"{named} {state} by {by}"
            case "waits":
                yield f"{named} {'wait' if plural else 'waits'}"
            case "is undecided":
                yield f"{named} could not be judged"
            case _:
                yield f"{named} {'were' if plural else 'was'} not reached"


def _named(run: Sequence[StageSummary], first: bool) -> str:
    """Names stages by their numbers and names: ``stages 1 to 4 (forward values to lifetime)``, ``5 (hooks)``."""
    numbers = [each.number for each in run]
    if len(run) > 2 and numbers[-1] - numbers[0] == len(run) - 1:
        joined = f"{numbers[0]} to {numbers[-1]}"
    else:
        joined = listed(map(str, numbers), by=" and " if len(run) == 2 else ", ")
    names = run[0].name if len(run) == 1 else f"{run[0].name} to {run[-1].name}"
    word = ("stages " if len(run) > 1 else "stage ") if first else ""
    return f"{word}{joined} ({names})"
