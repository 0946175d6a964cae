"""Writes the lines of a script that print a wrong value, and what it has to be."""

from __future__ import annotations

from typing import Any

from autograd_conformance.failures.case import Case
from autograd_conformance.failures.listing import print_line
from autograd_conformance.frameworks.running.runner import literal
from autograd_conformance.printing import literals
from autograd_conformance.printing.dialect import Dialect, cotangent
from autograd_conformance.programs.language import Backward, Grad, Instruction
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.violations.observed import MovedMemory, ValueMemory
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


def observed_lines(what: str, violation: Violation, dialect: Dialect, is_gradient: bool) -> list[str]:
    """Returns lines that print a wrong value: its shape, its dtype or its flag, if only that is wrong, or else its
    elements.
    """
    observed = violation.observed
    reads = _template(violation, dialect)
    if reads:
        what = reads.format(value=what)
        return [print_line(f"{what} is      ", what)]
    if isinstance(observed, (ResultDtype, Flag)):
        return [f'print("observed:     ", {violation.observed_text()!r})']
    shown = what if isinstance(observed, NoGradient) else _readable(what, violation, dialect, is_gradient)
    return [print_line(f"{what} is      ", shown)]


def _template(violation: Violation, dialect: Dialect) -> str:
    """Returns the template that reads the part of a value that alone is wrong; empty if that is its elements, or if the
    dialect has no such template.
    """
    match violation.observed:
        case ResultShape():
            return dialect.shape
        case GradientForm(shape):
            expected = [each.expected for each in violation.allowed]
            is_dtype = shape in [each.shape for each in expected if isinstance(each, GradientForm)]
            return dialect.dtype if is_dtype else dialect.shape
        case ResultDtype():
            return dialect.dtype
        case Flag():
            return dialect.flag
        case _:
            return ""


def _readable(what: str, violation: Violation, dialect: Dialect, is_gradient: bool) -> str:
    """Returns the expression that prints a value, with all digits if only the last digits are wrong."""
    got, want = violation.got, violation.want
    alike = got is not None and want is not None and got.shape == want.shape and np.allclose(got, want, 1e-3, 0.0)
    if alike and dialect.in_full and not (is_gradient and dialect.gradient_elements):
        return dialect.in_full.format(value=what)
    return elements_of(what, dialect, is_gradient)


def elements_of(what: str, dialect: Dialect, is_gradient: bool) -> str:
    """Returns the expression that prints the elements of a value or of a gradient."""
    template = dialect.gradient_elements if is_gradient else ""
    return (template or dialect.elements).format(value=what)


def memory_lines(case: Case, what: str, dialect: Dialect) -> list[str]:
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


def cotangent_lines(call: Instruction, number: int, line: str, dialect: Dialect) -> list[str]:
    """Returns lines that give a cotangent a name, as the failing call writes to it, and print it after the call."""
    given = call.cotangents[number] if isinstance(call, (Backward, Grad)) else None
    assert given is not None
    text = cotangent(given, dialect)
    return [
        f"cotangent = {text}",
        line.replace(text, "cotangent", 1),
        'print("the cotangent is", cotangent)',
        f'print("it has to be ", {values_text(literal(given))})',
    ]


def expected_line(violation: Violation) -> str:
    """Returns the line that prints the expected value, or a description of the allowed outcome."""
    want = violation.grad_before if violation.want is None else violation.want
    if want is None or RULES[violation.rule].keeps_state:
        return f'print("allowed:      ", {allowed_text(violation)!r})'
    return f'print("it has to be ", {values_text(want)})'


def allowed_text(violation: Violation) -> str:
    """Returns a description of the allowed outcome."""
    return violation.allowed[0].expected.expected_text()


def all_allowed_text(violation: Violation) -> str:
    """Returns a description of all allowed outcomes."""
    return " or ".join(dict.fromkeys(each.expected.expected_text() for each in violation.allowed))


def values_text(value: np.ndarray) -> str:
    return repr(_in_code(np.asarray(value).tolist()))


def _in_code(value: Any) -> Any:
    """Returns nested lists of numbers in which NaN and infinity are written as calls of `float`."""
    return [_in_code(each) for each in value] if isinstance(value, list) else literals.literal(value)
