"""Writes a standalone script: the failing program in the framework's code, and last lines that print what is wrong."""

from __future__ import annotations

import builtins
from dataclasses import replace
from typing import Any, assert_never

from autograd_conformance.failures.case import Case
from autograd_conformance.failures.listing import assemble, indented, print_line, statements
from autograd_conformance.frameworks.running.runner import literal
from autograd_conformance.printing import literals
from autograd_conformance.printing.dialect import Dialect, code, cotangent
from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import SHOWING, Backward, Grad, Hook, Instruction, Leaf, Program, Ref
from autograd_conformance.programs.observations import (
    Gradient,
    Outcome,
    Raised,
    Returned,
    Skipped,
    Tensor,
)
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.regions import observed_regions
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.violations.expected import ExpectedError
from autograd_conformance.rules.violations.observed import CotangentWritten, MovedMemory, RaisedError, ValueMemory
from autograd_conformance.rules.violations.shared import (
    Flag,
    GradientForm,
    NoGradient,
    OwnMemory,
    ResultDtype,
    ResultShape,
    SharedMemory,
)
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
    return assemble(program, dialect, lines)


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
        return _written_cotangent(case.program[violation.at], violation.observed.number, line, dialect)
    if violation.partner is not None:
        return [line, *_shared_gradient(case, dialect)]
    if violation.observed.is_about_hook():
        return _hook_calls(case, line)
    shown = [*_before(case, dialect), line]
    if dialect.saved and RULES[violation.rule].family == slugs.MEMORY:
        shown.append(f'print("saved tensors alive:", {dialect.saved}, "(allowed: {_allowed(violation)})")')
    if violation.subject is not None:
        what = _subject_code(case, violation.subject, dialect)
        if what is not None:
            is_gradient = what == dialect.gradient.format(leaf=case.names.get(violation.subject, ""))
            shown += [*_observed(what, violation, dialect, is_gradient), *_memories(case, what, dialect)]
        shown.append(_expected(violation))
    elif isinstance(violation.observed, RaisedError):
        shown = [f'print("allowed on line {violation.at + 1}:", {_all_allowed(violation)!r})', line]
    return shown


def _observed(what: str, violation: Violation, dialect: Dialect, is_gradient: bool) -> list[str]:
    """Returns lines that print a wrong value: its shape, its dtype or its flag, if only that is wrong, or else its
    elements.
    """
    expected = [each.expected for each in violation.allowed]
    match violation.observed:
        case ResultShape() if dialect.shape:
            what = dialect.shape.format(value=what)
            shown = what
        case GradientForm(shape) if dialect.shape and shape not in [getattr(each, "shape", None) for each in expected]:
            what = dialect.shape.format(value=what)
            shown = what
        case ResultDtype() | GradientForm() if dialect.dtype and violation.got is None:
            what = dialect.dtype.format(value=what)
            shown = what
        case ResultDtype():
            return [f'print("observed:     ", {violation.observed_text()!r})']
        case Flag() if dialect.flag:
            what = dialect.flag.format(value=what)
            shown = what
        case Flag():
            return [f'print("observed:     ", {violation.observed_text()!r})']
        case NoGradient():
            shown = what
        case _:
            shown = _readable(what, violation, dialect, is_gradient)
    return [print_line(f"{what} is      ", shown)]


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
        _expected(violation),
    ]


def _readable(what: str, violation: Violation, dialect: Dialect, is_gradient: bool) -> str:
    """Returns the expression that prints a value, with all digits if only the last digits are wrong."""
    got, want = violation.got, violation.want
    alike = got is not None and want is not None and got.shape == want.shape and np.allclose(got, want, 1e-3, 0.0)
    if is_gradient and dialect.gradient_elements:
        return dialect.gradient_elements.format(value=what)
    return dialect.in_full.format(value=what) if alike and dialect.in_full else dialect.elements.format(value=what)


def _memories(case: Case, what: str, dialect: Dialect) -> list[str]:
    """Returns lines that print whether the value shares memory with the values that the violation names."""
    match case.violation.observed:
        case ValueMemory(of, of_gradient):
            others = [dialect.gradient.format(leaf=of) if of_gradient else of]
        case MovedMemory(of):
            others = [of]
        case OwnMemory() | SharedMemory():
            others = [case.names[ref] for ref in dict.fromkeys(operands(case.program[case.violation.at]))]
        case _:
            return []
    if not dialect.memory:
        return []
    memory = dialect.memory.format
    return [
        print_line(f"it shares the memory of {other}:", f"{memory(value=what)} == {memory(value=other)}")
        for other in others
    ]


def _written_cotangent(call: Instruction, number: int, line: str, dialect: Dialect) -> list[str]:
    """Returns lines that give a cotangent a name, as the failing call writes to it, and print it after the call."""
    given = call.cotangents[number] if isinstance(call, (Backward, Grad)) else None
    assert given is not None
    text = cotangent(given, dialect)
    return [
        f"cotangent = {text}",
        line.replace(text, "cotangent", 1),
        'print("the cotangent is", cotangent)',
        f'print("it has to be ", {_values(literal(given))})',
    ]


def _expected(violation: Violation) -> str:
    """Returns the line that prints the expected value, or a description of the allowed outcome."""
    want = violation.grad_before if violation.want is None else violation.want
    if want is None or RULES[violation.rule].keeps_state:
        return f'print("allowed:      ", {_allowed(violation)!r})'
    return f'print("it has to be ", {_values(want)})'


def _allowed(violation: Violation) -> str:
    """Returns a description of the allowed outcome."""
    return violation.allowed[0].expected.expected_text()


def _all_allowed(violation: Violation) -> str:
    """Returns a description of all allowed outcomes."""
    return " or ".join(dict.fromkeys(each.expected.expected_text() for each in violation.allowed))


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
    return [print_line(f"{what} was     ", what)]


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
    before = "none" if violation.grad_before is None else _values(violation.grad_before)
    state_before = f'print("before the call it was", "{before}", "and {_allowed(violation)}")'
    shown = [] if what is None else [print_line(f"{what} is      ", what)]
    return [
        *_before(case, dialect),
        "try:",
        indented(line),
        f"except {_caught(case.program, dialect, _outcome(case))}:",
        "    pass  # it may raise",
        *shown,
        _expected(violation) if isinstance(case.program[violation.at], SHOWING) else state_before,
    ]


def _shared_gradient(case: Case, dialect: Dialect) -> list[str]:
    """Returns lines that show that two leaves share one gradient: a call that reaches only one leaf changes the `.grad`
    of both. If the framework takes no cotangents, they print both gradients.
    """
    program, violation = case.program, case.violation
    assert violation.partner is not None
    assert violation.subject is not None
    gradient = dialect.gradient.format(leaf=case.names[violation.subject])
    leaf = program[violation.partner.at]
    if not isinstance(leaf, Leaf) or Capability.COTANGENTS not in case.target.capabilities:
        other = dialect.gradient.format(leaf=case.names[violation.partner])
        return [
            print_line(f"{gradient} is    ", gradient),
            print_line(f"{other} is    ", f'{other}, "(in the same memory)"'),
        ]
    ones = replace(leaf.value, data=(1.0,) * len(leaf.value.data))
    touching = Backward((violation.partner,), (ones,))
    return [
        print_line(f"{gradient} was    ", gradient),
        code(program.upto(violation.at + 1).extended(touching), dialect)[-1],
        print_line(f"{gradient} is now ", f'{gradient}, "(it must not have changed)"'),
    ]


def _outcome(case: Case) -> Outcome:
    """Returns the outcome of the failing instruction."""
    return case.observation[case.violation.at].outcome


def _values(value: np.ndarray) -> str:
    return repr(_in_code(np.asarray(value).tolist()))


def _in_code(value: Any) -> Any:
    """Returns nested lists of numbers in which NaN and infinity are written as calls of `float`."""
    return [_in_code(each) for each in value] if isinstance(value, list) else literals.literal(value)
