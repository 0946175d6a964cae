"""Programs drawn for the rules about optimizers: steps of each formula, state between steps, parameter groups, clearing
and clipping.
"""

from __future__ import annotations

from autograd_conformance.ops.optimizers import IMPLEMENTATION
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.optimizers import OptimizerChoice, optimizer, variants
from autograd_conformance.strategies.situations.base import LEAF_SHAPES, action_situation, chain

BOUNDS = (1.0, 0.25, 4.0, 0.0625, 64.0)
"""The bounds to which gradients are clipped, by norm or by value."""


def _leaves(b: Draft, least: int = 1) -> list[Ref]:
    return [b.leaf_of(LEAF_SHAPES) for _ in range(least + b.below(3))]


def _others(b: Draft) -> list[Ref]:
    """Draws, with probability one half, a leaf that the optimizer does not have."""
    return [b.leaf_of(LEAF_SHAPES)] if b.below(2) else []


def _differentiate(b: Draft, leaves: list[Ref]) -> None:
    """Adds one backward call for each leaf, on a function of that leaf."""
    for leaf in leaves:
        b.actions.backward(chain(b, leaf, 2))


def _renew(b: Draft, leaves: list[Ref]) -> None:
    """Adds backward calls that compute new gradients, mostly after clearing the old ones."""
    if b.below(3) < 2:
        b.actions.zero_grad(*leaves, to_none=not b.below(2))
    _differentiate(b, leaves)


@action_situation
def steps(b: Draft, name: str | None = None) -> None:
    """Draws one to four iterations of forward, backward and an optimizer's step, each with a backward call that reaches
    one of the optimizer's leaves. Some iterations do not clear the gradients, so other leaves may have none or an old
    one.
    """
    leaves = _leaves(b)
    drawn = optimizer(b, len(leaves), name)
    for _ in range(1 + b.below(4)):
        b.actions.backward(chain(b, b.pick(leaves), 2))
        b.actions.step(leaves, *drawn)
        if b.below(2):
            b.actions.zero_grad(*leaves, to_none=not b.below(2))


@action_situation
def remembered(b: Draft, name: str | None = None) -> None:
    """Draws two to six steps of one optimizer on leaves that all have gradients each time."""
    leaves = _leaves(b)
    drawn = optimizer(b, len(leaves), name)
    _differentiate(b, leaves)
    b.actions.step(leaves, *drawn)
    for _ in range(1 + b.below(5)):
        _renew(b, leaves)
        b.actions.step(leaves, *drawn)


@action_situation
def skipped(b: Draft) -> None:
    """Draws optimizer steps in some of which a leaf has no gradient, mostly between steps that change the leaf."""
    b.alphabet.require_absent_grad()
    leaves = _leaves(b)
    drawn = optimizer(b, len(leaves))
    skipping = leaves[0]
    if b.below(4) < 3:
        _differentiate(b, leaves[: 1 + b.below(len(leaves))])
        b.actions.step(leaves, *drawn)
    b.actions.zero_grad(skipping)
    for _ in range(1 + b.below(2)):
        b.actions.step(leaves, *drawn)
    if b.below(4) < 3:
        _differentiate(b, leaves[: 1 + b.below(len(leaves))])
        b.actions.step(leaves, *drawn)


@action_situation
def grouped(b: Draft) -> None:
    """Draws optimizer steps on leaves in parameter groups with different settings."""
    b.require(Capability.OPTIMIZERS, Capability.GROUPS)
    leaves = _leaves(b, 2)
    drawn = optimizer(b, len(leaves), grouped=True)
    for _ in range(1 + b.below(3)):
        _renew(b, leaves)
        b.actions.step(leaves, *drawn)


@action_situation
def varied(b: Draft) -> None:
    """Draws steps of an optimizer in one of its implementations, such as PyTorch's foreach or fused ones."""
    b.require(Capability.OPTIMIZERS, Capability.FOREACH)
    leaves = _leaves(b)
    name, settings, groups = optimizer(b, len(leaves))
    if not any(key in IMPLEMENTATION for key, _ in settings):
        settings = (*settings, *b.pick(variants(b, name)))
    for _ in range(1 + b.below(3)):
        _renew(b, leaves)
        b.actions.step(leaves, name, settings, groups)


@action_situation
def layouts(b: Draft) -> None:
    """Draws optimizer steps on leaves that are not contiguous, or whose memory layout differs from their gradient's."""
    b.require(Capability.OPTIMIZERS, Capability.VIEWS, Capability.DETACH, Capability.SWITCHES, Capability.ASSIGNS)
    leaves = [_spread(b), *_leaves(b)[1:]]
    name, settings, groups = optimizer(b, len(leaves))
    if b.can(Capability.FOREACH) and b.below(2):
        settings = (*(pair for pair in settings if pair[0] not in IMPLEMENTATION), *b.pick(variants(b, name)))
    for _ in range(1 + b.below(3)):
        if len(b.shape(leaves[0])) == 2 and b.below(2):
            given = b.leaf(b.shape(leaves[0])[::-1], requires_grad=False)
            b.actions.assign_grad(leaves[0], b.apply("matrix_transpose", (given,))[0])
        else:
            _renew(b, leaves)
        b.actions.step(leaves, name, settings, groups)


def _spread(b: Draft) -> Ref:
    """Draws a leaf that is the detached slice or transpose of another value, or contiguous."""
    (transpose,) = b.available("matrix_transpose")
    base = b.leaf_of(((2, 3), (3, 2), (2, 2)), requires_grad=False)
    if b.requires(base):
        return base
    match b.below(3):
        case 0 if "select" in b.alphabet.ops:
            view = b.apply("select", (base,), (("dim", 1), ("index", b.below(2))))[0]
        case 1:
            view = b.apply(transpose, (base,))[0]
        case _:
            view = base
    leaf = b.detach(view)
    b.actions.set_requires_grad(leaf, True)
    return leaf


@action_situation
def kept_gradients(b: Draft) -> None:
    """Draws an optimizer's step, which must not change gradients, and perhaps a second step with the same gradients;
    other leaves may exist.
    """
    leaves = _leaves(b)
    drawn = optimizer(b, len(leaves))
    _differentiate(b, [*leaves, *_others(b)])
    for _ in range(1 + b.below(2)):
        b.actions.step(leaves, *drawn)


@action_situation
def cleared(b: Draft) -> None:
    """Draws gradients that are cleared for all leaves of an optimizer, whatever their parameter group, while other
    leaves keep theirs.
    """
    b.require(Capability.OPTIMIZERS, Capability.MAKES_OPTIMIZERS)
    leaves = _leaves(b)
    drawn: OptimizerChoice = optimizer(b, len(leaves))
    b.actions.make_optimizer(leaves, *drawn)
    _differentiate(b, [*leaves, *_others(b)])
    for _ in range(1 + b.below(2)):
        if b.below(2):
            b.actions.step(leaves, *drawn)
        b.actions.zero_grad(*leaves, to_none=not b.below(2))
        _differentiate(b, leaves[: 1 + b.below(len(leaves))])


@action_situation
def clipped(b: Draft) -> None:
    """Draws gradients clipped by norm or value, above or within the bound. Some leaves may have no gradient, or another
    dtype.
    """
    b.require(Capability.CLIPS)
    leaves = _leaves(b)
    others = [dtype for dtype in b.alphabet.dtypes if dtype != b.operands.dtype]
    if others and b.below(4) == 3:
        leaves.insert(0, b.leaf(value=b.operands.tensor(b.pick(b.alphabet.shapes(LEAF_SHAPES)), b.pick(others))))
    _differentiate(b, leaves[: b.below(len(leaves) + 1)])
    b.actions.clip(leaves, b.pick(("norm", "value")), b.pick(BOUNDS))
    if b.can(Capability.OPTIMIZERS) and b.below(2):
        b.actions.step(leaves, *optimizer(b, len(leaves)))
    if b.below(2):
        b.actions.backward(chain(b, b.pick(leaves), 2))
        b.actions.clip(leaves, b.pick(("norm", "value")), b.pick(BOUNDS))
