"""Functions that a framework takes as units: what becomes of their inputs and results, and what is called again.

An action ends a unit; so these programs put one between what has to stand in units of its own. Only frameworks that
take functions as units are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.ops.row import Certainty, choices_of, takes
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref, Shape
from autograd_conformance.programs.operands import operands
from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.building.draft import Undrawable
from autograd_conformance.strategies.building.optimizers import plain_optimizer
from autograd_conformance.strategies.situations.base import LOOKING, SMOOTH, Programs, chain, history, joined

VIEWING = tuple(name for name in LOOKING if OPS[name].aliases is Certainty.ALWAYS)
"""Ops that certainly give a view: of what stays within a unit, nobody sees what another one gave."""

RETAINING = (True, None, False)
"""What a call may say of its graph."""
SHAPES: tuple[Shape, ...] = ((3,), (2, 2), (2, 3), ())


def in_units(write: Callable[[ActionBuilder], None]) -> Callable[..., Programs]:
    """The strategy of the programs that `write` puts together for a framework that takes functions as units."""

    def asked(b: ActionBuilder) -> None:
        b.require_units()
        write(b)

    asked.__name__, asked.__doc__ = write.__name__, write.__doc__
    return history(asked)


def cut(b: ActionBuilder) -> None:
    """An action that has nothing to do with what was computed: the unit ends here."""
    leaf = b.leaf(b.pick(b.shapes(SHAPES)))
    if b.can(Capability.ZERO_TO_NONE):
        b.zero_grad(leaf)
    else:
        b.call(leaf)


def retain(b: ActionBuilder) -> bool | None:
    """What a call says of its graph, as far as the framework lets it."""
    return b.pick(RETAINING) if b.can(Capability.RETAIN) else None


def call_some(b: ActionBuilder, roots: Sequence[Ref], least: int) -> None:
    """Calls from some of these values, where they require grad, in any order, with whatever they say of the graph."""
    options = [root for root in roots if b.requires(root)]
    for _ in range(least + b.below(3) if options else 0):
        b.call(b.pick(options), retain=retain(b))


# -- results -----------------------------------------------------------------------------------------------------------


def viewed(b: ActionBuilder, value: Ref) -> Ref:
    """A value in the memory of another: it detached, or a view of it, by an op that certainly gives one."""
    fitting = [name for name in VIEWING if name in b.alphabet.ops and takes(OPS[name], b.shape(value))]
    if b.can(Capability.DETACH) and (not fitting or b.below(2)):
        return b.detach(value)
    made = b.op(b.pick(fitting), on=value)[0] if fitting else value
    return made if value in operands(b.reference.steps[made.at]) and b.reference.values[made].size else value


@in_units
def results_apart(b: ActionBuilder) -> None:
    """Several results of one unit, with a part in common or none, called from one after the other."""
    shape = b.pick(b.shapes(SHAPES))
    trunk = chain(b, b.leaf(shape), 2)
    results = [chain(b, trunk if b.below(2) else b.leaf(shape), 2) for _ in range(2 + b.below(2))]
    if b.below(3) == 2:
        results.append(joined(b, results[:2]))
    call_some(b, results, len(results))


@in_units
def viewed_results(b: ActionBuilder) -> None:
    """A value among a unit's results beside views of it, or it detached; one of them is written to, others are used."""
    b.require(Capability.WRITES, Capability.VIEWS)
    base = chain(b, b.leaf(b.pick(b.shapes(((3,), (2, 2), (2, 3))))), 2)
    family = [base, viewed(b, base)]
    if b.below(2):
        family.append(viewed(b, b.pick(family)))
    cut(b)
    target = b.pick(family)
    if b.below(3) or not b.can(Capability.MODES):
        b.write(target)
    else:
        with b.under("no_grad"):
            b.write(target)
    if b.below(2):
        cut(b)
    used = [b.nonlinear(value) if b.below(2) else value for value in family if b.requires(value)]
    call_some(b, used, 1)


@in_units
def inputs_given_out(b: ActionBuilder) -> None:
    """Results of a unit that are all of an input: a view of it, it detached, a copy; written to, or gone on with."""
    shape = b.pick(b.shapes(((3,), (2, 3), ())))
    value = chain(b, b.leaf(shape), 1) if b.below(2) else b.leaf(shape, requires_grad=bool(b.below(4)))
    cut(b)
    results = [b.nonlinear(value)]
    if "permute_dims" in b.alphabet.ops and shape:
        results += b.apply("permute_dims", (value,), (("dims", tuple(range(len(shape)))),))
    if "clone" in b.alphabet.ops:
        results += b.apply("clone", (value,))
    if b.can(Capability.DETACH):
        results.append(b.detach(value))
    if b.below(2):
        cut(b)
    if b.can(Capability.WRITES) and b.below(2):
        target = b.pick(results)
        if not (b.requires(target) and b.reference.storages.storage(target) == value and b.reference.is_leaf(value)):
            b.write(target, b.pick(("mul_scalar_", "zero_", "neg_")))
            cut(b)
    call_some(b, [*results, b.nonlinear(b.pick(results))], 2)


# -- inputs ------------------------------------------------------------------------------------------------------------


@in_units
def inputs_written(b: ActionBuilder) -> None:
    """An input or a result of a unit, or what shares its memory, written to between the unit and a call through it."""
    b.require(Capability.WRITES)
    shape = b.pick(b.shapes(((3,), (2, 3), ())))
    given = b.leaf(shape, requires_grad=bool(b.below(3))) if b.below(2) else chain(b, b.leaf(shape), 1)
    other = b.leaf(shape)
    cut(b)
    inner = b.apply(
        b.pick(b.available("multiply", "divide") if b.below(2) else b.available("multiply")), (other, given)
    )
    made = chain(b, inner[0], 2)
    cut(b)
    if b.can(Capability.RETAIN) and b.below(3) == 2:
        b.call(made, retain=True)
    target = b.pick((given, made, inner[0]))
    target = viewed(b, target) if b.can(Capability.VIEWS) and b.below(3) == 2 else target
    leaf = b.requires(target) and b.reference.is_leaf(target)
    with b.under(*(["no_grad"] if b.can(Capability.MODES) and (leaf or not b.below(3)) else [])):
        b.write(target)
    b.call(made)


@in_units
def weights_stepped(b: ActionBuilder) -> None:
    """A unit whose weights are moved by a step between two calls from it, and the same unit on the weights moved."""
    b.require(Capability.OPTIMIZERS, Capability.RETAIN)
    weight = b.leaf(b.pick(b.shapes(((3,), (2, 3), ()))))
    names = [b.pick(b.available(*SMOOTH)) for _ in range(1 + b.below(2))]
    kind = plain_optimizer(b)
    for _ in range(2 + b.below(2)):
        root = weight
        for name in names:
            root = b.nonlinear(root, name)
        root = b.total(root)
        b.call(root, retain=True)
        b.step([weight], *kind)
        if not b.below(3):
            b.call(root, retain=retain(b))
        if b.below(2):
            b.zero_grad(weight)


@in_units
def inputs_toggled(b: ActionBuilder) -> None:
    """A leaf that is frozen, or set free, between a unit and a call through it; then the same unit again."""
    b.require(Capability.SWITCHES)
    shape = b.pick(b.shapes(((3,), (2, 3), ())))
    first = bool(b.below(3)) or not b.can(Capability.CONSTANTS)
    leaf, other = b.leaf(shape, requires_grad=first), b.leaf(shape)
    recipe = drawn_recipe(b)
    cut(b)
    made = recipe.applied(b, leaf, other)
    if b.below(3) == 2:
        call_some(b, made, 1)
    else:
        cut(b)
    b.set_requires_grad(leaf, not first)
    again = recipe.applied(b, leaf, other)
    call_some(b, [*made, *again], 2)


@in_units
def hooked_between(b: ActionBuilder) -> None:
    """Hooks on inputs and results of a unit, and results that retain, between the unit and the calls through it."""
    b.require(Capability.HOOKS)
    shape = b.pick(b.shapes(((3,), (2, 3), ())))
    given = chain(b, b.leaf(shape), 1)
    cut(b)
    inner = chain(b, given, 1)
    results = [inner, chain(b, inner, 2), chain(b, given if b.below(2) else b.leaf(shape), 1)]
    for _ in range(1 + b.below(3)):
        target = b.pick([*results, given, b.leaves[0]])
        if b.below(4) == 3 and b.can(Capability.RETAINS_GRAD):
            b.retain_grad(target)
        else:
            b.hook(target, b.pick(("observe", "scale")), b.pick((2.0, -1.0)))
    call_some(b, results, 2)


@in_units
def twins(b: ActionBuilder) -> None:
    """Inputs of a unit that share memory: a value, it detached, its views; read, and written to inside."""
    b.require(Capability.VIEWS)
    shape = b.pick(b.shapes(((3,), (2, 2))))
    value = chain(b, b.leaf(shape), 1) if b.below(3) else b.leaf(shape, requires_grad=bool(b.below(2)))
    other = viewed(b, value)
    cut(b)
    before = [b.nonlinear(x) for x in ((value, other) if b.below(2) else (other, value))]
    if b.can(Capability.WRITES) and b.below(3):
        b.write(b.pick((other, value)))
        before += [b.nonlinear(x) for x in (value, other)]
    call_some(b, before, 2)


@in_units
def numbers_and_empties(b: ActionBuilder) -> None:
    """Inputs of a unit without dimensions, or without elements, beside others."""
    shape = b.pick(b.shapes(((3,), (2, 3), (0,), (2, 0))))
    number = b.leaf((), requires_grad=bool(b.below(4)))
    several = chain(b, b.leaf(shape), 1)
    cut(b)
    products = [b.apply(b.pick(b.available("multiply", "add")), (several, number))[0]]
    products.append(b.apply(b.pick(b.available("multiply", "subtract")), (number, products[0]))[0])
    if b.below(2):
        products.append(chain(b, number if b.requires(number) else several, 1))
    call_some(b, products, 2)


# -- the same unit again -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """What a function of two values computes: equal recipes, in units of their own, are one function."""

    ops: tuple[str, ...]
    """Ops, each on the result of the one before, with the second value where they take two; or what `applied` knows
    besides: to detach, to write to the second value.
    """
    branch: str
    """An op on the first result."""
    unrecorded: tuple[int, ...] = ()
    """Which of the ops stand under no_grad."""

    def applied(self, b: ActionBuilder, first: Ref, second: Ref) -> list[Ref]:
        """Those of the recipe's results for two values that it does not use itself: these are given out each time."""
        made = [first]
        for k, op in enumerate(self.ops):
            with b.under(*(["no_grad"] if k in self.unrecorded else [])):
                match op:
                    case "detach":
                        made.append(b.detach(made[-1]))
                    case "write":
                        b.write(second, "mul_", made[-1])
                    case "multiply" | "add":
                        made.append(b.apply(op, (made[-1], second))[0])
                    case _:
                        made.append(b.nonlinear(made[-1], op))
        return [made[-1], b.nonlinear(made[1], self.branch)]


def drawn_recipe(b: ActionBuilder, writes: bool = False) -> Recipe:
    """A recipe of two to four ops, and a branch."""
    ops = [b.pick(b.available("multiply", "add"))]
    kinds = [*b.available(*SMOOTH[:5]), *(["detach"] if b.can(Capability.DETACH) else [])]
    ops += [b.pick(kinds) for _ in range(1 + b.below(2))]
    branch = b.pick(b.available(*SMOOTH[1:5]))
    if writes:
        ops.insert(b.below(len(ops)), "write")
    modes = b.can(Capability.MODES) and b.below(3) == 2
    return Recipe(tuple(ops), branch, (b.below(len(ops)),) if modes and not writes else ())


OF_ONE_SIZE: tuple[tuple[Shape, ...], ...] = (
    ((3,), (1, 3), (3, 1), (2,)), ((2, 2), (4,), (1, 4), (2, 3)), ((), (1,), (1, 1), (3,)),
)  # fmt: skip
"""Shapes in which a function may be called again: most of as many elements, one of more or fewer."""


@in_units
def called_again(b: ActionBuilder) -> None:
    """One function, two or three times, on values that differ in all but form, or in form, too; calls between."""
    recipe = drawn_recipe(b)
    roots: list[Ref] = []
    shapes = b.pick(OF_ONE_SIZE)
    shape, dtype = b.pick(b.shapes(shapes)), b.dtype
    for _ in range(2 + b.below(2)):
        first, second = _fresh(b, shape, dtype), _fresh(b, shape, dtype)
        if b.below(4) == 3 and b.can(Capability.DETACH):
            second = b.detach(first)
        cut(b)
        around = b.pick(((), (), ("no_grad",))) if b.can(Capability.MODES) else ()
        with b.under(*around):
            roots += recipe.applied(b, first, second)
        cut(b)
        if not b.below(3):
            call_some(b, roots, 1)
        if b.below(3) == 2:
            shape, dtype = b.pick(b.shapes(shapes)), b.pick(tuple(b.alphabet.dtypes))
    call_some(b, roots, 2)


def _fresh(b: ActionBuilder, shape: Shape, dtype: str) -> Ref:
    """A fresh leaf, a constant perhaps, in a layout of its own where that can be."""
    kind = b.below(6)
    value = b.leaf(value=b.tensor(shape[::-1], dtype), requires_grad=kind < 4)
    if len(shape) == 2 and kind % 2 and "matrix_transpose" in b.alphabet.ops:
        return b.apply("matrix_transpose", (value,))[0]
    return value if shape == shape[::-1] else b.leaf(value=b.tensor(shape, dtype), requires_grad=kind < 4)


@in_units
def called_after_an_error(b: ActionBuilder) -> None:
    """A function that raises, for it writes to a leaf, and the same function on values that it may write to."""
    b.require(Capability.WRITES, Capability.WRITE_CHECKS, Capability.CONSTANTS)
    shape = b.pick(b.shapes(((3,), (2, 3), ())))
    recipe = drawn_recipe(b, writes=True)
    leaf, source = b.leaf(shape), b.leaf(shape)
    kept = chain(b, source, 1)
    cut(b)
    recipe.applied(b, source, leaf)
    cut(b)
    again = recipe.applied(b, source, b.leaf(shape, requires_grad=False))
    call_some(b, [kept, *again], 2)


# -- modes, random numbers ---------------------------------------------------------------------------------------------


@in_units
def modes_inside(b: ActionBuilder) -> None:
    """One computation several times in a unit, under other grad modes each time, which may stand in one another."""
    b.require(Capability.MODES)
    value = chain(b, b.leaf(b.pick(b.shapes(((3,), (2, 3), ())))), 1)
    if b.below(2):
        cut(b)
    op = b.pick(b.available(*SMOOTH[:5]))
    results = []
    for _ in range(2 + b.below(3)):
        modes = b.pick(((), ("no_grad",), ("no_grad", "enable_grad"), ("enable_grad", "no_grad")))
        with b.under(*modes):
            results.append(b.nonlinear(value, op))
            if b.below(3) == 2:
                results.append(b.apply(b.available("multiply")[0], (results[-1], value))[0])
    call_some(b, results, 2)


@in_units
def computed_again(b: ActionBuilder) -> None:
    """One computation several times in a unit, with writes to its operand between, or to its results."""
    b.require(Capability.WRITES)
    value = chain(b, b.leaf(b.pick(b.shapes(((3,), (2, 3), ())))), 1)
    if b.below(2):
        cut(b)
    op = b.pick(b.available("multiply", "add", "negative", "sin"))
    results = []
    for _ in range(2 + b.below(2)):
        results.append(b.apply(op, (value, value))[0] if op in ("multiply", "add") else b.nonlinear(value, op))
        b.write(b.pick((value, results[0])), b.pick(("add_scalar_", "mul_scalar_", "zero_", "neg_")))
    if b.below(2):
        cut(b)
        b.write(results[0])
    call_some(b, results, 1)


@in_units
def masks_inside(b: ActionBuilder) -> None:
    """Dropout in a unit, once or several times, whose mask is seen; calls, and other draws, between."""
    b.require(Capability.RANDOM)
    if not {"dropout", "dropout_mask"} <= {*b.alphabet.modules}:
        raise Undrawable("it has no dropout")
    value = chain(b, b.leaf(b.pick(b.shapes(((3,), (2, 3))))), 1)
    results = []
    for _ in range(1 + b.below(2)):
        attrs = b.pick(choices_of(RANDOM_OPS["dropout_mask"], (b.shape(value),)))
        (mask,) = b.apply("dropout_mask", (value,), attrs)
        cut(b)  # it has to be seen: what stays within a unit is not
        (made,) = b.apply("dropout", (value, mask), attrs)
        results.append(chain(b, made, 1))
        value = made
        if b.below(2):
            cut(b)
    call_some(b, results, 2)
