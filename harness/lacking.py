"""What a program asks of a framework that the framework does not claim."""

from __future__ import annotations

from autograd_conformance.frameworks.base import Target
from autograd_conformance.ops.needs import needs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Apply, Backward, Grad, InPlace, Leaf, Optimizer, Program, Step
from autograd_conformance.strategies.building.action_builder import writes_of


def lacking(program: Program, target: Target) -> set[str]:
    """What a program needs and a framework does not claim, in words: capabilities, ops, optimizers, dtypes, traits."""
    had = {Apply: set(target.ops), InPlace: set(writes_of(tuple(target.ops))[1])}
    ops = {step.op for step in program if isinstance(step, Apply | InPlace) and step.op not in had[type(step)]}
    missing = {need.value for need in needs(program) - target.capabilities} | {f"the op {op}" for op in ops}
    missing |= {f"the optimizer {name}" for name in _optimizers(program, target)}
    calls = [step for step in program if isinstance(step, Backward | Grad)]
    leaves = [step.value for step in program if isinstance(step, Leaf)]
    missing |= {leaf.dtype for leaf in leaves} - set(target.dtypes)
    shaped = target.traits.scalars and any(leaf.shape for leaf in leaves)
    twice = target.traits.distinct_roots and any(len({*call.roots}) < len(call.roots) for call in calls)
    missing |= {"a root that is given twice"} if twice else set()
    return missing | ({"tensors of several elements"} if shaped else set())


IMPLEMENTATIONS = {"foreach": Capability.FOREACH, "fused": Capability.FUSED}
"""The settings that choose an implementation, and what says that there is one."""


def _optimizers(program: Program, target: Target) -> set[str]:
    """The optimizers that a framework does not have, or not with the settings that a program gives them."""
    made = [step for step in program if isinstance(step, Step | Optimizer)]
    given = [
        (step.optimizer, settings) for step in made for settings in (step.settings, *(own for _, own in step.groups))
    ]
    ways = {way for way, claim in IMPLEMENTATIONS.items() if claim in target.capabilities}
    had = {name: {*settings, *ways} for name, settings in target.optimizers.items()}
    return {name for name, settings in given if not {setting for setting, _ in settings} <= had.get(name, set())}
