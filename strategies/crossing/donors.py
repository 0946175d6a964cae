"""Donors: the instructions of the recorded programs, each with the forms of its operands, so that other programs can
take them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from autograd_conformance.interactions.meetings import facts_under
from autograd_conformance.interactions.recorded import recorded
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.programs.language import (
    Apply,
    Detach,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Modes,
    Optimizer,
    Program,
    Ref,
    Shape,
    Step,
)
from autograd_conformance.programs.operands import operands
from autograd_conformance.strategies.building.alphabet import EVERYTHING
from autograd_conformance.strategies.building.drafts.script import Script
from autograd_conformance.strategies.crossing.novelty import numbers

Form = tuple[str, Shape, bool]
"""The dtype and the shape of a value, and whether an optimizer can update it. A hook's handle has the form `HANDLE`."""

LONGEST = 40
"""Number of instructions of the longest program that gives or takes instructions; training loops are longer."""

HANDLE: Form = ("handle", (), False)

UPDATES = (Step, Optimizer)
"""Instructions whose operands are leaves that an optimizer can update."""


class Donor(NamedTuple):
    """An instruction that other programs can take. Its options and grad modes stay; values of the same forms take the
    places of its operands.
    """

    step: Instruction
    modes: Modes
    forms: tuple[Form, ...]
    facts: tuple[int, ...]
    """The numbers of the facts of the instruction and its grad modes."""


@lru_cache(maxsize=None)
def program(number: int) -> Program:
    """Returns a recorded program."""
    return recorded().program(number)


@lru_cache(maxsize=1)
def donors() -> dict[tuple[Form, ...], list[Donor]]:
    """Returns the instructions of the recorded programs of a quick run that other programs can take, by the forms of
    their operands: each kind of instruction once.
    """
    found: dict[tuple[Form, ...], dict[object, Donor]] = {}
    for number in range(recorded().quick):
        for donor in _donors(program(number)) if len(program(number)) <= LONGEST else ():
            op = donor.step.op if isinstance(donor.step, (Apply, InPlace)) else None
            found.setdefault(donor.forms, {}).setdefault((op, donor.facts), donor)
    return {forms: [*each.values()] for forms, each in found.items()}


def _donors(taken: Program) -> Iterator[Donor]:
    script = Script(EVERYTHING, tracked=True)
    for at, step in enumerate(taken):
        read, script.modes = operands(step), taken.mode(at)
        forms = [form_of(script, ref, isinstance(step, UPDATES)) for ref in read if exists(script, ref)]
        alone = isinstance(step, Apply) and step.op in RANDOM_OPS  # a mask of dropout belongs to one op
        if forms and len(forms) == len(read) and not alone:
            yield Donor(step, script.modes, tuple(forms), numbers(facts_under(step, script.modes)))
        script.add(step)


def exists(script: Script, ref: Ref) -> bool:
    """Whether a value can be an operand of the next instruction, or is the handle of a hook."""
    return ref in script.live or (ref.at < len(script.reference.steps) and is_handle(script, ref))


def is_handle(script: Script, ref: Ref) -> bool:
    """Whether a value is the handle of a hook."""
    return isinstance(script.reference.steps[ref.at], Hook)


def form_of(script: Script, ref: Ref, updated: bool) -> Form:
    """Returns the form of a value, as one that an optimizer updates or as any other operand."""
    return HANDLE if is_handle(script, ref) else (script.dtypes[ref], script.shape(ref), updated)


def is_updatable(script: Script, ref: Ref) -> bool:
    """Whether an optimizer can update a value."""
    return isinstance(script.reference.steps[ref.at], (Leaf, Detach))
