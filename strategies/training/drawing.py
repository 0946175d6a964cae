"""Draws plans of training loops. The simplest is one iteration, one layer, plain SGD, no bug."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.rules.situations import TRAINING_OPS
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.optimizers import optimizer
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.training.nets import ACTIVATIONS, SMOOTH, draw_separately
from autograd_conformance.strategies.training.patterns import PATTERNS, Pattern
from autograd_conformance.strategies.training.plan import Clearing, LoopBug, Plan

LOSSES = ("mse_loss", "bce_with_logits", "soft_margin_loss", "poisson_nll_loss", "cross_entropy")
"""Losses, simplest first. Only the first two are used in patterns that differentiate gradients."""

DATA = 24
"""Number of drawn bytes from which a loop's batches, targets and plain parameters are made."""

LAYERS = (1, 2, 2, 3)
ITERATIONS = (1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 6, 7, 8)
"""Numbers of iterations, drawn evenly. Most faults show after two or three, and short loops find more per second."""

CHOICES = 12
BOUNDS = (0.25, 0.0625, 1.0)


def drawn_plan(b: Draft, pattern: Pattern, bugs: Sequence[LoopBug] | None = None) -> Plan:
    """Draws a plan of a training loop of one pattern, with the given bugs or drawn ones.

    Except for the optimizers, every pattern draws the same choices in the same order, so a failure of one pattern
    shrinks to the simplest pattern that shows it.
    """
    b.require(Capability.OPTIMIZERS, Capability.IMPERATIVE, *pattern.needs)
    for op in TRAINING_OPS:
        b.available(op)
    drawn = _bugs(b, pattern)
    made = drawn if bugs is None else frozenset(bugs)
    able = _ops(b, pattern)
    activations = [name for name in (ACTIVATIONS if pattern.order == 1 else SMOOTH) if name in able]
    losses = [name for name in (LOSSES if pattern.order == 1 else LOSSES[:2]) if name in able]
    iterations, layers, bias = ITERATIONS[b.below(len(ITERATIONS))], LAYERS[b.below(len(LAYERS))], b.below(2) == 1
    activation, loss, reduction = _pick(b, activations), _pick(b, losses), b.pick(("mean", "sum"))
    wide, out, batch = b.pick((2, 3)), b.pick((1, 2)), b.pick((2, 1, 3))
    count, variant = _pick(b, pattern.counts), _pick(b, pattern.variants_of(made))
    clearing, to_none = b.pick(tuple(Clearing)), b.below(3) < 2
    clips, kind, bound = b.below(4) == 3, b.pick(("norm", "value")), b.pick(BOUNDS)
    fresh, deletes, data = b.below(2) == 1, b.below(4) < 3, b.choices.raw(DATA)
    plan = Plan(
        pattern.name, b.operands.dtype, iterations=iterations, layers=layers, bias=bias, reduction=reduction,
        wide=wide, out=out, batch=batch, count=count, variant=variant, optimizers=(), clearing=clearing,
        to_none=to_none, fresh=fresh, deletes=deletes, data=data, bugs=made,
        activation=activation if layers > 1 else "tanh",
        loss=loss if loss != "cross_entropy" or out > 1 else "mse_loss",
        clip=(kind, bound) if pattern.clips or (clips and b.can(Capability.CLIPS)) else None,
    )  # fmt: skip
    return _with_optimizers(b, pattern, plan)


def _with_optimizers(b: Draft, pattern: Pattern, plan: Plan) -> Plan:
    """Returns the plan with a drawn optimizer for each set of parameters and, one time in four, with drawn networks."""
    sizes = [plan.layers * (1 + plan.bias)] * len(pattern.networks)
    if b.below(4) == 3 and pattern.order == 1:
        networks = [draw_separately(b, plan.widths(*ends), plan.layers) for ends in pattern.networks]
        plan, sizes = replace(plan, networks=tuple(drawn for drawn, _ in networks)), [size for _, size in networks]
    rest = iter(sizes)
    leaves = [sum(next(rest) for _ in range(owned)) for owned in pattern.owns]
    return replace(plan, optimizers=tuple(optimizer(b, each) for each in leaves))


def _pick(b: Draft, options: Sequence[Any]) -> Any:
    """Draws one of some options, by a number that is drawn from the same range whatever the number of options."""
    return options[b.below(CHOICES) % len(options)]


def _ops(b: Draft, pattern: Pattern) -> Sequence[str]:
    """Returns the ops that can be differentiated as often as the pattern does."""
    return (b.alphabet.ops, b.alphabet.second_order.ops, b.alphabet.third_order.ops)[pattern.order - 1]


def _bugs(b: Draft, pattern: Pattern) -> frozenset[LoopBug]:
    """Draws a set of the pattern's bugs: none in half of the draws, else one, or sometimes two that can occur in the
    same variant.
    """
    options = [bug for bug, _ in pattern.bugs]
    number = (0, 0, 0, 1, 1, 2)[b.below(6)]
    drawn = frozenset([_pick(b, options) for _ in range(2)][:number])
    return drawn if pattern.variants_of(drawn) else frozenset()


def runnable(b: Draft) -> tuple[str, ...]:
    """Returns the names of the training-loop patterns that the framework supports."""
    found = tuple(name for name, row in PATTERNS.items() if b.can(*row.needs))
    if not found or not b.can(Capability.OPTIMIZERS):
        raise Unsupported("needs optimizers, not claimed")
    return found
