"""What a program asks of a framework that the framework does not claim."""

from __future__ import annotations

from autograd_conformance.frameworks.base import Target
from autograd_conformance.ops.needs import needs
from autograd_conformance.ops.optimizers import IMPLEMENTATION
from autograd_conformance.programs.language import Apply, Backward, Grad, InPlace, Leaf, Optimizer, Program, Step
from autograd_conformance.strategies.building.action_builder import writes_of


def lacking(program: Program, target: Target) -> set[str]:
    """What a program needs and a framework does not claim, in words: capabilities, ops, optimizers, dtypes, traits."""
    had = {Apply: set(target.ops), InPlace: set(writes_of(tuple(target.ops))[1])}
    ops = {step.op for step in program if isinstance(step, Apply | InPlace) and step.op not in had[type(step)]}
    missing = {need.value for need in needs(program) - target.capabilities} | {f"the op {op}" for op in ops}
    missing |= {each for step in program if isinstance(step, Step | Optimizer) for each in _settings(step, target)}
    leaves = [step.value for step in program if isinstance(step, Leaf)]
    missing |= {leaf.dtype for leaf in leaves} - set(target.dtypes)
    if target.traits.scalars and any(leaf.shape for leaf in leaves):
        missing.add("tensors of several elements")
    calls = [step for step in program if isinstance(step, Backward | Grad)]
    if target.traits.distinct_roots and any(len({*call.roots}) < len(call.roots) for call in calls):
        missing.add("a root that is given twice")
    return missing


def _settings(step: Step | Optimizer, target: Target) -> set[str]:
    """The settings of an optimizer, those of groups among them, that the framework's own does not know; the optimizer
    where it has none.
    """
    if step.optimizer not in target.optimizers:
        return {f"the optimizer {step.optimizer}"}
    had = {*target.optimizers[step.optimizer], *IMPLEMENTATION}
    given = {name for settings in (step.settings, *(own for _, own in step.groups)) for name, _ in settings}
    return {f"{step.optimizer}'s {name}" for name in given - had}
