"""The functions that a compiler makes of a program, as it distinguishes them: by the ops of each region (instructions
that run as one compiled function), and by the shapes and dtypes of its inputs.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable

from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.programs.language import Leaf, Program, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.regions import region_key
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building.drawn import Drawn


def compiled_regions(case: Program | Drawn | Related, target: Target) -> Collection[Hashable]:
    """Returns keys of the distinct regions, instructions that run as one compiled function, of a program or of two
    related programs. Regions with equal keys are compiled once.
    """
    match case:
        case Related(first=first, second=second):
            return {*compiled_regions(first, target), *compiled_regions(second, target)}
        case Drawn(program, reference):
            return _compiled_regions(program, reference, target)
        case Program():
            return _compiled_regions(case, Reference(case, target.traits), target)


def _compiled_regions(program: Program, reference: Reference, target: Target) -> set[Hashable]:
    found = target.regions(program)
    dtypes = frozenset(step.value.dtype for step in program if isinstance(step, Leaf)) if found else frozenset()
    return {
        (region_key(program, region), tuple(_kind(program, ref, reference) for ref in region.inputs), dtypes)
        for region in found
    }


def _kind(program: Program, ref: Ref, reference: Reference) -> Hashable:
    """Returns the properties of an input that a compiler checks before it uses a compiled function again: its shape,
    `requires_grad`, and a leaf's dtype or the kind of instruction that made the input.
    """
    step = program[ref.at]
    made = step.value.dtype if isinstance(step, Leaf) else type(step)
    value = reference.values.get(ref)
    return None if value is None else np.shape(value), reference.requires_grad.get(ref), made
