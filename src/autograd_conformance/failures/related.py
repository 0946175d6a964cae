"""Makes the parts of a failure of two related programs: its explanation, its script, and the rules that each program
breaks without the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from autograd_conformance.checking.category import category_of
from autograd_conformance.checking.signature import signature_of
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.evidence.flow import flow
from autograd_conformance.failures.listing import Statement, assemble, indented, statements
from autograd_conformance.failures.shown_values import elements_of
from autograd_conformance.failures.variations.confirmed_cause import with_confirmed_cause
from autograd_conformance.printing.cast_blocks import cast_blocks
from autograd_conformance.programs import slugs
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import BackwardCall, Grad, Hook, Program, Ref
from autograd_conformance.programs.observations import Kind, Observation, Raised, Returned, Skipped
from autograd_conformance.programs.regions import Region, observed_regions
from autograd_conformance.reporting.records.failure import ExplanationStep, PartViolation
from autograd_conformance.rules.violations.pairs import CallFailed, OutcomesDiffer, ValuesDiffer
from autograd_conformance.rules.violations.violation import Violation

WHY = {
    slugs.RELATIONS_SUM: "walks the sum of all terms; the second program walks the terms one by one and accumulates",
    slugs.RELATIONS_SCALING: "starts from a multiple of the second program's cotangent",
    slugs.RELATIONS_SHARING: "reaches every use of a value, which the second program computes again for one "
    "of its uses",
    slugs.RELATIONS_ORDER: "computes the same as in the second program, in which independent lines were swapped",
    slugs.RELATIONS_REPEATED: "is the last of several calls on a retained graph, which the second program walks once",
    slugs.RELATIONS_INTERLEAVED: "does not depend on the lines that the second program has in between",
    slugs.NETWORKS_MODULE: "goes through modules, which the second program computes op by op from the same parameters",
    slugs.RECURRENT_MODULE: "goes through a module, which the second program computes step by step from its parameters",
    slugs.RECURRENT_PACKED: "goes through a padded batch, whose sequences the second program processes one by one",
    slugs.AUTOCAST_GRADIENT: "is computed under autocast, or from what is; the second program writes the casts out",
    slugs.AUTOCAST_NESTED: "depends on ops inside and outside of autocast, whose casts the second program writes out",
    slugs.AUTOCAST_UNRECORDED: "reaches a leaf that the block also used unrecorded; the second program casts it twice",
    slugs.AUTOCAST_HIGHER: "differentiates a gradient under autocast, whose casts the second program writes out",
    slugs.AUTOCAST_WRITTEN: "reaches a leaf that was written to inside of the block; the second program casts it again",
    slugs.TRAINING_MICRO_BATCHES: "walks the whole batch, whose parts the second program walks one by one",
    slugs.TRAINING_LOSSES: "is the last of one call for each loss; the second program walks the sum of the losses at "
    "once",
    slugs.TRAINING_APART: "trains a network alone, which the second program trains next to another network",
}
"""For each rule that compares two programs, a clause about how the failing line of the first program relates to the
second program: "starts from a multiple of the second program's cotangent"."""


def explanation(case: Case) -> tuple[ExplanationStep, ...]:
    """Explains how the two programs are related, and names the line at which their results differ."""
    expected = case.violation.allowed[0].expected.expected_text()
    return (ExplanationStep(case.violation.at + 1, f"{WHY.get(case.pair.rule, 'is related')}: {expected}."),)


def separate_cases(case: Case) -> tuple[Case | None, Case | None]:
    """Returns, for each of the two programs, the violation that it shows without the other, as a case; None if it
    breaks no rule.
    """
    return _separate(case, case.pair.first), _separate(case, case.pair.second)


def _separate(case: Case, program: Program) -> Case | None:
    judged = case.judge(program)
    violation = judged.violation
    return None if violation is None else with_confirmed_cause(case.failing_with(judged, violation))


def describe(broken: tuple[Case | None, Case | None]) -> str:
    """Returns a sentence about the rules that each program breaks without the other."""
    first, second = ("breaks no rule" if case is None else _breaks(case.violation) for case in broken)
    return f"In isolation, the first program {first}; the second program {second}."


def _breaks(violation: Violation) -> str:
    return f"breaks {violation.rule} on line {violation.at + 1}: {violation.observed_text()}"


def parts(broken: tuple[Case | None, Case | None]) -> tuple[PartViolation, ...]:
    """Returns the violations that each program shows without the other, as records with their gradient flow."""
    return tuple(_part(case, second=number == 1) for number, case in enumerate(broken) if case is not None)


def _part(case: Case, *, second: bool) -> PartViolation:
    violation = case.violation
    return PartViolation(
        rule=violation.rule,
        op=violation.op,
        deviation=category_of(violation),
        diagnosis=violation.diagnosis_text(),
        second=second,
        at=violation.at,
        flow=flow(case),
        signature=signature_of(case.program, violation),
    )


def script(case: Case, runs: bool = True) -> str:
    """Returns a script that runs both programs, and prints the values or outcomes that differ and what is allowed;
    empty if the framework's code cannot be printed. Without `runs`, no program runs to find out which lines raise.
    """
    dialect, pair = case.dialect, case.pair
    if dialect is None:
        return ""
    lines: list[str] = []
    marked = _compared_lines(case)
    for n, (title, program) in enumerate((("The first program", pair.first), ("The second program", pair.second))):
        observation = case.observe(program) if runs else case.observation if n == 0 else None
        failing = case.violation.at if n == 0 else None
        made = statements(program, _regions(case, program, observation), dialect, failing)
        lines += [f"# {title}", *_program_lines(program, made, observation, title, marked[n])]
        for ref in _compared_values(case, n):
            name = names(program)[ref]
            is_gradient = _is_gradient(case, program, ref)
            what = dialect.gradient.format(leaf=name) if is_gradient else name
            lines.append(f'print("{title}: {what} is", {elements_of(what, dialect, is_gradient)})')
        lines += [*cast_blocks(program, dialect)[-1], ""] if n == 0 else []
    allowed = " or ".join(dict.fromkeys(each.expected.expected_text() for each in case.violation.allowed))
    return assemble(pair.first, dialect, [*lines, f'print("allowed:", {allowed!r})'])


def _regions(case: Case, program: Program, observation: Observation | None) -> Iterable[Region]:
    """Returns the instructions that ran, or will run, as one compiled or checkpointed function."""
    return case.target.regions(program) if observation is None else observed_regions(program, observation)


def _program_lines(
    program: Program, made: Sequence[Statement], observation: Observation | None, title: str, marked: int | None
) -> list[str]:
    """Returns the code of a program; lines whose instructions raised catch the error and print it, and so does each
    call if the program did not run. Line `marked`, whose outcome is compared, says that it returned.
    """
    lines: list[str] = []
    for each in made:
        lines += each.before
        may_raise = isinstance(program[each.steps[0]], BackwardCall)
        unseen = Raised(Kind.UNKNOWN, "", "") if may_raise else Returned(())
        outcome = unseen if observation is None else observation[each.steps[0]].outcome
        number = each.steps[0] + 1
        match outcome:
            case Raised():
                said = f'    print("{title}: line {number} raises", error)'
                lines += ["try:", indented(each.text), "except Exception as error:", said]
                if observation is None and marked in each.steps:
                    lines += ["else:", f'    print("{title}: line {number} returns")']
            case Skipped():
                lines.append(f"# {each.text}: it needs a value that was never computed")
            case Returned():
                lines.append(each.text)
                lines += [f'print("{title}: line {number} returns")'] if marked in each.steps else []
            case _:
                assert_never(outcome)
    return lines


def _compared_lines(case: Case) -> tuple[int | None, int | None]:
    """Returns the instructions of the first and the second program whose outcomes are compared; None if values are."""
    match case.violation.observed:
        case OutcomesDiffer(place=place):
            return case.violation.at, place
        case CallFailed(which=which, at=at):
            return (at, None) if which == 0 else (None, at)
    return None, None


def _is_gradient(case: Case, program: Program, ref: Ref) -> bool:
    """Whether the compared value is the `.grad` of the value `ref`, and not that value itself."""
    observed = case.violation.observed
    is_held = bool(case.pair.alike) or (isinstance(observed, ValuesDiffer) and observed.gradient)
    return is_held and not isinstance(program[ref.at], Grad)


def _compared_values(case: Case, which: int) -> list[Ref]:
    """Returns the values of the first (`which` is 0) or second (1) program that the violation is about."""
    related, subject = case.pair, case.violation.subject
    if subject is None or isinstance(related.first[subject.at], Hook):
        return []
    if related.alike:
        about = [a for a in related.alike if a.first == subject]
        return [subject] if which == 0 else [ref for a in about[:1] for ref in a.second]
    place = dict(related.same)[subject.at]
    return [subject if which == 0 else Ref(place, subject.output)]
