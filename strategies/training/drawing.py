"""Drawing plans: the simplest is one iteration of one layer, plain SGD, no mistake."""

from __future__ import annotations

from collections.abc import Sequence

from rules.catalogue import Needs
from strategies.actor import Actor
from strategies.draft import Undrawable
from strategies.optimizing import Drawn, optimizer
from strategies.tensors import raw
from strategies.training.nets import ACTIVATIONS, SMOOTH
from strategies.training.plan import PATTERNS, Clearing, Mistake, Pattern, Plan

LOSSES = ("mse_loss", "bce_with_logits", "soft_margin_loss", "poisson_nll_loss", "cross_entropy")
"""Losses, the simplest first; from the second or so on they are differentiated once."""

DATA = 24
"""How many bytes all numbers of a loop come from."""

BOUNDS = (0.25, 0.0625, 1.0)
ALWAYS = ("linear", "linear_bias", "tanh", "mse_loss", "add", "mean")
"""Ops without which no loop can be written."""


def planned(b: Actor, pattern: Pattern, mistakes: Sequence[Mistake] | None = None) -> Plan:
    """A plan of a pattern; its mistakes are drawn where none are given."""
    b.claims(Needs.OPTIMIZERS, Needs.IMPERATIVE, *pattern.needs)
    for op in (*ALWAYS, "multiply", "multiply_scalar", "subtract", "square"):
        b.having(op)
    made = _mistakes(b, pattern) if mistakes is None else frozenset(mistakes)
    ways = pattern.ways_of(made)
    iterations = 1 + b.below(8)
    layers = 1 + b.pick((0, 1, 1, 2))
    bias = b.below(2) == 1
    several = [name for name in (ACTIVATIONS if pattern.order == 1 else SMOOTH) if name in _ops(b, pattern)]
    few = [name for name in (LOSSES if pattern.order == 1 else LOSSES[:2]) if name in _ops(b, pattern)]
    out = 1 + b.below(2)
    loss = b.pick(few)
    return Plan(
        pattern.name,
        b.dtype,
        iterations,
        layers,
        bias,
        b.pick(several) if layers > 1 else "tanh",
        loss if loss != "cross_entropy" or out > 1 else "mse_loss",
        b.pick(("mean", "sum")),
        b.pick((2, 3)),
        out,
        b.pick((2, 1, 3)),
        b.pick(pattern.counts),
        b.pick(ways),
        tuple(_optimizer(b, owned * layers * (1 + bias)) for owned in pattern.owns),
        b.pick(tuple(Clearing)),
        b.below(3) < 2,
        _clip(b, pattern),
        b.below(2) == 1,
        b.below(4) < 3,
        b.draw(raw(DATA)),
        made,
    )


def _ops(b: Actor, pattern: Pattern) -> Sequence[str]:
    """The ops that may be differentiated as often as the pattern does."""
    return (b.alphabet.ops, b.alphabet.twice.ops, b.alphabet.thrice.ops)[pattern.order - 1]


def _optimizer(b: Actor, leaves: int) -> Drawn:
    return optimizer(b, (None,) * leaves)  # type: ignore[arg-type]


def _clip(b: Actor, pattern: Pattern) -> tuple[str, float] | None:
    if not pattern.clips and (not b.can(Needs.CLIPS) or b.below(4) < 3):
        return None
    return b.pick(("norm", "value")), b.pick(BOUNDS)


def _mistakes(b: Actor, pattern: Pattern) -> frozenset[Mistake]:
    """No mistake, half of the time; or one, now and then two that can be made together."""
    options = [mistake for mistake, _ in pattern.mistakes]
    drawn = frozenset(b.pick(options) for _ in range((0, 0, 0, 1, 1, 2)[b.below(6)]))
    return drawn if pattern.ways_of(drawn) else frozenset()


def names(b: Actor) -> tuple[str, ...]:
    """The patterns that a framework can run."""
    found = tuple(name for name, row in PATTERNS.items() if b.can(*row.needs))
    if not found or not b.can(Needs.OPTIMIZERS):
        raise Undrawable("the framework claims no optimizers")
    return found
