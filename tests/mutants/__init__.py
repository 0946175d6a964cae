"""The zoo: faulty frameworks, each of which tells one lie. What the suite is worth is how many of them it catches.

Every member is an ordinary framework under test (`pytest --framework tests.mutants.accumulation:Overwrites`). Adding
one means a class of a few lines with a docstring that says exactly how it lies, and the rules of which one has to
name it.
"""

from __future__ import annotations

from types import ModuleType

from tests.mutants import (
    accumulation,
    chance,
    derivatives,
    detaching,
    errors,
    functional,
    graphs,
    higher,
    history,
    holding,
    hooks,
    lifetime,
    memory,
    modes,
    optimizers,
    recurrent,
    relations,
    stateful,
    torn,
    training,
    views,
    writes,
)
from tests.mutants.kit import Member

FAMILIES: tuple[ModuleType, ...] = (
    accumulation, holding, lifetime, graphs, derivatives, higher, detaching, errors, torn, stateful, writes, views,
    modes, functional, hooks, memory, relations, history, optimizers, recurrent, chance, training,
)  # fmt: skip


def members_of(module: ModuleType) -> list[type[Member]]:
    """The members of a family."""
    made_here = (c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__)
    return [c for c in made_here if issubclass(c, Member) and c.caught_by]


ZOO: dict[str, type[Member]] = {member.name: member for module in FAMILIES for member in members_of(module)}
"""Every member by its name."""
