"""Sixty-one facts about PyTorch's autograd: the part of each that is a rule, and the reason why the rest is not."""

from __future__ import annotations

from autograd_conformance.claims.facts.calls import CALLING, LIFETIME
from autograd_conformance.claims.facts.fact import Fact as Fact
from autograd_conformance.claims.facts.gradients import ACCUMULATION, FUNCTIONAL
from autograd_conformance.claims.facts.hooks_and_rest import HOOKS, REST
from autograd_conformance.claims.facts.values import HISTORY, WRITES

GROUPS: dict[str, tuple[Fact, ...]] = {
    "Calling backward": CALLING,
    "Graph lifetime": LIFETIME,
    "Accumulation": ACCUMULATION,
    "Inputs, and the functional form": FUNCTIONAL,
    "Leaves, detaching, grad modes": HISTORY,
    "Writes in place": WRITES,
    "Hooks": HOOKS,
    "Functions, transforms, checkpoints, optimizers": REST,
}
"""The facts about PyTorch's autograd by topic, such as ``Calling backward``, in the order of their numbers."""

FACTS: dict[str, Fact] = {fact.key: fact for group in GROUPS.values() for fact in group}
"""All facts about PyTorch's autograd by number, from ``R1`` to ``R61``."""
