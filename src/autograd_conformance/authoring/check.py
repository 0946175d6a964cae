"""Checks an adapter without a run: each op once, each capability's smallest program, and the printed code.

It takes seconds, and draws nothing. The remarks are one list: first those that are the adapter's, then those of which
only the author knows whether the adapter or the framework is wrong, then notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from autograd_conformance.checking.audit.programs import sample
from autograd_conformance.checking.check import judgement_of
from autograd_conformance.checking.soundness.printed_code import problems
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.checking.support.unsupported import unsupported_by, unsupported_forms
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment.process_end import ENDED
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.smallest import SMALLEST
from autograd_conformance.frameworks.running.printed import is_observable_in_code
from autograd_conformance.known_differences import Known, is_known
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.rows.shapes import FORMS, size
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import Program, Shape
from autograd_conformance.programs.observations import Observation, Raised, Returned, lacks_kernel
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.strategies.building import alphabet


class Blame(Enum):
    """The part that a remark is about."""

    ADAPTER = "adapter"
    EITHER = "adapter or framework"
    NOTE = "note"


@dataclass(frozen=True)
class Remark:
    """One thing that is wrong, or that the author of an adapter should know."""

    blame: Blame
    about: str
    """The op, capability or template, such as ``op sin``."""
    text: str
    """The problem in one sentence, with the remedy if there is one."""
    program: str = ""
    """The program that shows it, as code; empty if none does."""


def check(target: Target, known: Sequence[Known] = ()) -> Iterator[Remark]:
    """Yields the remarks about an adapter that passed the smoke test and the probe. Known differences are left out. If
    the framework has a process that dies, that is a remark about the program that ran.
    """
    for note in target.notes:
        yield Remark(Blame.NOTE, "claims", note)
    yield from _templates(target)
    dtypes = tuple(target.dtypes)
    refusals: set[tuple[str, str]] = set()
    with alphabet.using(alphabet_of(target, dtypes)) as everything:
        for op in everything.ops:
            program = sample(op, 0, dtypes[0])
            if program is not None:
                yield from _judged(f"op {op}", program, target, known, refusals)
    for capability, smallest in SMALLEST.items():
        program = parse(smallest.text, VOCABULARY)
        if capability in target.capabilities and not unsupported_by(program, target):
            yield from _judged(capability.name, program, target, known, refusals)
    for form, shape in FORMS.items():
        program = parse(_of_shape(shape), VOCABULARY)
        if not unsupported_forms(program, target) and not unsupported_by(program, target):
            yield from _judged(form, program, target, known, refusals)


def _of_shape(shape: Shape) -> str:
    """Returns a program on an operand of a shape, and on its transpose if it is a matrix."""
    data = [k + 1 for k in range(size(shape))]
    used = "t = transpose a dim0=0 dim1=1; b = negative t" if len(shape) > 1 else "b = negative a"
    return f"a = leaf {shape} {data}; {used}; c = multiply b b"


def _templates(target: Target) -> Iterator[Remark]:
    if target.dialect is None:
        yield Remark(Blame.NOTE, "dialect", "there is none: failures are printed in the suite's notation")
        return
    for problem in problems(target):
        yield Remark(Blame.ADAPTER, problem.about, problem.text)


def _judged(
    about: str, program: Program, target: Target, known: Sequence[Known], refusals: set[tuple[str, str]]
) -> Iterator[Remark]:
    """Yields the remarks about one program: its violation, its refusals that `classify` does not know, and whether its
    printed code does the same as the adapter's calls.
    """
    try:
        seen = target.observe(program)
    except AdapterError as error:
        yield Remark(Blame.ADAPTER, about, str(error), _code(program, target))
        return
    except ENDED as error:
        yield Remark(Blame.EITHER, about, error.how, _code(program, target))
        return
    if lacks_kernel(*seen):
        yield Remark(Blame.NOTE, about, "not supported: the framework says that it lacks it")
        return

    def waives(violation: Violation) -> bool:
        return any(is_known(entry, program, violation) for entry in known)

    judgement = judgement_of(program, seen, target, waives)
    for refusal in judgement.refusals:
        if (refusal.type, refusal.message) not in refusals:
            refusals.add((refusal.type, refusal.message))
            line = f'if "{refusal.message}" in str(error): return Kind.{refusal.expected.name}'
            yield Remark(Blame.NOTE, "classify", f"it does not know an error of {refusal.type}; add: {line}")
    if judgement.violation is not None:
        text = f"{judgement.violation.rule}: {judgement.violation.observed_text()}"
        yield Remark(Blame.EITHER, about, text, _code(program, target))
    yield from _printed(about, program, seen, target)


def _printed(about: str, program: Program, seen: Observation, target: Target) -> Iterator[Remark]:
    """Yields a remark if the printed code of a program does not do what the adapter's calls do."""
    if target.dialect is None or not target.prints or not is_observable_in_code(program):
        return
    try:
        other = target.observe_printed(program)
    except ENDED as error:
        yield Remark(Blame.EITHER, about, f"in its printed code, {error.how}", _code(program, target))
        return
    except SyntaxError:
        return  # `problems` yields it with the templates
    except Exception as error:
        text = f"its printed code cannot be run: {type_of(error)}: {message(error)}"
        yield Remark(Blame.ADAPTER, about, text, _code(program, target))
        return
    for at, (one, two) in enumerate(zip(seen, other, strict=True)):
        if why := _difference(one.outcome, two.outcome):
            yield Remark(Blame.ADAPTER, about, f"line {at + 1} of its printed code {why}", _code(program, target))
            return


def _difference(called: object, printed: object) -> str | None:
    """Returns how the outcome of a line of printed code differs from that of the adapter's call, or None."""
    match called, printed:
        case Returned(), Raised(type=kind, message=text):
            return f"raises {kind}: {text}; the adapter's call returns"
        case Raised(), Returned():
            return "returns; the adapter's call raises"
        case Returned(values), Returned(others):
            for one, two in zip(values, others, strict=True):
                if one is None or two is None:
                    continue
                if one.dtype != two.dtype or not np.array_equal(one.value, two.value, equal_nan=True):
                    return f"gives {two.value.tolist()}; the adapter's call gives {one.value.tolist()}"
    return None


def _code(program: Program, target: Target) -> str:
    """Returns a program as the framework's code, or in the suite's notation if the dialect cannot print it."""
    if target.dialect is None:
        return render(program)
    try:
        return "\n".join(code(program, target.dialect))
    except Exception:  # a template is missing or faulty, which another remark says
        return render(program)
