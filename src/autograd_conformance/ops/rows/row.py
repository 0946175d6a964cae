"""One row of the op catalogue: everything that the suite knows about an op.

Strategies read the operands, attributes and values that an op accepts. The tape model reads whether the derivative
needs saved values, the reference the function to compute, and printers the code. The reference is a function of a
namespace `j`, which is an argument, so that this table can be used without JAX: `j.np` is jax.numpy, `j.nn` jax.nn,
`j.lax` jax.lax, `j.sp` jax.scipy.special, `j.linalg` jax.numpy.linalg.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Any

from autograd_conformance.ops.rows.domains import ANY, Domain
from autograd_conformance.programs.language import Attrs, Shape


class Certainty(IntEnum):
    """How certainly a property of an op holds; only `NEVER` is false as a condition."""

    NEVER = 0
    """The property does not hold."""
    MAYBE = 1
    """It is unknown whether the property holds, or the implementation decides."""
    ALWAYS = 2
    """The property holds."""


RESULTS = -1
"""The number that means the op's results in `Op.also_saves`, whose other numbers are positions of operands."""

Choices = Sequence[Mapping[str, Any]]
"""Combinations of an op's attributes, each as a mapping from names to values: ``{"dim": 0, "keepdim": False}``."""

NO_ATTRIBUTES: Choices = ({},)
NO_FURTHER_OPERANDS: tuple[tuple[Shape, ...], ...] = ((),)

POOL: tuple[Shape, ...] = (
    (3,),
    (2,),
    (),
    (2, 3),
    (1,),
    (3, 2),
    (2, 2),
    (1, 3),
    (2, 1),
    (0,),
    (3, 3),
    (2, 2, 3),
    (2, 1, 3),
    (0, 3),
    (1, 2, 1, 2),
)
"""The shapes of new leaves: few, so that cached results per shape are reused; ranks 0 to 4, with
dimensions of 0 and 1."""

KEPT = 8192
"""Maximum number of results, over all ops and shapes together, that each of `rest_of`, `takes` and `choices_of`
caches.
"""

LARGEST = 24
"""Maximum number of elements of a value in a drawn program."""


@dataclass(frozen=True, slots=True)
class Op:
    """A row of the op tables: the name, code, reference function, accepted operands and saved tensors of a
    differentiable op.
    """

    name: str
    """The op's name in programs, such as ``multiply``."""
    torch: str
    """The op's code as in PyTorch's documentation: ``{0}`` and ``{1}`` are operands, ``{dim}`` is the attribute of that
    name.
    """
    reference: Callable[..., Any]
    """The function that computes the op's results from a namespace `j` (in which `j.np` is jax.numpy), the operands
    and, by name, the attributes.
    """
    saves: Certainty
    """Whether the op's derivative needs saved values if every operand requires grad."""
    accepts: Callable[[Shape], bool] = lambda shape: True
    """Tests if the first operand may have a shape."""
    fresh: tuple[Shape, ...] = POOL
    """The shapes of new leaves that strategies make for the op's first operand."""
    rest: Callable[[Shape], Sequence[tuple[Shape, ...]]] = lambda shape: NO_FURTHER_OPERANDS
    """Given the first operand's shape, returns the combinations of shapes of the other operands, whose number is the
    same for every shape.
    """
    choices: Callable[..., Choices] = lambda *shapes: NO_ATTRIBUTES
    """Given the shapes of all operands, returns the combinations of attributes that strategies may draw."""
    domains: tuple[Domain, ...] = (ANY,)
    """The sets of values in which the op is smooth, one per operand; the last one applies to all further operands."""
    apart: Callable[..., bool] | None = None
    """Tests if the values of all operands together are admissible, such as having no ties between two operands; None if
    there is no such condition.
    """
    family: str = ""
    """The name of the op's table, such as ``reductions``."""
    unsaved: tuple[int, ...] = ()
    """For an op that always saves: the operands whose derivative needs no saved value (such as the matrix that addmm
    adds to). If no other operand requires grad, an implementation may save nothing."""
    dtype: str | None = None
    """The dtype of the results, if the op determines the dtype, as a cast does; otherwise None."""
    promotes: Certainty = Certainty.NEVER
    """Whether the op's operands may have several dtypes, with the widest as the result's. With `MAYBE`, intermediate
    numbers of a derivative, such as the square of a divisor, may have a narrower dtype.
    """
    aliases: Certainty = Certainty.NEVER
    """Whether the op's results share the first operand's memory."""
    multi: bool = False
    """Whether the op returns several views at once, to which PyTorch refuses recorded in-place writes."""
    sequence: bool = False
    """Whether the op's code returns a sequence, even for one result."""
    overlaps: bool = False
    """Whether several elements of a result may have the same place in memory, so that writing to the result is
    undefined."""
    also_saves: tuple[int, ...] = ()
    """The operands (and `RESULTS`) that PyTorch was observed to save although the derivative does not depend on them,
    so that a later write to them raises. It saves them for their shapes, for another operand's derivative, or for
    points that are never judged."""
    code: Callable[[Sequence[str], Mapping[str, Any]], str] | None = None
    """Writes the op's code from the operands' names and the attributes, in place of the template `torch`, for ops whose
    code depends on more than the attributes' values.
    """
    examples: tuple[Attrs, ...] = ()
    """Further valid attributes besides `choices`, covering every kind of value that they may have."""
    draws: Callable[..., bool] | None = None
    """For a random op, tests if an observed array is one that the op may have drawn. The function takes the array, the
    largest rounding error of a number near 1, and the op's attributes.
    """

    def __hash__(self) -> int:
        """Returns the hash of the name: the other fields are many, and ops are keys of caches."""
        return hash(self.name)

    @property
    def template(self) -> str | Callable[[Sequence[str], Mapping[str, Any]], str]:
        """The op's code in PyTorch, as a template or as a function that writes the code (as `printing.dialect.fill`
        takes it).
        """
        return self.code or self.torch

    def domain(self, operand: int) -> Domain:
        """Returns the domain (the set of values in which the op is smooth) of the operand at a position."""
        return self.domains[min(operand, len(self.domains) - 1)]

    def saving(self, requires_grad: Sequence[bool]) -> Certainty:
        """Returns how certainly the op's derivative needs saved values, given which operands require grad."""
        if self.saves is Certainty.ALWAYS and all(
            k in self.unsaved for k, needed in enumerate(requires_grad) if needed
        ):
            return Certainty.MAYBE
        return self.saves


@lru_cache(maxsize=KEPT)
def rest_of(op: Op, first: Shape) -> tuple[tuple[Shape, ...], ...]:
    """Returns the combinations of shapes of an op's other operands, given the first operand's shape, without those for
    which there are no attributes. Results are cached.
    """
    return tuple(rest for rest in op.rest(first) if op.choices(first, *rest))


@lru_cache(maxsize=None)
def arity(op: Op) -> int:
    """Number of operands of an op of the tables; for modules, the number depends on the settings."""
    return 1 + len(op.rest(op.fresh[0])[0])


@lru_cache(maxsize=KEPT)
def takes(op: Op, first: Shape) -> bool:
    """Whether a strategy can draw an op with a first operand of this shape."""
    return op.accepts(first) and bool(rest_of(op, first))


@lru_cache(maxsize=KEPT)
def choices_of(op: Op, shapes: tuple[Shape, ...]) -> tuple[Attrs, ...]:
    """Returns the combinations of attributes for operands of these shapes, each as hashable pairs: ``(("dim", 0),
    ("keepdim", False))``. Results are cached.
    """
    return tuple(tuple(choice.items()) for choice in op.choices(*shapes))


def table(family: str, *rows: Op) -> dict[str, Op]:
    """The rows of one family by name, with their `family` set."""
    return {row.name: replace(row, family=family) for row in rows}
