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
    default_dtype,
    derivatives,
    detach,
    errors,
    forms,
    functional,
    gradient_objects,
    graphs,
    higher,
    hooks,
    hooks_and_writes,
    lifetime,
    memory,
    modes,
    optimizers,
    process_state,
    random_ops,
    recurrent,
    region_caches,
    region_code,
    region_nodes,
    region_values,
    relations,
    sharing,
    stateful,
    training,
    views,
    writes,
)
from evaluation.mutants.mutant import Mutant

FAMILIES: tuple[ModuleType, ...] = (
    accumulation, gradient_objects, forms, lifetime, graphs, derivatives, higher, detach, errors, atomicity, stateful,
    writes, views, sharing, modes, functional, hooks, hooks_and_writes, memory, relations, process_state, optimizers,
    recurrent, random_ops, training, region_values, region_code, region_caches, region_nodes, default_dtype,
)  # fmt: skip


def mutants_of(module: ModuleType) -> list[type[Mutant]]:
    """The mutants of a family."""
    made_here = (c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__)
    return [c for c in made_here if issubclass(c, Mutant) and c.killed_by]


MUTANTS: dict[str, type[Mutant]] = {mutant.name: mutant for module in FAMILIES for mutant in mutants_of(module)}
"""Every mutant by its name."""
