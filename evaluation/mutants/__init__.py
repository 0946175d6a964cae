"""Mutants: frameworks with one fault each. The share of mutants that the suite kills measures the suite.

A mutant is an ordinary framework under test (`pytest --framework evaluation.mutants.accumulation:Overwrites`). To add a
mutant, write a class of a few lines. Its docstring states its fault, and `killed_by` lists the rules of which one has
to be reported.
"""

from __future__ import annotations

from types import ModuleType

from evaluation.mutants import (
    accumulation,
    around,
    atomicity,
    autocast,
    batches,
    complex_numbers,
    custom,
    default_dtype,
    derivatives,
    detach,
    errors,
    few_digits,
    forms,
    forward,
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
    precision,
    process_state,
    random_ops,
    recurrent,
    region_caches,
    region_code,
    region_modes,
    region_nodes,
    region_values,
    relations,
    saved,
    scaled,
    sharing,
    stateful,
    training,
    views,
    writes,
)
from evaluation.mutants.mutant import Faulty

FAMILIES: tuple[ModuleType, ...] = (
    accumulation, gradient_objects, forms, lifetime, graphs, derivatives, complex_numbers, higher, detach, errors,
    atomicity, stateful, writes, views, sharing, modes, functional, hooks, hooks_and_writes, memory, relations,
    process_state, optimizers, recurrent, random_ops, training, region_values, region_code, region_caches,
    region_nodes, region_modes, default_dtype, few_digits, precision, autocast, forward, batches, saved, scaled,
    custom, around,
)  # fmt: skip


def mutants_of(module: ModuleType) -> list[type[Faulty]]:
    """The mutants of a family, which is a module."""
    made_here = (c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__)
    return [c for c in made_here if issubclass(c, Faulty) and c.killed_by]


MUTANTS: dict[str, type[Faulty]] = {mutant.name: mutant for module in FAMILIES for mutant in mutants_of(module)}
"""All mutants, by name."""
