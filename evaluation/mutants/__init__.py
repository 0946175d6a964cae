"""Mutants: faulty frameworks with one fault each. What the suite is worth is how many of them it kills.

A mutant is an ordinary framework under test (`pytest --framework evaluation.mutants.accumulation:Overwrites`). Adding
one means a class of a few lines with a docstring that says exactly what its fault is, and the rules of which one has to
name it.
"""

from __future__ import annotations

from types import ModuleType

from evaluation.mutants import (
    accumulation,
    atomicity,
    cached,
    defaults,
    derivatives,
    detach,
    errors,
    forms,
    functional,
    gradient_objects,
    graphs,
    handed,
    higher,
    history,
    hooks,
    joint,
    lifetime,
    memory,
    modes,
    moved_hooks,
    optimizers,
    random_ops,
    recurrent,
    relations,
    sharing,
    stateful,
    traced,
    training,
    views,
    writes,
)
from evaluation.mutants.mutant import Mutant

FAMILIES: tuple[ModuleType, ...] = (
    accumulation, gradient_objects, forms, lifetime, graphs, derivatives, higher, detach, errors, atomicity, stateful,
    writes, views, sharing, modes, functional, hooks, moved_hooks, memory, relations, history, optimizers, recurrent,
    random_ops, training, handed, traced, cached, joint, defaults,
)  # fmt: skip


def mutants_of(module: ModuleType) -> list[type[Mutant]]:
    """The mutants of a family."""
    made_here = (c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__)
    return [c for c in made_here if issubclass(c, Mutant) and c.killed_by]


MUTANTS: dict[str, type[Mutant]] = {mutant.name: mutant for module in FAMILIES for mutant in mutants_of(module)}
"""Every mutant by its name."""
