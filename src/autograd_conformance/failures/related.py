"""Makes the parts of a failure of two related programs: its explanation, its script, and the rules that each program
breaks without the other.
"""

from __future__ import annotations

from typing import assert_never

from autograd_conformance.checking.category import category_of
from autograd_conformance.checking.signature import signature_of
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.evidence.flow import flow
from autograd_conformance.failures.listing import assemble, indented, statements
from autograd_conformance.failures.variations.confirmed_cause import with_confirmed_cause
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs import slugs
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import Grad, Hook, Program, Ref
from autograd_conformance.programs.observations import Raised, Returned, Skipped
from autograd_conformance.programs.regions import observed_regions
from autograd_conformance.reporting.records.failure import ExplanationStep, PartViolation
from autograd_conformance.rules.violations.pairs import ValuesDiffer
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


def script(case: Case) -> str:
    """Returns a script that runs both programs and prints the values that differ; empty if the framework's code cannot
    be printed.
    """
    dialect, pair = case.dialect, case.pair
    if dialect is None:
        return ""
    lines: list[str] = []
    for n, (title, program) in enumerate((("The first program", pair.first), ("The second program", pair.second))):
        lines += [f"# {title}", *_program_lines(case, program, dialect, case.violation.at if n == 0 else None)]
        for ref in _compared_values(case, n):
            name = names(program)[ref]
            what = dialect.gradient.format(leaf=name) if _is_gradient(case, program, ref) else name
            lines.append(f'print("{title}: {what} is", {what})')
        lines += [""] if n == 0 else []
    return assemble(dialect, lines)


def _program_lines(case: Case, program: Program, dialect: Dialect, failing: int | None) -> list[str]:
    """Returns the code of a program; lines whose instructions raised catch the error and print it."""
    lines: list[str] = []
    observation = case.observe(program)
    for each in statements(program, observed_regions(program, observation), dialect, failing):
        lines += each.before
        outcome = observation[each.steps[0]].outcome
        match outcome:
            case Raised():
                lines += ["try:", indented(each.text), "except Exception as error:", '    print("raises", error)']
            case Skipped():
                lines.append(f"# {each.text}: it needs a value that was never computed")
            case Returned():
                lines.append(each.text)
            case _:
                assert_never(outcome)
    return lines


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
