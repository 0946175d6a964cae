"""The parts of a program that a framework does not claim to support."""

from __future__ import annotations

from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.limits import outside
from autograd_conformance.ops.needs import needs
from autograd_conformance.ops.optimizers import IMPLEMENTATION
from autograd_conformance.ops.rows.shapes import form
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Apply, Backward, Grad, InPlace, Leaf, Optimizer, Program, Step
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.strategies.building.drafts.writes import writes_of


def unsupported_by(program: Program, target: Target) -> set[str]:
    """Returns the capabilities, ops, optimizers, dtypes and shapes that a program needs and the framework does not
    claim, in words, such as "the op matmul".
    """
    writes = writes_of(tuple(target.ops), tuple(name for name in WRITES if name in target.writes))[1]
    had = {Apply: set(target.ops), InPlace: set(writes)}
    ops = {step.op for step in program if isinstance(step, Apply | InPlace) and step.op not in had[type(step)]}
    missing = {need.value for need in needs(program) - target.capabilities} | {f"the op {op}" for op in ops}
    missing |= {each for step in program if isinstance(step, Step | Optimizer) for each in _settings(step, target)}
    leaves = [step.value for step in program if isinstance(step, Leaf)]
    missing |= {leaf.dtype for leaf in leaves} - set(target.dtypes)
    if target.traits.scalars and any(leaf.shape for leaf in leaves):
        missing.add("tensors of several elements")
    missing |= {form(leaf.shape) for leaf in leaves} & {*target.absent}
    calls = [step for step in program if isinstance(step, Backward | Grad)]
    if target.traits.distinct_roots and any(len({*call.roots}) < len(call.roots) for call in calls):
        missing.add("a root that is given twice")
    return missing | unsupported_forms(program, target)


def unsupported_forms(program: Program, target: Target) -> set[str]:
    """Returns the shapes and attributes of ops and writes in a program that the framework does not accept, in words."""
    limited = [step for step in program if isinstance(step, Apply | InPlace) and step.op in target.limits]
    if not limited:
        return set()
    values = Reference(program, target.traits).values
    forms = ((step, [np.shape(values[ref]) for ref in operands(step) if ref in values]) for step in limited)
    return {words for step, shapes in forms if (words := outside(target.limits, step.op, shapes, step.attrs))}


def partial_support(target: Target) -> tuple[str, ...]:
    """Returns the ops and in-place ops that a framework supports only in part, in words, such as "matmul: 1 or 2
    dimensions".
    """
    limits = tuple(f"{name}: {limit}" for name, limit in sorted(target.limits.items()))
    if Capability.WRITES not in target.capabilities or {*WRITES} <= {*target.writes}:
        return limits
    had, absent = (", ".join(name for name in WRITES if (name in target.writes) == there) for there in (True, False))
    return (*limits, f"writes: all but {absent}" if len(absent) < len(had) else f"writes: {had}")


def _settings(step: Step | Optimizer, target: Target) -> set[str]:
    """Returns the settings of an optimizer, in all its groups, that the framework's optimizer does not have, such as
    "sgd's fused"; the optimizer itself if the framework has none of that name.
    """
    if step.optimizer not in target.optimizers:
        return {f"the optimizer {step.optimizer}"}
    had = {*target.optimizers[step.optimizer], *IMPLEMENTATION}
    given = {name for settings in (step.settings, *(own for _, own in step.groups)) for name, _ in settings}
    return {f"{step.optimizer}'s {name}" for name in given - had}
