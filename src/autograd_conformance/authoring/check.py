"""Checks an adapter without a run: each op once, each capability's smallest program, and the printed code.

It takes seconds, and draws nothing. The remarks are one list: first those that are the adapter's, then those of which
only the author knows whether the adapter or the framework is wrong, then notes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from autograd_conformance.checking.audit.programs import CALLS, sample
from autograd_conformance.checking.check import judgement_of
from autograd_conformance.checking.counts.remarks import Remarks as Errors
from autograd_conformance.checking.counts.remarks import advice, described
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
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import Program, Shape
from autograd_conformance.programs.observations import (
    Observation,
    Raised,
    Returned,
    Tensor,
    lacks_kernel,
    undecided_error,
)
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.strategies.building import alphabet

SLOW = 1.0
"""Seconds for one small program above which a step is called slow."""

NAMED = 8
"""Largest number of slow steps that are named."""


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


@dataclass(frozen=True)
class Step:
    """One program of a check."""

    about: str
    """The op, capability or form of operands that the program tries."""
    program: Program


@dataclass(frozen=True)
class Checked:
    """The results of one step of a check."""

    about: str
    remarks: tuple[Remark, ...] = ()
    errors: Errors = field(default_factory=Errors)
    """The errors that the adapter's `classify` does not know."""
    seconds: float = 0.0
    """Seconds that the framework took for the program."""


def check(target: Target, known: Sequence[Known] = ()) -> Iterator[Remark]:
    """Yields the remarks about an adapter that passed the smoke test and the probe. Known differences are left out. If
    the framework has a process that dies, that is a remark about the program that ran.
    """
    yield from about_claims(target)
    yield from summed([checked(step, target, known) for step in steps(target)])


def about_claims(target: Target) -> Iterator[Remark]:
    """Yields the remarks about an adapter for which no program has to run."""
    for note in target.notes:
        yield Remark(Blame.NOTE, "claims", note)
    if target.capabilities.isdisjoint(CALLS):
        text = "it claims neither IMPERATIVE nor FUNCTIONAL, so no rule can be tested; `probe` says why"
        yield Remark(Blame.ADAPTER, "claims", text)
    yield from _templates(target)


def steps(target: Target) -> Iterator[Step]:
    """Yields the programs of a check: one for each op, each capability, each further optimizer, and each form of
    operands.
    """
    dtypes = tuple(target.dtypes)
    with alphabet.using(alphabet_of(target, dtypes)) as everything:
        for op in everything.ops:
            program = sample(op, 0, dtypes[0])
            if program is not None:
                yield Step(f"op {op}", program)
    shown = [(each.name, smallest.texts) for each, smallest in SMALLEST.items() if each in target.capabilities]
    stepped = SMALLEST[Capability.OPTIMIZERS].texts
    shown += [(f"optimizer {name}", _with_optimizer(name, stepped)) for name in target.optimizers if name != "sgd"]
    for about, texts in shown:
        programs = (parse(text, VOCABULARY) for text in texts)
        program = next((each for each in programs if not unsupported_by(each, target)), None)
        if program is not None:
            yield Step(about, program)
    for form, shape in FORMS.items():
        program = parse(_of_shape(shape), VOCABULARY)
        if not unsupported_forms(program, target) and not unsupported_by(program, target):
            yield Step(form, program)


def _with_optimizer(name: str, texts: Iterable[str]) -> Iterator[str]:
    """Yields the texts of programs with a step of SGD, with one of another optimizer."""
    yield from (text.replace("step a sgd", f"step a {name}") for text in texts)


def summed(found: Sequence[Checked]) -> Iterator[Remark]:
    """Yields the remarks of all steps, then those about the errors that `classify` does not know, and about time."""
    errors = Errors()
    for each in found:
        yield from each.remarks
        errors.add(each.errors)
    said: set[tuple[str, str]] = set()
    for refusal in errors.refusals:
        if (refusal.type, refusal.message) not in said:
            said.add((refusal.type, refusal.message))
            todo = advice(refusal, errors.legal, errors.refusals)
            text = f"it does not know an error of {refusal.type} ({refusal.message}). {todo}"
            yield Remark(Blame.NOTE, "classify", text)
    slow = sorted((each for each in found if each.seconds > SLOW), key=lambda each: -each.seconds)
    if slow:
        named = ", ".join(f"{each.about} {each.seconds:.1f} s" for each in slow[:NAMED])
        rest = f" and {len(slow) - NAMED} more" if len(slow) > NAMED else ""
        text = f"more than {SLOW:g} s for one small program, so that a run is slow: {named}{rest}"
        yield Remark(Blame.NOTE, "speed", text)


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


def checked(step: Step, target: Target, known: Sequence[Known], note: Callable[[str], object] = str) -> Checked:
    """Runs a step: looks for a violation of its program, for errors that `classify` does not know, and compares its
    printed code with the adapter's calls. `note` is called with the name of each part before the part begins.
    """
    note("its program")
    about, program = step.about, step.program
    began = time.monotonic()
    try:
        seen = target.observe(program)
        if (seconds := time.monotonic() - began) > SLOW:  # the first program may be slow only because it is the first
            began = time.monotonic()
            target.observe(program)
            seconds = time.monotonic() - began
    except AdapterError as error:
        return Checked(about, (Remark(Blame.ADAPTER, about, str(error), as_code(program, target)),))
    except ENDED as error:
        return Checked(about, (Remark(Blame.EITHER, about, error.how, as_code(program, target)),))
    if lacks_kernel(*seen):
        lacking = "not supported: the framework says that it lacks it"
        return Checked(about, (Remark(Blame.NOTE, about, lacking),), seconds=seconds)
    if (undecided := undecided_error(*seen)) is not None:
        text = f"raised {described(undecided)}: this may be an error of the adapter or of the framework"
        return Checked(about, (Remark(Blame.EITHER, about, text, as_code(program, target)),), seconds=seconds)
    note("the comparison of its results with the rules")
    errors = Errors()
    remarks = [*_judged(step, seen, target, known, errors)]
    note("its printed code")
    remarks += _printed(about, program, seen, target)
    return Checked(about, tuple(remarks), errors, seconds)


def _judged(step: Step, seen: Observation, target: Target, known: Sequence[Known], errors: Errors) -> Iterator[Remark]:
    """Yields a remark on the violation of a step's program, if there is one, and counts its errors in `errors`."""
    program = step.program

    def waives(violation: Violation) -> bool:
        return any(is_known(entry, program, violation) for entry in known)

    judgement = judgement_of(program, seen, target, waives)
    errors.note_judgement(judgement, seen)
    if judgement.violation is not None:
        text = f"{judgement.violation.rule}: {judgement.violation.observed_text()}"
        yield Remark(Blame.EITHER, step.about, text, as_code(program, target))


def _printed(about: str, program: Program, seen: Observation, target: Target) -> Iterator[Remark]:
    """Yields a remark if the printed code of a program does not do what the adapter's calls do."""
    if target.dialect is None or not target.prints or not is_observable_in_code(program):
        return
    try:
        other = target.observe_printed(program)
    except ENDED as error:
        yield Remark(Blame.EITHER, about, f"in its printed code, {error.how}", as_code(program, target))
        return
    except SyntaxError:
        return  # `problems` yields it with the templates
    except (Exception, AdapterError) as error:
        cause = error.__cause__ or error
        text = f"its printed code cannot be run: {type_of(cause)}: {message(cause)}"
        yield Remark(Blame.ADAPTER, about, text, as_code(program, target))
        return
    if (found := _first_difference(seen, other)) is None:
        return
    text, blame = f"line {found[0]} of its printed code {found[1]}", Blame.ADAPTER
    if _is_unsteady(program, seen, target):
        text, blame = f"line {found[0]} of its program does not end alike each time that it runs", Blame.EITHER
    yield Remark(blame, about, text, as_code(program, target))


def _is_unsteady(program: Program, seen: Observation, target: Target) -> bool:
    """Whether a program, run again by the adapter's calls, has other outcomes: the framework keeps state, or reads
    memory that nothing has written.
    """
    try:
        return _first_difference(seen, target.observe(program)) is not None
    except ENDED:
        return True


def _first_difference(called: Observation, other: Observation) -> tuple[int, str] | None:
    """Returns the number of the first line, from 1, whose outcomes differ, and how; None if there is none."""
    for line, (one, two) in enumerate(zip(called, other, strict=True), 1):
        if why := _difference(one.outcome, two.outcome):
            return line, why
    return None


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
                    return f"gives {_shown(two)}; the adapter's call gives {_shown(one)}"
    return None


def _shown(tensor: Tensor) -> str:
    """Returns the elements of a value, or its shape if it has none, with its dtype."""
    elements = tensor.value.tolist() if tensor.value.size else f"no elements in the shape {tensor.value.shape}"
    return f"{elements} ({tensor.dtype})"


def as_code(program: Program, target: Target) -> str:
    """Returns a program as the framework's code, or in the suite's notation if the dialect cannot print it."""
    if target.dialect is None:
        return render(program)
    try:
        return "\n".join(code(program, target.dialect))
    except Exception:  # a template is missing or faulty, which another remark says
        return render(program)
