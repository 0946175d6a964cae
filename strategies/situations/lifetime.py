"""Programs drawn for the rules about a graph's lifetime: graphs traversed twice, retained, freed in part, rebuilt, or
without saved tensors.
"""

from __future__ import annotations

from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.situations.base import (
    FREEING,
    joined,
    maybe_add_root,
    maybe_end_region,
    negative,
    situation,
)


@situation
def backward_twice(b: Draft) -> None:
    """Draws a backward call that frees its graph, then one on the same root, perhaps together with another root, and
    then perhaps one on each of the two roots.
    """
    root = b.ops.root()
    b.actions.backward(root, retain=b.pick(FREEING))
    b.ops.grow(0, 2)
    roots = maybe_add_root(b, root)
    b.actions.backward(*roots, retain=b.pick((None, False, True)))
    if len(roots) > 1 and b.below(2):
        for each in roots:
            b.actions.backward(each, retain=b.pick((None, True)))


@situation
def default_frees(b: Draft) -> None:
    """Draws a backward call without retain_graph, and another one on the same root."""
    root = b.ops.root()
    b.actions.backward(root)
    b.actions.backward(root)


@situation
def new_root_on_freed(b: Draft) -> None:
    """Draws a backward call that frees its graph, and one on a new root computed from a value inside that graph."""
    root = b.ops.root()
    b.actions.backward(root, retain=b.pick(FREEING))
    new = b.ops.successor(root)
    if b.below(2):
        new = b.ops.successor(new)
    b.actions.backward(*maybe_add_root(b, new), retain=b.pick((None, True)))


@situation
def late_retains(b: Draft) -> None:
    """Draws a backward call that frees its graph, and a later call on that graph with retain_graph=True."""
    root = b.ops.root()
    b.actions.backward(root, retain=b.pick(FREEING))
    b.actions.backward(*maybe_add_root(b, b.ops.successor(root) if b.below(3) == 2 else root), retain=True)


@situation
def last_calls(b: Draft) -> None:
    """Draws one to three backward calls that retain the graph, one that frees the graph, and one more."""
    root = b.ops.root()
    for _ in range(1 + b.below(3)):
        b.actions.backward(root, retain=True)
    b.actions.backward(*maybe_add_root(b, root), retain=b.pick(FREEING))
    b.actions.backward(*maybe_add_root(b, root), retain=b.pick((None, True)))


@situation
def retained(b: Draft) -> None:
    """Draws a graph traversed two to five times and retained until the last call, with ops and clearing of gradients in
    between.
    """
    root = b.ops.root()
    b.actions.backward(root, retain=True)
    for _ in range(b.below(4)):
        b.ops.grow(0, 1)
        if b.below(4) == 3:
            b.actions.zero_grad(
                b.pick([leaf for leaf in b.script.leaves if b.requires(leaf)]), to_none=bool(b.below(2))
            )
        b.actions.backward(
            b.choices.recent([r for r in b.script.live if r in b.script.saving]) if b.below(3) == 2 else root,
            retain=True,
        )
    b.actions.backward(root, retain=b.pick((None, True)))


@situation
def branches(b: Draft) -> None:
    """Draws a graph with two branches: a backward call on the first must not free the second."""
    left = b.ops.nonlinear(b.vector())
    if b.below(2):
        left = b.ops.successor(left)
    maybe_end_region(b)
    right = b.ops.nonlinear(b.vector())
    if b.below(2):
        right = b.ops.successor(right)
    maybe_end_region(b)
    whole = joined(b, [left, right])
    b.actions.backward(left, retain=b.pick(FREEING))
    b.actions.backward(*maybe_add_root(b, right), retain=b.pick((None, True)))
    if b.below(2):
        b.actions.backward(whole)


@situation
def independent_graphs(b: Draft) -> None:
    """Draws two graphs that share only leaves: one is freed and the other traversed."""
    shared = b.leaf_of(((3,), (2, 3), ()))
    first = b.ops.nonlinear(shared)
    maybe_end_region(b)
    other = negative(b)  # without it, the same op on the same leaf would build the first graph again
    deeper = b.below(2) or other is None
    second = b.ops.nonlinear(b.ops.successor(shared)) if deeper else b.ops.nonlinear(shared, other)
    b.actions.backward(first, retain=b.pick(FREEING))
    b.actions.backward(second, retain=b.pick((None, True)))


@situation
def rebuilt(b: Draft) -> None:
    """Draws a graph that is freed, built by the same ops from the same leaf, and traversed again, perhaps several
    times.
    """
    leaf = b.leaf_of(((3,), (2, 3), (), (1,)))
    names = [b.pick(b.ops.saving(leaf)) for _ in range(1 + b.below(4))]
    for _ in range(2 + b.below(3)):
        value = leaf
        for name in names:
            value = b.ops.nonlinear(value, name)
        b.actions.backward(value, retain=b.pick(FREEING))


@situation
def nothing_saved(b: Draft) -> None:
    """Draws a graph of ops that save no tensor, traversed two or three times without retaining the graph."""
    value = b.leaf_of(((3,), (2, 3), ()))
    linear = b.available("negative", "sum", "reshape", "expand_dims", "add")
    for _ in range(1 + b.below(4)):
        name = b.pick(linear)
        value = b.apply(name, (value, value))[0] if name == "add" else b.ops.draw(name, on=value)[0]
    for _ in range(2 + b.below(2)):
        b.actions.backward(value, retain=b.pick(FREEING))
