"""Writes a standalone script: the failing program in the framework's code, and last lines that print what is wrong."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from autograd_conformance.checking.other_runs import other_ways
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.listing import assemble, indented, print_line, statements
from autograd_conformance.failures.shown_values import (
    all_allowed_text,
    allowed_text,
    cotangent_lines,
    elements_of,
    expected_line,
    memory_lines,
    observed_lines,
    values_text,
)
from autograd_conformance.printing.dialect import Dialect, code
from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import SHOWING, Backward, Grad, Hook, Leaf, Program, Ref
from autograd_conformance.programs.observations import (
    Gradient,
    Outcome,
    Raised,
    Returned,
    Skipped,
    Tensor,
)
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.regions import observed_regions
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.violations.expected import ExpectedError, SameElsewhere
from autograd_conformance.rules.violations.observed import CotangentWritten, RaisedError
from autograd_conformance.rules.violations.violation import Violation


def script(case: Case) -> str:
    """Returns code that can be pasted and run, with line numbers in comments; empty if code for the framework cannot be
    printed.
    """
    program, observation, at, dialect = case.program, case.observation, case.violation.at, case.dialect
    if dialect is None:
        return ""
    dialect = _printing(dialect, case.violation)
    lines: list[str] = []
    for each in statements(program, observed_regions(program, observation), dialect, at):
        lines += each.before
        outcome = observation[each.steps[0]].outcome
        if at in each.steps:
            failed = case.violation.subject is not None and isinstance(outcome, Raised)
            lines += (_after_error if failed else _failing_line)(case, each.text, dialect)
            break
        lines += _earlier_line(program, each.text, outcome, dialect)
    return "\n".join([assemble(program, dialect, lines), *_other_script(case)])


def _earlier_line(program: Program, line: str, outcome: Outcome, dialect: Dialect) -> list[str]:
    """Returns the code of a line before the failing one, which catches the error if the line raised."""
    match outcome:
        case Raised():
            caught = _caught(program, dialect, outcome)
            return ["try:", indented(line), f"except {caught}:", "    pass  # it must raise, and does"]
        case Skipped():
            return [f"# {line}: it needs a value that was never computed"]
        case Returned():
            return [line]
        case _:
            assert_never(outcome)


def _caught(program: Program, dialect: Dialect, outcome: object = None) -> str:
    """Returns the type of the exception to catch: the framework's own type, the observed type, or Exception if a hook
    of the program raises.
    """
    if any(isinstance(step, Hook) and step.effect == "raise" for step in program):
        return "Exception"
    if any(isinstance(step, Grad) and step.materialize_grads and step.allow_unused is False for step in program):
        return "Exception"  # contradictory options raise another type of error
    if isinstance(outcome, Raised) and outcome.type not in dialect.error:
        return outcome.type if hasattr(builtins, outcome.type) else "Exception"
    return dialect.error


def _failing_line(case: Case, line: str, dialect: Dialect) -> list[str]:
    """Returns the lines that run the failing instruction and print what is wrong."""
    violation = case.violation
    kinds = [
        allowed.expected.kind.value for allowed in violation.allowed if isinstance(allowed.expected, ExpectedError)
    ]
    if kinds and len(kinds) == len(violation.allowed):
        wanted = " or ".join(kinds)
        return [
            "try:",
            indented(line),
            f"except {_caught(case.program, dialect, _outcome(case))} as error:",
            '    print("raised:", error)',
            "else:",
            f'    print("returned, but it must raise: {wanted}")',
        ]
    if isinstance(violation.observed, CotangentWritten):
        return cotangent_lines(case.program[violation.at], violation.observed.number, line, dialect)
    if violation.partner is not None:
        return [line, *_shared_gradient(case, dialect)]
    if violation.observed.is_about_hook():
        return _hook_calls(case, line)
    shown = [*_before(case, dialect), line]
    if dialect.saved and RULES[violation.rule].family == slugs.MEMORY:
        shown.append(f'print("saved tensors alive:", {dialect.saved}, "(allowed: {allowed_text(violation)})")')
    if violation.subject is not None:
        what = _subject_code(case, violation.subject, dialect)
        if what is not None:
            is_gradient = what == dialect.gradient.format(leaf=case.names.get(violation.subject, ""))
            shown += [*observed_lines(what, violation, dialect, is_gradient), *memory_lines(case, what, dialect)]
        shown.append(expected_line(violation))
    elif isinstance(violation.observed, RaisedError):
        shown = [f'print("allowed on line {violation.at + 1}:", {all_allowed_text(violation)!r})', line]
    return shown


def _other_script(case: Case) -> Iterator[str]:
    """Yields the script that runs the program in the other way with which the rule compares it, and prints the value to
    compare; nothing for other rules, or if code for the other framework cannot be printed.
    """
    violation = case.violation
    words = {each.expected.run for each in violation.allowed if isinstance(each.expected, SameElsewhere)}
    ways = other_ways(case.program, case.target) if words else ()
    for way, program, target in ways:
        if way not in words or target.dialect is None or violation.subject is None:
            continue
        lines = [f"# The same {way}:"]
        for each in statements(program, observed_regions(program, target.observe(program)), target.dialect):
            lines += [*each.before, each.text]
        what = _subject_code(case, violation.subject, target.dialect) or ""
        is_gradient = what != case.names[violation.subject]
        lines.append(print_line(f"{what} is      ", elements_of(what, target.dialect, is_gradient)))
        yield assemble(program, target.dialect, lines)


def _hook_calls(case: Case, line: str) -> list[str]:
    """Returns the lines that run a call of hooks, which print their own calls, between lines that say what is printed
    and what it has to be.
    """
    violation, name = case.violation, case.names
    about = None if violation.subject is None else case.program[violation.subject.at]
    target = name[about.target if isinstance(about, Hook) else violation.subject] if violation.subject else ""
    of = f" of {target}" if target else ""
    number = violation.at + 1
    return [
        f'print("calls of hooks on line {number}:")',
        line,
        f'print("end of the calls; observed{of}:", {violation.observed_text()!r})',
        expected_line(violation),
    ]


def _before(case: Case, dialect: Dialect) -> list[str]:
    """Returns a line that prints a value before the failing line, if the rule says that the value must not change;
    otherwise nothing.
    """
    violation = case.violation
    if not RULES[violation.rule].keeps_state or violation.subject is None or violation.subject.at >= violation.at:
        return []
    name = case.names[violation.subject]
    written = isinstance(case.program[violation.at], SHOWING) and not RULES[violation.rule].is_about_held_gradients
    what = name if written else dialect.gradient.format(leaf=name)
    return [print_line(f"{what} was     ", elements_of(what, dialect, not written))]


def _printing(dialect: Dialect, violation: Violation) -> Dialect:
    """Returns the dialect; if the failure is about hooks, the templates of hooks that change a gradient also print the
    gradient.
    """
    head, observe = "lambda grad: ", dialect.effects.get("observe", "")
    if RULES[violation.rule].family != slugs.HOOKS or not observe.startswith(head):
        return dialect
    effects = {
        effect: f"{head}({observe.removeprefix(head)}, {template.removeprefix(head)})[1]"
        for effect, template in dialect.effects.items()
        if effect != "observe" and template.startswith(head)
    }
    return replace(dialect, effects={**dialect.effects, **effects})


def _subject_code(case: Case, subject: Ref, dialect: Dialect) -> str | None:
    """Returns the expression for the wrong value or the wrong `.grad`; None if hooks print the wrong value
    themselves.
    """
    program, violation = case.program, case.violation
    observed = case.observation[violation.at]
    if isinstance(program[subject.at], Hook) or violation.observed.is_about_hook():
        return None
    made = subject.at == violation.at
    written = (
        (isinstance(program[violation.at], SHOWING) or bool(observed.region or observed.values))
        and not RULES[violation.rule].is_about_held_gradients
        and (
            _equals(violation.got, observed.values.get(subject))
            or not _equals(violation.got, observed.gradients.get(subject))
        )
    )
    name = case.names[subject]
    return name if made or written else dialect.gradient.format(leaf=name)


def _equals(got: np.ndarray | None, observed: Tensor | Gradient | None) -> bool:
    return got is not None and observed is not None and np.array_equal(got, observed.value, equal_nan=True)


def _after_error(case: Case, line: str, dialect: Dialect) -> list[str]:
    """Returns the lines for a call that may raise and did, and left something wrong: they catch the error and print the
    wrong value.
    """
    violation = case.violation
    assert violation.subject is not None
    what = _subject_code(case, violation.subject, dialect)
    before = "none" if violation.grad_before is None else values_text(violation.grad_before)
    state_before = f'print("before the call it was", "{before}", "and {allowed_text(violation)}")'
    is_gradient = what != case.names[violation.subject]
    shown = [] if what is None else [print_line(f"{what} is      ", elements_of(what, dialect, is_gradient))]
    return [
        *_before(case, dialect),
        "try:",
        indented(line),
        f"except {_caught(case.program, dialect, _outcome(case))}:",
        "    pass  # it may raise",
        *shown,
        expected_line(violation) if isinstance(case.program[violation.at], SHOWING) else state_before,
    ]


def _shared_gradient(case: Case, dialect: Dialect) -> list[str]:
    """Returns lines that show that two leaves share one gradient: a call that reaches only one leaf changes the `.grad`
    of both, or both hold one object, in a framework that does not expose where values are in memory. If the framework
    takes no cotangents, they print both gradients.
    """
    program, violation = case.program, case.violation
    assert violation.partner is not None
    assert violation.subject is not None
    gradient, other = (
        dialect.gradient.format(leaf=case.names[each]) for each in (violation.subject, violation.partner)
    )
    tells_memory = Capability.MEMORY in case.target.capabilities
    one_object = [] if tells_memory else [print_line(f"{gradient} is {other}: ", f"{gradient} is {other}")]
    leaf = program[violation.partner.at]
    if not isinstance(leaf, Leaf) or Capability.COTANGENTS not in case.target.capabilities:
        return [
            *one_object,
            print_line(f"{gradient} is    ", elements_of(gradient, dialect, True)),
            print_line(f"{other} is    ", f'{elements_of(other, dialect, True)}, "(in the same memory)"'),
        ]
    ones = replace(leaf.value, data=(1.0,) * len(leaf.value.data))
    touching = Backward((violation.partner,), (ones,))
    return [
        *one_object,
        print_line(f"{gradient} was    ", elements_of(gradient, dialect, True)),
        code(program.upto(violation.at + 1).extended(touching), dialect)[-1],
        print_line(f"{gradient} is now ", f'{elements_of(gradient, dialect, True)}, "(it must not have changed)"'),
    ]


def _outcome(case: Case) -> Outcome:
    """Returns the outcome of the failing instruction."""
    return case.observation[case.violation.at].outcome
