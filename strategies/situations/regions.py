"""Programs drawn for the rules about regions (instructions that run as one compiled or checkpointed function), with
their inputs and results.

An instruction that computes nothing, such as backward, ends a region, so these programs put one between instructions
that need separate regions. They are drawn only for frameworks that compile or checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autograd_conformance.ops.rows.row import Certainty, takes
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.operands import operands
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.optimizers import plain_optimizer
from autograd_conformance.strategies.situations.base import (
    FREEING,
    SHAPES,
    SMOOTH,
    VIEW_OPS,
    Programs,
    chain,
    end_region,
    joined,
    plain_situation,
)
from autograd_conformance.strategies.situations.writes import LINEAR, require_known_needs

VIEWING = tuple(name for name in VIEW_OPS if OPS[name].aliases is Certainty.ALWAYS)
"""View ops that always return a view. Inside a compiled or checkpointed function, a view and a copy cannot be
distinguished.
"""

RETAINING = (True, None, False)
"""Values of `retain_graph`, drawn evenly."""


def for_regions(write: Callable[[Draft], None]) -> Callable[..., Programs]:
    """Makes a strategy of programs from a function, for frameworks that compile or checkpoint several instructions as
    one function. For others the strategy raises `Unsupported`.
    """

    def with_regions(b: Draft) -> None:
        b.alphabet.require_regions()
        write(b)

    with_regions.__name__, with_regions.__doc__ = write.__name__, write.__doc__
    return plain_situation(with_regions)


def retain(b: Draft) -> bool | None:
    """Draws a value of `retain_graph`; returns None if the framework has no such option."""
    return b.pick(RETAINING) if b.can(Capability.RETAIN) else None


def call_some(b: Draft, roots: Sequence[Ref], least: int) -> None:
    """Adds at least `least` backward calls, with any `retain_graph`, on drawn ones of the roots that require grad; none
    if no root does.
    """
    options = [root for root in roots if b.requires(root)]
    for _ in range(least + b.below(3) if options else 0):
        b.actions.backward(b.pick(options), retain=retain(b))


# -- results -----------------------------------------------------------------------------------------------------------


def viewed(b: Draft, value: Ref) -> Ref:
    """Returns the value detached, or a view of it by an op that always returns a view; the value itself if neither is
    possible.
    """
    fitting = [name for name in VIEWING if name in b.alphabet.ops and takes(b.alphabet.row(name), b.shape(value))]
    if b.can(Capability.DETACH) and (not fitting or b.below(2)):
        return b.detach(value)
    made = b.ops.draw(b.pick(fitting), on=value)[0] if fitting else value
    return made if value in operands(b.reference.steps[made.at]) and b.reference.values[made].size else value


@for_regions
def results_apart(b: Draft) -> None:
    """Draws several results of one compiled or checkpointed function, with or without a common part, and backward calls
    on some of the results in any order.
    """
    shape = b.pick(b.alphabet.shapes(SHAPES))
    trunk = chain(b, b.leaf(shape), 2)
    results = [chain(b, trunk if b.below(2) else b.leaf(shape), 2) for _ in range(2 + b.below(2))]
    if b.below(3) == 2:
        results.append(joined(b, results[:2]))
    call_some(b, results, len(results))


@for_regions
def branches_apart(b: Draft) -> None:
    """Draws one graph with its branches in separate compiled or checkpointed functions: a backward call on the first
    must not free the second.
    """
    shape = b.pick(b.alphabet.shapes(SHAPES))
    left = chain(b, b.leaf(shape), 2)
    end_region(b)
    right = chain(b, b.leaf(shape), 2)
    if b.below(2):
        end_region(b)
    joined(b, [left, right])
    for branch in (left, right):
        b.actions.backward(branch, retain=b.pick(FREEING) if b.can(Capability.RETAIN) else None)


@for_regions
def viewed_results(b: Draft) -> None:
    """Draws a value and views or detached aliases of it as results of one compiled or checkpointed function. One is
    written to in place, and the others are used.
    """
    b.require(Capability.WRITES, Capability.VIEWS)
    base = chain(b, b.leaf_of(((3,), (2, 2), (2, 3))), 2)
    family = [base, viewed(b, base)]
    if b.below(2):
        family.append(viewed(b, b.pick(family)))
    end_region(b)
    target = b.pick(family)
    if b.below(3) or not b.can(Capability.MODES):
        b.writes.to(target)
    else:
        with b.under("no_grad"):
            b.writes.to(target)
    if b.below(2):
        end_region(b)
    used = [b.ops.nonlinear(value) if b.below(2) else value for value in family if b.requires(value)]
    call_some(b, used, 1)


@for_regions
def unneeded_written(b: Draft) -> None:
    """Draws a value that no derivative of its compiled or checkpointed function needs, an in-place write to the value
    after the function, and a backward call on the function's result.
    """
    b.require(Capability.WRITES)
    require_known_needs(b)
    shape = b.pick(b.alphabet.shapes(((3,), (2, 2), (2, 3))))
    start = chain(b, b.leaf(shape), 1) if b.below(2) else b.leaf(shape)
    value = made = b.apply(b.pick(b.available("negative", "clone")), (start,))[0]
    for _ in range(1 + b.below(2)):
        made = b.ops.draw(b.pick(b.available(*LINEAR)), on=made)[0]
    end_region(b)
    b.writes.to(value, b.pick(("add_", "zero_", "mul_scalar_", "fill_", "copy_")))
    b.actions.backward(made)


@for_regions
def inputs_given_out(b: Draft) -> None:
    """Draws results of a compiled or checkpointed function that are views, detached aliases or copies of an input, some
    of which are written to in place or used.
    """
    shape = b.pick(b.alphabet.shapes(((3,), (2, 3), ())))
    value = chain(b, b.leaf(shape), 1) if b.below(2) else b.leaf(shape, requires_grad=bool(b.below(4)))
    end_region(b)
    results = [b.ops.nonlinear(value)]
    if "permute_dims" in b.alphabet.ops and shape:
        results += b.apply("permute_dims", (value,), (("dims", tuple(range(len(shape)))),))
    if "clone" in b.alphabet.ops:
        results += b.apply("clone", (value,))
    if b.can(Capability.DETACH):
        results.append(b.detach(value))
    if b.below(2):
        end_region(b)
    if b.can(Capability.WRITES) and b.below(2):
        target = b.pick(results)
        if not (
            b.requires(target) and b.reference.storages.storage(target) == value and b.reference.tape.is_leaf(value)
        ):
            b.writes.to(target, b.pick(("mul_scalar_", "zero_", "neg_")))
            end_region(b)
    call_some(b, [*results, b.ops.nonlinear(b.pick(results))], 2)


# -- inputs ------------------------------------------------------------------------------------------------------------


@for_regions
def inputs_written(b: Draft) -> None:
    """Draws an in-place write to an input or a result of a compiled or checkpointed function, or to an alias of one,
    between the function and a backward call through it.
    """
    b.require(Capability.WRITES)
    shape = b.pick(b.alphabet.shapes(((3,), (2, 3), ())))
    given = b.leaf(shape, requires_grad=bool(b.below(3))) if b.below(2) else chain(b, b.leaf(shape), 1)
    other = b.leaf(shape)
    end_region(b)
    inner = b.apply(
        b.pick(b.available("multiply", "divide") if b.below(2) else b.available("multiply")),
        (other, given),
    )
    made = chain(b, inner[0], 2)
    end_region(b)
    if b.can(Capability.RETAIN) and b.below(3) == 2:
        b.actions.backward(made, retain=True)
    target = b.pick((given, made, inner[0]))
    target = viewed(b, target) if b.can(Capability.VIEWS) and b.below(3) == 2 else target
    leaf = b.requires(target) and b.reference.tape.is_leaf(target)
    with b.under(*(["no_grad"] if b.can(Capability.MODES) and (leaf or not b.below(3)) else [])):
        b.writes.to(target)
    b.actions.backward(made)


@for_regions
def weights_stepped(b: Draft) -> None:
    """Draws a compiled or checkpointed function whose weights are changed by an optimizer's step after a backward call,
    perhaps a second call on the old graph, and the same function on the new weights.
    """
    b.require(Capability.OPTIMIZERS, Capability.RETAIN)
    weight = b.leaf_of(((3,), (2, 3), ()))
    names = [b.pick(b.available(*SMOOTH)) for _ in range(1 + b.below(2))]
    kind = plain_optimizer(b)
    for _ in range(2 + b.below(2)):
        root = weight
        for name in names:
            root = b.ops.nonlinear(root, name)
        root = b.ops.total(root)
        b.actions.backward(root, retain=True)
        b.actions.step([weight], *kind)
        if not b.below(3):
            b.actions.backward(root, retain=retain(b))
        if b.below(2):
            b.actions.zero_grad(weight)


@for_regions
def hooked_between(b: Draft) -> None:
    """Draws hooks or `retain_grad` on inputs and results of a compiled or checkpointed function, added between the
    function and backward calls through it.
    """
    b.require(Capability.HOOKS)
    shape = b.pick(b.alphabet.shapes(((3,), (2, 3), ())))
    given = chain(b, b.leaf(shape), 1)
    end_region(b)
    inner = chain(b, given, 1)
    results = [inner, chain(b, inner, 2), chain(b, given if b.below(2) else b.leaf(shape), 1)]
    for _ in range(1 + b.below(3)):
        target = b.pick([*results, given, b.script.leaves[0]])
        if b.below(4) == 3 and b.can(Capability.RETAINS_GRAD):
            b.actions.retain_grad(target)
        else:
            b.actions.hook(target, b.pick(("observe", "scale")), b.pick((2.0, -1.0)))
    call_some(b, results, 2)


@for_regions
def twins(b: Draft) -> None:
    """Draws a compiled or checkpointed function with inputs that share memory (a value, and the value detached or a
    view), which it reads and perhaps writes in place.
    """
    b.require(Capability.VIEWS)
    shape = b.pick(b.alphabet.shapes(((3,), (2, 2))))
    value = chain(b, b.leaf(shape), 1) if b.below(3) else b.leaf(shape, requires_grad=bool(b.below(2)))
    other = viewed(b, value)
    end_region(b)
    before = [b.ops.nonlinear(x) for x in ((value, other) if b.below(2) else (other, value))]
    if b.can(Capability.WRITES) and b.below(3):
        b.writes.to(b.pick((other, value)))
        before += [b.ops.nonlinear(x) for x in (value, other)]
    call_some(b, before, 2)


@for_regions
def numbers_and_empties(b: Draft) -> None:
    """Draws a compiled or checkpointed function with a scalar and perhaps a tensor without elements among its
    inputs.
    """
    shape = b.pick(b.alphabet.shapes(((3,), (2, 3), (0,), (2, 0))))
    number = b.leaf((), requires_grad=bool(b.below(4)))
    several = chain(b, b.leaf(shape), 1)
    end_region(b)
    products = [b.apply(b.pick(b.available("multiply", "add")), (several, number))[0]]
    products.append(b.apply(b.pick(b.available("multiply", "subtract")), (number, products[0]))[0])
    if b.below(2):
        products.append(chain(b, number if b.requires(number) else several, 1))
    call_some(b, products, 2)
