"""Programs that run the same compiled or checkpointed function (a region) several times: on other values, after an
error, in other grad modes, recomputed.
"""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.ops.rows.row import choices_of
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref, Shape
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.situations.base import SMOOTH, chain, end_region
from autograd_conformance.strategies.situations.regions import call_some, for_regions


@dataclass(frozen=True)
class Recipe:
    """A computation on two values that a framework runs as one compiled or checkpointed function (a region). Equal
    recipes in separate regions are the same compiled function.
    """

    ops: tuple[str, ...]
    """The ops, each applied to the result of the one before, with the second value as the other operand of `multiply`
    and `add`. "detach" detaches the result; "write" multiplies the second value in place by the result.
    """
    branch: str
    """The op that is applied to the first op's result, for a second result of the recipe."""
    unrecorded: tuple[int, ...] = ()
    """Indices of the ops under `no_grad`."""

    def applied(self, b: Draft, first: Ref, second: Ref) -> list[Ref]:
        """Applies the recipe to two values, and returns its two results: of the last op, and of `branch`."""
        made = [first]
        for k, op in enumerate(self.ops):
            with b.under(*(["no_grad"] if k in self.unrecorded else [])):
                match op:
                    case "detach":
                        made.append(b.detach(made[-1]))
                    case "write":
                        b.writes.to(second, "mul_", made[-1])
                    case "multiply" | "add":
                        made.append(b.apply(op, (made[-1], second))[0])
                    case _:
                        made.append(b.ops.nonlinear(made[-1], op))
        return [made[-1], b.ops.nonlinear(made[1], self.branch)]


def drawn_recipe(b: Draft, writes: bool = False) -> Recipe:
    """Draws a recipe of two or three ops and a branch; with `writes`, also an in-place write."""
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
"""Shapes for repeated runs of a compiled function: most of a row have equally many elements, the last has another
number.
"""


@for_regions
def called_again(b: Draft) -> None:
    """Draws one compiled or checkpointed function run two or three times, on values that differ, perhaps also in shape
    or dtype, with backward calls in between.
    """
    writes = b.can(Capability.WRITES, Capability.CONSTANTS) and b.below(4) == 3
    recipe = drawn_recipe(b, writes)
    roots: list[Ref] = []
    shapes = b.pick(OF_ONE_SIZE)
    shape, dtype = b.pick(b.alphabet.shapes(shapes)), b.operands.dtype
    for _ in range(2 + b.below(2)):
        first = _fresh(b, shape, dtype)
        second = (
            b.leaf(value=b.operands.tensor(shape, dtype), requires_grad=False) if writes else _fresh(b, shape, dtype)
        )
        if b.below(4) == 3 and b.can(Capability.DETACH):
            second = b.detach(b.ops.nonlinear(first) if writes else first)
        end_region(b)
        around = b.pick(((), (), ("no_grad",))) if b.can(Capability.MODES) else ()
        with b.under(*around):
            roots += recipe.applied(b, first, second)
        end_region(b)
        if not b.below(3):
            call_some(b, roots, 1)
        if b.below(3) == 2:
            shape, dtype = b.pick(b.alphabet.shapes(shapes)), b.pick(tuple(b.alphabet.dtypes))
    call_some(b, roots, 2)


def _fresh(b: Draft, shape: Shape, dtype: str) -> Ref:
    """Draws a fresh leaf or constant of the given shape, sometimes the transpose of one."""
    kind = b.below(6)
    value = b.leaf(value=b.operands.tensor(shape[::-1], dtype), requires_grad=kind < 4)
    if len(shape) == 2 and kind % 2 and "matrix_transpose" in b.alphabet.ops:
        return b.apply("matrix_transpose", (value,))[0]
    return value if shape == shape[::-1] else b.leaf(value=b.operands.tensor(shape, dtype), requires_grad=kind < 4)


@for_regions
def inputs_toggled(b: Draft) -> None:
    """Draws two calls of the same compiled or checkpointed function, changes `requires_grad` of its leaf between them,
    and draws backward calls through both; in one case of three, also one before the change.
    """
    b.require(Capability.SWITCHES)
    shape = b.pick(b.alphabet.shapes(((3,), (2, 3), ())))
    first = bool(b.below(3)) or not b.can(Capability.CONSTANTS)
    leaf, other = b.leaf(shape, requires_grad=first), b.leaf(shape)
    recipe = drawn_recipe(b)
    end_region(b)
    made = recipe.applied(b, leaf, other)
    if b.below(3) == 2:
        call_some(b, made, 1)
    else:
        end_region(b)
    b.actions.set_requires_grad(leaf, not first)
    again = recipe.applied(b, leaf, other)
    call_some(b, [*made, *again], 2)


@for_regions
def called_after_an_error(b: Draft) -> None:
    """Draws a compiled or checkpointed function that raises because it writes to a leaf in place, then the same
    function on values that may be written to.
    """
    b.require(Capability.WRITES, Capability.WRITE_CHECKS, Capability.CONSTANTS)
    shape = b.pick(b.alphabet.shapes(((3,), (2, 3), ())))
    recipe = drawn_recipe(b, writes=True)
    leaf, source = b.leaf(shape), b.leaf(shape)
    kept = chain(b, source, 1)
    end_region(b)
    recipe.applied(b, source, leaf)
    end_region(b)
    again = recipe.applied(b, source, b.leaf(shape, requires_grad=False))
    call_some(b, [kept, *again], 2)


# -- modes, random numbers ---------------------------------------------------------------------------------------------


@for_regions
def modes_inside(b: Draft) -> None:
    """Draws one computation several times in a compiled or checkpointed function, each time in other grad modes, which
    may be nested.
    """
    b.require(Capability.MODES)
    value = chain(b, b.leaf_of(((3,), (2, 3), ())), 1)
    if b.below(2):
        end_region(b)
    op = b.pick(b.available(*SMOOTH[:5]))
    results = []
    for _ in range(2 + b.below(3)):
        modes = b.pick(((), ("no_grad",), ("no_grad", "enable_grad"), ("enable_grad", "no_grad")))
        with b.under(*modes):
            results.append(b.ops.nonlinear(value, op))
            if b.below(3) == 2:
                results.append(b.apply(b.available("multiply")[0], (results[-1], value))[0])
    call_some(b, results, 2)


@for_regions
def computed_again(b: Draft) -> None:
    """Draws one computation several times in a compiled or checkpointed function, with in-place writes to its operand
    or its results in between.
    """
    b.require(Capability.WRITES)
    value = chain(b, b.leaf_of(((3,), (2, 3), ())), 1)
    if b.below(2):
        end_region(b)
    op = b.pick(b.available("multiply", "add", "negative", "sin"))
    results = []
    for _ in range(2 + b.below(2)):
        results.append(b.apply(op, (value, value))[0] if op in ("multiply", "add") else b.ops.nonlinear(value, op))
        b.writes.to(b.pick((value, results[0])), b.pick(("add_scalar_", "mul_scalar_", "zero_", "neg_")))
    if b.below(2):
        end_region(b)
        b.writes.to(results[0])
    call_some(b, results, 1)


@for_regions
def masks_inside(b: Draft) -> None:
    """Draws dropout, once or twice, in a compiled or checkpointed function that gets the mask as an input, so that the
    mask is observable.
    """
    b.require(Capability.RANDOM)
    if not {"dropout", "dropout_mask"} <= {*b.alphabet.modules}:
        raise Unsupported("the framework has no dropout")
    value = chain(b, b.leaf_of(((3,), (2, 3))), 1)
    results = []
    for _ in range(1 + b.below(2)):
        attrs = b.pick(choices_of(RANDOM_OPS["dropout_mask"], (b.shape(value),)))
        (mask,) = b.apply("dropout_mask", (value,), attrs)
        end_region(b)  # the mask has to be observed: values inside a region are not
        (made,) = b.apply("dropout", (value, mask), attrs)
        results.append(chain(b, made, 1))
        value = made
        if b.below(2):
            end_region(b)
    call_some(b, results, 2)
