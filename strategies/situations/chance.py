"""Random ops: dropout with masks that were seen, and noise that a computation takes as a constant."""

from __future__ import annotations

from rules.catalogue import Needs
from rules.language import Attrs, Ref
from rules.ops.chance import CHANCE
from rules.ops.op import choices_of
from strategies.actor import Actor
from strategies.draft import Undrawable
from strategies.situations.base import history
from strategies.situations.stateful import SHAPES, chain

NOISES = ("random_normal", "random_uniform")


def _claims(b: Actor) -> None:
    """Give up unless the framework has random ops."""
    b.claims(Needs.RANDOM)
    missing = [name for name in CHANCE if name not in b.alphabet.modules]
    if missing:
        raise Undrawable(f"the framework does not have: {', '.join(missing)}")


def _attributes(b: Actor, name: str, value: Ref) -> Attrs:
    return b.pick(choices_of(CHANCE[name], (b.shape(value),)))


@history
def dropped(b: Actor) -> None:
    """Dropout once or several times, with a seed of its own or with the same one, and calls through it."""
    _claims(b)
    leaf = b.leaf(b.pick(SHAPES))
    value = chain(b, leaf, 2) if b.below(2) else leaf
    for _ in range(1 + b.below(3)):
        attrs = _attributes(b, "dropout_mask", value)
        (mask,) = b.apply("dropout_mask", (value,), attrs)
        for _ in range(1 + b.below(2)):
            (dropped,) = b.apply("dropout", (value, mask), attrs)
        value = chain(b, dropped, 1) if b.below(2) else dropped
    keep = True if b.can(Needs.RETAIN) and b.below(2) else None
    b.call(value, retain=keep)
    if keep:
        b.call(value)


@history
def noisy(b: Actor) -> None:
    """A location and a scale with noise between them: the noise is a constant, whatever it was drawn for."""
    _claims(b)
    location = b.leaf(b.pick(SHAPES))
    scale = b.leaf(b.shape(location))
    for _ in range(1 + b.below(2)):
        name = b.pick(NOISES)
        (noise,) = b.apply(name, (location,), _attributes(b, name, location))
        (spread,) = b.apply("multiply", (scale, noise))
        (sample,) = b.apply("add", (location, spread))
        b.call(chain(b, sample, 2))
