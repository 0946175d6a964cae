"""Leaves that hold gradients: added to, cleared, not reached, not meant to have one."""

from __future__ import annotations

from collections.abc import Callable

from strategies.builder import Builder
from strategies.situations.base import situation


@situation
def accumulations(b: Builder) -> None:
    """Two to five backward calls that reach the same leaves: from one retained root, from several, or from rebuilt
    ones.
    """
    root = b.root()
    b.backward(root, retain=True)
    for _ in range(1 + b.below(4)):
        if b.below(3) == 2:
            root = b.root(2)
        b.backward(root, retain=True)


def _cleared(to_none: bool) -> Callable[[Builder], None]:
    def write(b: Builder) -> None:
        root = b.root(3)
        b.backward(root, retain=True)
        leaves = [leaf for leaf in b.leaves if b.requires(leaf)]
        b.zero(*leaves[: 1 + b.below(len(leaves))], to_none=to_none)
        for _ in range(b.below(3)):
            b.backward(root, retain=True)
            if b.below(2):
                b.zero(b.pick(leaves), to_none=to_none)

    write.__name__ = "cleared_to_none" if to_none else "cleared_to_zeros"
    write.__doc__ = f"Backward, clear some gradients to {'none' if to_none else 'zeros'}, perhaps backward again."
    return write


cleared_to_none = situation(_cleared(True))
cleared_to_zeros = situation(_cleared(False))


@situation
def unreached_leaves(b: Builder) -> None:
    """Leaves that the root does not depend on, with and without a gradient of their own."""
    other = b.leaf()
    if b.below(2):
        b.backward(b.nonlinear(other), cotangents=None)
    start = b.leaf()
    b.backward(b.beyond(b.nonlinear(start)), retain=b.pick((None, True)))


@situation
def constant_leaves(b: Builder) -> None:
    """A leaf that requires no grad, as an operand beside one that does."""
    value = b.required()
    constant = b.leaf(b.shape(value), requires_grad=False)
    if b.dtypes[constant] != b.dtypes[value]:
        constant = b.leaf(value=b.tensor(b.shape(value), b.dtypes[value]), requires_grad=False)
    if b.below(2):
        constant = b.apply(b.pick(b.having("negative", "sin", "tanh")), (constant,))[0]
    name = b.pick(b.having("multiply", "add", "subtract"))
    made = b.apply(name, (value, constant) if b.below(2) == 0 else (constant, value))[0]
    b.backward(b.beyond(made) if b.below(2) else made)
