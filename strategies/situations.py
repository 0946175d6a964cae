"""One strategy for each situation that a rule is about: what makes the rule bite is built in, the rest is drawn.

A situation is a few lines over the builder. Ops, shapes, values, depths and the noise between the calls vary; that the root was
walked before, that the graph was retained, that two leaves are equal, does not.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from rules.catalogue import Needs
from rules.language import Leaf, Literal, Program, Ref
from rules.ops import OPS
from rules.ops.op import choices_of
from strategies.builder import Builder, Draw, Undrawable

Programs = st.SearchStrategy[Program]

FREEING = (None, False)

SEVERAL = ("split", "unstack", "chunk", "slogdet", "tensor_split")
"""Ops with several results."""


def situation(write: Callable[..., None]) -> Callable[..., Programs]:
    """The strategy of the programs that `write` puts into a builder."""

    @st.composite
    def drawn(draw: Draw, *args: object) -> Program:
        builder = Builder(draw)
        write(builder, *args)
        return builder.program()

    drawn.__name__, drawn.__doc__ = write.__name__, write.__doc__
    return drawn


# -- gradients ---------------------------------------------------------------------------------------------------------


@situation
def single_ops(b: Builder, name: str) -> None:
    """One op on fresh leaves, and a backward call from its results."""
    made = b.op(name, fresh=True)
    if not b.requires(made[0]):
        return
    roots = made if len(made) == 1 or b.below(2) == 0 else [b.pick(made)]
    b.backward(*roots)


@situation
def whole_graphs(b: Builder) -> None:
    """A graph of one to twelve ops and one backward call from a late value."""
    b.leaf()
    b.grow(1, 12)
    root = b.recent(b.made() or [b.leaf()])
    b.backward(root)


@situation
def fan_outs(b: Builder) -> None:
    """One value used two to ten times, its uses joined again."""
    value = b.required() if b.below(2) else b.nonlinear(b.required())
    uses = [b.beyond(value) for _ in range(2 + b.below(9))]
    b.backward(_joined(b, uses) if b.below(4) < 3 else b.recent(uses))


def _joined(b: Builder, values: list[Ref]) -> Ref:
    """One value that depends on all the given ones."""
    (sum,), join = b.having("sum"), b.having("add", "subtract")[0]
    totals = [b.apply(sum, (v,), choices_of(OPS[sum], (b.shape(v),))[0])[0] for v in values]
    total = totals[0]
    for other in totals[1:]:
        if b.dtypes[other] == b.dtypes[total]:
            total = b.apply(join, (total, other))[0]
    return total


@situation
def same_arguments(b: Builder) -> None:
    """An op that takes the same value in two places, in a graph around it."""
    b.grow(0, 3)
    value = b.required()
    pairs = b.having("multiply", "add", "subtract", "atan2", "hypot")
    name = b.pick(pairs)
    if not OPS[name].domain(0).holds(b.reference.values[value]) or not OPS[name].domain(1).holds(b.reference.values[value]):
        name = pairs[0]
    made = b.apply(name, (value, value))[0]
    b.backward(b.beyond(made) if b.below(2) else made)


@situation
def several_results(b: Builder) -> None:
    """An op with several results, of which one, some or all go on to the root."""
    b.having(*SEVERAL)
    made = b.op(b.pick([n for n in b.alphabet.ops if n in SEVERAL]), on=b.required())
    chosen = [r for r in made if b.requires(r)][: 1 + b.below(len(made))]
    if not chosen:
        return
    roots = [b.beyond(r) if b.below(2) else r for r in chosen]
    if b.can(Needs.MULTIPLE_ROOTS) and b.below(2):
        b.backward(*roots)
    else:
        b.backward(_joined(b, roots))


@situation
def several_roots(b: Builder) -> None:
    """One backward call over two or three roots, some sharing a subgraph, some the same."""
    first = b.root()
    second = b.pick([b.beyond(first), first, b.root(2)] if b.below(2) else [b.beyond(first)])
    roots = [first, second] + ([b.recent(b.made())] if b.below(3) == 2 else [])
    b.backward(*roots)


@situation
def weighted_roots(b: Builder) -> None:
    """A root with a cotangent that is not all ones."""
    root = b.root()
    shape = b.shape(root)
    value = b.tensor(shape, b.dtypes[root])
    data = tuple(2.0 if n == 0 and x == 1.0 else x for n, x in enumerate(value.data))
    b.backward(root, cotangents=[Literal(data, shape, b.dtypes[root])])


@situation
def equal_leaves(b: Builder) -> None:
    """Two leaves of equal values that go different ways into one root."""
    first = b.leaf(b.pick(((3,), (2,), (), (2, 3))))
    step = b.reference.steps[first.at]
    assert isinstance(step, Leaf)
    second = b.leaf(value=step.value)
    left = b.nonlinear(first)
    right = b.beyond(second) if b.below(2) else second
    b.backward(_joined(b, [left, right]))


@situation
def forms(b: Builder) -> None:
    """Leaves of every rank, with dimensions of zero and one, that reach a root through few ops."""
    shapes = ((), (1,), (0,), (2, 1), (0, 3), (2, 2, 3), (1, 2, 1, 2), (2, 3))
    value = b.leaf(b.pick(shapes))
    made = b.nonlinear(value) if b.below(2) else b.beyond(value)
    b.backward(b.beyond(made) if b.below(2) else made)


# -- accumulation --------------------------------------------------------------------------------------------------------


@situation
def accumulations(b: Builder) -> None:
    """Two to five backward calls that reach the same leaves: from one retained root, from several, or from rebuilt ones."""
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
    name = b.pick(b.having("multiply", "add", "subtract"))
    made = b.apply(name, (value, constant) if b.below(2) == 0 else (constant, value))[0]
    b.backward(b.beyond(made) if b.below(2) else made)


def _negative(b: Builder) -> str | None:
    """The simplest op that saves nothing, where there is one."""
    return "negative" if "negative" in b.alphabet.ops else None


# -- lifetime --------------------------------------------------------------------------------------------------------------


@situation
def walked_twice(b: Builder) -> None:
    """A root walked without keeping its graph, then walked again."""
    root = b.root()
    b.backward(root, retain=b.pick(FREEING))
    b.grow(0, 2)
    b.backward(root, retain=b.pick((None, False, True)))


@situation
def default_frees(b: Builder) -> None:
    """A root walked with retain_graph left out, then walked again."""
    root = b.root()
    b.backward(root)
    b.backward(root)


@situation
def new_root_on_freed(b: Builder) -> None:
    """A freed graph, and a new root built on a value inside it."""
    root = b.root()
    b.backward(root, retain=b.pick(FREEING))
    new = b.beyond(root)
    if b.below(2):
        new = b.beyond(new)
    b.backward(new, retain=b.pick((None, True)))


@situation
def late_retains(b: Builder) -> None:
    """A freed graph, and a later call that asks to keep it."""
    root = b.root()
    b.backward(root, retain=b.pick(FREEING))
    b.backward(b.beyond(root) if b.below(3) == 2 else root, retain=True)


@situation
def last_calls(b: Builder) -> None:
    """One to three calls that retain, one that does not, and one more."""
    root = b.root()
    for _ in range(1 + b.below(3)):
        b.backward(root, retain=True)
    b.backward(root, retain=b.pick(FREEING))
    b.backward(root, retain=b.pick((None, True)))


@situation
def retained(b: Builder) -> None:
    """A graph walked two to five times, always retained until the last call; ops and clearings may stand between."""
    root = b.root()
    b.backward(root, retain=True)
    for _ in range(b.below(4)):
        b.grow(0, 1)
        if b.below(4) == 3:
            b.zero(b.pick([leaf for leaf in b.leaves if b.requires(leaf)]), to_none=bool(b.below(2)))
        b.backward(b.recent([r for r in b.live if r in b.saving]) if b.below(3) == 2 else root, retain=True)
    b.backward(root, retain=b.pick((None, True)))


@situation
def branches(b: Builder) -> None:
    """One graph with two branches; walking the first must leave the second."""
    left, right = b.nonlinear(b.leaf((3,))), b.nonlinear(b.leaf((3,)))
    if b.below(2):
        left = b.beyond(left)
    if b.below(2):
        right = b.beyond(right)
    joined = _joined(b, [left, right])
    b.backward(left, retain=b.pick(FREEING))
    b.backward(right, retain=b.pick((None, True)))
    if b.below(2):
        b.backward(joined, cotangents=[None])


@situation
def independent_graphs(b: Builder) -> None:
    """Two graphs that share leaves and nothing else; one is freed, the other walked."""
    shared = b.leaf(b.pick(((3,), (2, 3), ())))
    first = b.nonlinear(shared)
    second = b.nonlinear(b.beyond(shared)) if b.below(2) else b.nonlinear(shared, _negative(b))
    b.backward(first, retain=b.pick(FREEING))
    b.backward(second, retain=b.pick((None, True)))


@situation
def rebuilt(b: Builder) -> None:
    """A graph freed, computed anew by the same ops from the same leaves, and walked again; several times perhaps."""
    leaf = b.leaf(b.pick(((3,), (2, 3), (), (1,))))
    names = [b.pick(b._products()) for _ in range(1 + b.below(4))]
    for _ in range(2 + b.below(3)):
        value = leaf
        for name in names:
            value = b.nonlinear(value, name)
        b.backward(value, retain=b.pick(FREEING))


@situation
def nothing_saved(b: Builder) -> None:
    """A graph of ops that save nothing, walked two or three times without keeping it."""
    value = b.leaf(b.pick(((3,), (2, 3), ())))
    linear = b.having("negative", "sum", "reshape", "expand_dims", "add")
    for _ in range(1 + b.below(4)):
        name = b.pick(linear)
        value = b.apply(name, (value, value))[0] if name == "add" else b.op(name, on=value)[0]
    for _ in range(2 + b.below(2)):
        b.backward(value, retain=b.pick(FREEING))


# -- detach ----------------------------------------------------------------------------------------------------------------


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
    root = b.detach(b.root(3))
    if b.below(3) == 2:
        root = b.nonlinear(root, _negative(b))
    b.backward(root)


@situation
def detached_sources(b: Builder) -> None:
    """A value that was detached, perhaps used in its detached form, walked itself."""
    source = b.root(3)
    detached = b.detach(source)
    if b.below(2):
        b.nonlinear(detached)
    b.backward(b.beyond(source) if b.below(2) else source)


# -- errors ----------------------------------------------------------------------------------------------------------------


@situation
def no_grad_roots(b: Builder) -> None:
    """A root that requires no grad, alone or among others."""
    root = b.leaf(requires_grad=False)
    if b.below(2):
        root = b.nonlinear(root)
    b.backward(*([b.root(2), root] if b.below(4) == 3 else [root]))


@situation
def implicit_cotangents(b: Builder) -> None:
    """A root that has not exactly one element, walked without a cotangent."""
    b.grow(0, 3)
    root = b.nonlinear(b.leaf(b.pick(((3,), (2,), (2, 3), (0,), (2, 1)))))
    b.backward(root, cotangents=[None])
    if b.below(2):
        b.backward(root)


@situation
def wrong_cotangents(b: Builder) -> None:
    """A cotangent of another shape, also one that would broadcast; then perhaps the right one."""
    root = b.nonlinear(b.leaf(b.pick(((3,), (2,), (), (2, 3), (1,), (3, 2)))))
    shape = b.shape(root)
    others = [s for s in ((2,), (3,), (1,), (), (3, 2), (2, 3), (1, *shape), shape[::-1], shape[1:]) if s != shape]
    wrong = b.tensor(b.pick(others))
    b.backward(root, cotangents=[wrong], retain=b.pick((None, True)))
    if b.below(2):
        b.backward(root)


REFUSALS = (
    (Needs.NON_SCALAR_CHECK,),
    (Needs.COTANGENT_CHECK, Needs.COTANGENTS),
    (Needs.NO_GRAD_CHECK, Needs.DETACH, Needs.MULTIPLE_ROOTS),
)
"""What each way to have a call refused needs."""


@situation
def refused_after_gradients(b: Builder) -> None:
    """Leaves that hold gradients, a call that is refused for its arguments, and the legal call after it."""
    refusals = [n for n, needs in enumerate(REFUSALS) if b.can(*needs)]
    if not refusals:
        raise Undrawable("the framework claims to refuse no call")
    root = b.nonlinear(b.leaf(b.pick(((3,), (2, 3), (2,)))))
    b.backward(root, retain=True)
    match b.pick(refusals):
        case 0:
            b.backward(root, cotangents=[None])
        case 1:
            b.backward(root, cotangents=[b.tensor((*b.shape(root), 2))])
        case _:
            b.backward(root, b.detach(root))
    b.backward(root, retain=b.pick((None, True)))


@situation
def failing_walks(b: Builder) -> None:
    """A call that meets a freed part of its graph after, or before, it has walked other parts."""
    freed = b.nonlinear(b.leaf((3,)))
    other = b.nonlinear(b.leaf((3,)))
    parts = [freed, other] if b.below(2) else [other, freed]
    joined = _joined(b, [*parts, b.leaf((2,))])
    b.backward(freed, retain=b.pick(FREEING))
    b.backward(joined, cotangents=[None], retain=b.pick((None, True)))
    if b.below(2):
        b.zero(*b.leaves)
        b.backward(other)
