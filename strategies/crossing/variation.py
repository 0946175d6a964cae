"""Variations: the instruction of another program in other grad modes, or with another value of one yes-or-no option."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import product
from random import Random

from autograd_conformance.interactions.meetings import facts_under
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.programs.language import EFFECTS, GRAD_MODES, INSTRUCTIONS, Apply, Hook, Instruction, Modes
from autograd_conformance.strategies.crossing.donors import Donor
from autograd_conformance.strategies.crossing.novelty import numbers

CHOICES: dict[str, tuple[bool | None, ...]] = {"bool": (False, True), "bool | None": (None, False, True)}
"""The values of yes-or-no options, by the types of their fields."""

SWITCHES = {
    kind: tuple((each.name, CHOICES[str(each.type)]) for each in fields(kind) if each.type in CHOICES)
    for kind in INSTRUCTIONS
}
"""For each class of instructions, its yes-or-no options with their values."""

NESTED: tuple[Modes, ...] = ((), *((mode,) for mode in GRAD_MODES), *product(GRAD_MODES, GRAD_MODES))
"""The grad modes that an instruction is put in."""


def varied(donor: Donor, random: Random) -> Donor:
    """Returns a donor with other grad modes, or with another value of one option."""
    step, modes = donor.step, donor.modes
    if switches_of(step) and random.random() < 0.5:
        step = _switched(step, random)
    elif not isinstance(step, Apply) or step.op in MODULES:  # other ops in grad modes are drawn often
        modes = random.choice(NESTED)
    return Donor(step, modes, donor.forms, numbers(facts_under(step, modes)))


def switches_of(step: Instruction) -> tuple[tuple[str, tuple[bool | None, ...]], ...]:
    """Returns the yes-or-no options of an instruction that may change, with their values."""
    if isinstance(step, Hook) and step.effect != EFFECTS[0]:
        return ()  # a hook that is called after accumulation can only observe
    return SWITCHES[type(step)]


def _switched(step: Instruction, random: Random) -> Instruction:
    name, choices = random.choice(switches_of(step))
    value = random.choice([each for each in choices if each is not getattr(step, name)])
    return replace(step, **{name: value})  # type: ignore[arg-type]
