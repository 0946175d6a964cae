"""Programs drawn for the rules about networks made of a framework's modules, and about random ops: one or several
backward calls on some or all results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.ops.rows.row import choices_of
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs, Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.networks import Network, convolutional, layer_norm, linear, mlp, transformer
from autograd_conformance.strategies.networks.network import WEIGHT
from autograd_conformance.strategies.situations.base import LEAF_SHAPES, chain, plain_situation

KINDS: tuple[Callable[[Draft], Network], ...] = (
    lambda b: linear(b, 2, 1 + b.below(3), bool(b.below(3)), frozen=True),
    lambda b: mlp(b, 1 + b.below(3), 2, frozen=True),
    lambda b: convolutional(b, frozen=True),
    lambda b: convolutional(b, norm=b.pick(("nn_batch_norm", "nn_batch_norm_eval")), frozen=True),
    lambda b: layer_norm(b, frozen=True),
    lambda b: transformer(b, "attention", frozen=True),
    lambda b: transformer(b, "attention", True, frozen=True),
    lambda b: transformer(b, "encoder", frozen=True),
)


def network(b: Draft) -> Network:
    """Draws a network made of the framework's modules, of any kind except recurrent ones. Some parameters may require
    no grad.
    """
    made = b.pick(KINDS)(b)
    made.needs_modules(b)
    return made


def roots(b: Draft, results: Sequence[Ref]) -> list[Ref]:
    """Draws the roots of a backward call: all results of a network, one of them, a value computed from one, or a
    loss.
    """
    match b.pick(("one", "all", "loss", "beyond")):
        case "all":
            return list(results)
        case "loss":
            return [b.ops.total(b.ops.nonlinear(b.pick(results)))]
        case "beyond":
            return [b.ops.successor(b.pick(results))]
    return [b.pick(results)]


def passes_and_calls(b: Draft, made: Network, once: bool) -> None:
    """Adds one or two forward passes of a network, and backward calls on their results. With `once`, there is one pass
    and one call; otherwise calls may retain the graph.
    """
    passes = []
    for _ in range(1 if once else 1 + b.below(2)):
        inputs = made.inputs(b, bool(b.below(3)))
        if b.below(4) == 3:  # an input need not be a leaf
            inputs[0] = b.ops.nonlinear(inputs[0])
        passes.append(made.module(b, *inputs))
    for results in passes:
        begin = roots(b, results)
        if not once:
            for _ in range(b.below(3)):
                b.actions.backward(*begin, retain=True)
                begin = roots(b, results)
        b.actions.backward(*begin)


@plain_situation
def single(b: Draft) -> None:
    """Draws a network, one forward pass, and one backward call on its results."""
    passes_and_calls(b, network(b), once=True)


@plain_situation
def several(b: Draft) -> None:
    """Draws a network, one or two forward passes, and backward calls that may retain the graph."""
    passes_and_calls(b, network(b), once=False)


@plain_situation
def chained(b: Draft) -> None:
    """Draws two networks, of which the second is called on the first one's result and may be the first one again, and
    backward calls on the results.
    """
    width = 2
    first = mlp(b, width, width, 1 + b.below(2))
    first.needs_modules(b)
    second = first if b.below(3) == 2 else linear(b, width, 1 + b.below(2))
    x = b.leaf((2, width), bool(b.below(2)), WEIGHT)
    (inner,) = first.module(b, x)
    (out,) = second.call(b, b.ops.nonlinear(inner))
    if b.below(3) == 2:
        b.actions.backward(inner, retain=True)
    b.actions.backward(*roots(b, [out]))


NOISES = ("random_normal", "random_uniform")


def _claims(b: Draft) -> None:
    """Raises `Unsupported` unless the framework has all random ops."""
    b.require(Capability.RANDOM)
    missing = [name for name in RANDOM_OPS if name not in b.alphabet.modules]
    if missing:
        raise Unsupported(f"the framework has no {' or '.join(missing)}")


def _attributes(b: Draft, name: str, value: Ref) -> Attrs:
    return b.pick(choices_of(RANDOM_OPS[name], (b.shape(value),)))


@plain_situation
def dropouts(b: Draft) -> None:
    """Draws dropout once or several times, with fresh masks or the same one, and backward calls through it."""
    _claims(b)
    leaf = b.leaf_of(LEAF_SHAPES)
    value = chain(b, leaf, 2) if b.below(2) else leaf
    for _ in range(1 + b.below(3)):
        attrs = _attributes(b, "dropout_mask", value)
        (mask,) = b.apply("dropout_mask", (value,), attrs)
        for _ in range(1 + b.below(2)):
            (dropouts,) = b.apply("dropout", (value, mask), attrs)
        value = chain(b, dropouts, 1) if b.below(2) else dropouts
    keep = True if b.can(Capability.RETAIN) and b.below(2) else None
    b.actions.backward(value, retain=keep)
    if keep:
        b.actions.backward(value)


@plain_situation
def noisy(b: Draft) -> None:
    """Draws samples that are a location plus a scale times random noise, and a backward call on each; for the gradients
    the noise is a constant.
    """
    _claims(b)
    location = b.leaf_of(LEAF_SHAPES)
    scale = b.leaf(b.shape(location))
    for _ in range(1 + b.below(2)):
        name = b.pick(NOISES)
        (noise,) = b.apply(name, (location,), _attributes(b, name, location))
        (spread,) = b.apply("multiply", (scale, noise))
        (sample,) = b.apply("add", (location, spread))
        b.actions.backward(chain(b, sample, 2))
