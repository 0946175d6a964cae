"""Values cut off from their history, beside the values that keep it."""

from __future__ import annotations

from rules.catalogue import Needs
from strategies.builder import Builder
from strategies.situations.base import negative, situation


@situation
def detached_operands(b: Builder) -> None:
    """A detached value beside its source, or alone, in the way to the root."""
    source = b.nonlinear(b.required()) if b.below(2) else b.required()
    detached = b.detach(source)
    other = b.pick([source, b.leaf(b.shape(source))]) if b.dtypes[source] == b.dtype else source
    made = b.apply(b.pick(b.having("multiply", "add", "subtract")[:2]), (other, detached))[0]
    b.backward(b.beyond(made) if b.below(2) else made)


@situation
def detached_roots(b: Builder) -> None:
    """A backward call on a detached value, or on what was made from detached values only."""
    source = b.root(3)
    root = b.detach(source if b.can(Needs.COTANGENTS) else b.total(source))
    if b.below(3) == 2:
        root = b.nonlinear(root, negative(b))
    b.backward(root)


@situation
def detached_sources(b: Builder) -> None:
    """A value that was detached, perhaps used in its detached form, walked itself."""
    source = b.root(3)
    detached = b.detach(source)
    if b.below(2):
        b.nonlinear(detached)
    b.backward(b.beyond(source) if b.below(2) else source)
