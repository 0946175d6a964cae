"""The alphabet: the ops, dtypes and capabilities of the framework under test that programs may use.

Strategies are created when the suites are imported, before the framework is known. So the alphabet is no argument of a
strategy but a context variable. A run sets the alphabet once, after the framework is known and its faulty ops are
found; each program under construction reads it once, when it begins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from autograd_conformance.ops.catalogue import WRITES, row_of
from autograd_conformance.ops.limits import Limits, limited, outside
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.rows.row import Op, choices_of, takes
from autograd_conformance.ops.rows.shapes import form
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import PYTORCH, Capability, Traits
from autograd_conformance.programs.dtypes import USUAL
from autograd_conformance.programs.hazards import Hazard
from autograd_conformance.programs.language import Apply, Attrs, Backward, Grad, Program, Shape
from autograd_conformance.rules.situations import TWO_OPERANDS, Offer
from autograd_conformance.strategies.building.unsupported import Unsupported, UnsupportedOp, UnsupportedShape

CORE = (
    "multiply", "sum", "add", "sin", "negative", "exp", "subtract", "sigmoid", "tanh", "matmul", "divide", "square",
    "mean", "reshape", "matrix_transpose", "relu", "split", "unstack", "concat", "expand_dims", "multiply_scalar",
    "softmax",
)  # fmt: skip
"""The ops drawn most often, simplest first, which is also the order of shrinking."""


SAVING = ("multiply", "sin", "square", "sigmoid", "tanh", "cos", "atan", "silu", "gelu")
"""Smooth ops that always save tensors, preferred by most strategies. `Ops.saving` replaces missing ones."""


@dataclass(frozen=True)
class Alphabet:
    """The ops, dtypes, capabilities and other features that programs may use."""

    ops: Sequence[str]
    """Names of ops, simplest first."""

    dtypes: Sequence[str] = ("float64", "float32")
    """Names of dtypes; the leaves of a program have one of them, except that rare ops get an operand of another."""

    capabilities: frozenset[Capability] = frozenset(Capability)
    """The capabilities that the framework claims. Programs require no others."""

    excluded: frozenset[str] = frozenset()
    """Ops of the framework that no program uses, because they break a rule when each runs alone."""

    listed: frozenset[str] = frozenset()
    """Those of `excluded` that a known difference names. The tests of their in-place ops run: these may be right, or
    wrong in another way.
    """

    first_order_only: frozenset[str] = frozenset()
    """Ops not used in programs that differentiate twice or more, because their second derivatives are faulty."""

    listed_twice: frozenset[str] = frozenset()
    """Those of `first_order_only` whose second derivatives have a known difference. In-place ops as above."""

    second_order_only: frozenset[str] = frozenset()
    """Further ops not used in programs that differentiate three times, because their third derivatives are faulty."""

    optimizers: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Names of optimizers, each with the settings that the framework supports."""

    writes: Collection[str] = tuple(WRITES)
    """Names of the in-place ops that the framework supports, such as "mul_"."""

    limits: Limits = field(default_factory=dict)
    """For ops and in-place ops that the framework supports in part, the supported shapes and attributes. Others have no
    limit.
    """

    autocast: Mapping[str, str] = field(default_factory=dict)
    """The dtype in which an op computes under autocast, by the op's name; `OF_OPERANDS` for one that computes as usual.
    """

    modules: Sequence[str] = ()
    """Names of the framework's layer modules and of its random ops."""

    traits: Traits = PYTORCH
    """The behaviour of the framework where the rules allow several, such as whether every leaf's `.grad` begins as
    zeros.
    """

    regions: bool = False
    """Whether the framework compiles or recomputes regions (several instructions that run as one function)."""

    absent_forms: frozenset[str] = frozenset()
    """The forms of leaves, such as "vectors", as named by `ops.rows.shapes.form`, that the framework does not have."""
    spared: frozenset[Hazard] = frozenset(Hazard)
    """Situations that no program has, because the framework may end the process in them."""

    retries: bool = False
    """Whether a draw that needs an unsupported op is rejected and repeated, instead of ending the test."""

    weighted: Sequence[str] = field(init=False)
    """The ops to draw from evenly: those of `CORE` come first and are repeated, so that together they get at least a
    third of all draws.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "ops", tuple(filter(self._makes_its_dtypes, self.ops)))
        if self.limits_shapes or self.limits:
            object.__setattr__(self, "ops", tuple(filter(self._is_drawable, self.ops)))
        core = [name for name in CORE if name in self.ops]
        rare = [name for name in self.ops if name not in core]
        weight = max(1, len(rare) // max(1, 2 * len(core)))
        object.__setattr__(self, "weighted", tuple(core) + tuple(core * weight) + tuple(rare))

    def _makes_its_dtypes(self, op: str) -> bool:
        """Whether an op is no cast to a dtype of few digits that programs do not have."""
        made = row_of(op).dtype
        return made is None or made in USUAL or made in self.dtypes

    def _is_drawable(self, op: str) -> bool:
        """Whether there is a shape of operands that can be drawn and on which an op can be applied."""
        row = self.row(op)
        return any(self.admits(first) and takes(row, first) for first in row.fresh)

    @cached_property
    def one_element(self) -> bool:
        """Whether every value has one element: because the framework has only scalars, or because it has neither
        explicit cotangents nor a sum, so that no backward call can begin at a value of several elements.
        """
        return self.traits.scalars or not (Capability.COTANGENTS in self.capabilities or "sum" in self.ops)

    @cached_property
    def limits_shapes(self) -> bool:
        """Whether leaves of some shapes cannot be drawn."""
        return self.one_element or bool(self.absent_forms)

    @cached_property
    def has_binary_op(self) -> bool:
        """Whether the framework has an op of two operands, such as `add`."""
        return TWO_OPERANDS.satisfied_by(Offer(frozenset(self.ops), self.capabilities, self.traits))

    @property
    def needs_retries(self) -> bool:
        """Whether some draws reach shapes to which no op can be applied, so that programs have to be drawn again."""
        return self.limits_shapes or "sum" not in self.ops or self.limits_forms or not {*SAVING} & {*self.ops}

    def admits(self, shape: Shape) -> bool:
        """Whether values of a shape can be drawn."""
        if self.absent_forms and form(shape) in self.absent_forms:
            return False
        return not self.one_element or (shape == () if self.traits.scalars else prod(shape) == 1)

    def row(self, name: str) -> Op:
        """Returns the table row of an op or an in-place op, limited to the shapes and attributes that the framework
        supports.
        """
        return self._limited.get(name) or row_of(name)

    @cached_property
    def _limited(self) -> Mapping[str, Op]:
        return {name: limited(row_of(name), limit) for name, limit in self.limits.items()}

    @cached_property
    def limits_forms(self) -> bool:
        """Whether some ops or in-place ops are supported for some shapes or attributes only, or some in-place ops not
        at all.
        """
        return bool(self.limits) or len({*self.writes}) < len(WRITES)

    def unsupported(self, op: str, shapes: Sequence[Shape], attrs: Attrs) -> str | None:
        """Describes why the framework does not support an op or an in-place op, as "sum with keepdim=True"; returns
        None if it does.
        """
        if op in WRITES and op not in self.writes:
            return op
        return outside(self.limits, op, shapes, attrs)

    def faulty_out_of_place(self, write: str, twice: bool = False) -> str | None:
        """Returns the out-of-place form of an in-place op, if it breaks a rule alone (with `twice`, also if it breaks
        one when differentiated twice) that no known difference names; None otherwise.
        """
        faulty = self.excluded - self.listed
        faulty |= self.first_order_only - self.listed_twice if twice else frozenset()
        found = (op for op in sorted(faulty) if op in OPS and OPS[op].reference is WRITES[write].reference)
        return next(found, None)

    def uses_faulty(self, program: Program) -> bool:
        """Whether a program uses an op that breaks a rule when it runs alone, differentiated as often as in the
        program.
        """
        creates = any(isinstance(step, Backward | Grad) and step.create_graph for step in program)
        faulty = {*self.excluded, *(self.first_order_only | self.second_order_only if creates else ())}
        return any(isinstance(step, Apply) and step.op in faulty for step in program)

    # -- needs of a program -------------------------------------------------------------------------------------------

    def can(self, *needs: Capability) -> bool:
        """Whether the framework has these capabilities."""
        return self.capabilities.issuperset(needs)

    def require(self, *needs: Capability) -> None:
        """Raises `Unsupported` unless the framework has these capabilities."""
        missing = [need.value for need in needs if need not in self.capabilities]
        if missing:
            raise Unsupported(f"needs {', '.join(missing)}, not claimed")

    def require_regions(self) -> None:
        """Raises `Unsupported` unless the framework compiles or recomputes regions (several instructions that run as
        one function).
        """
        if not self.regions:
            raise Unsupported("needs a framework that compiles or recomputes regions")

    def require_absent_grad(self) -> None:
        """Raises `Unsupported` if a leaf's `.grad` is never None."""
        if self.traits.begins_with_zeros and not self.can(Capability.ZERO_TO_NONE):
            raise Unsupported("needs leaves without a gradient; the framework gives every leaf a .grad of zeros")

    def available(self, *names: str) -> tuple[str, ...]:
        """Returns the named ops that can be drawn. Raises `UnsupportedOp` if there are none, or `UnsupportedShape` if
        such draws are retried.
        """
        found = tuple(name for name in names if name in self.ops)
        if not found:
            absent = (f"{name} ({'left out' if name in self.excluded else 'missing'})" for name in names)
            why = f"needs {' or '.join(absent)}"
            if self.retries:
                raise UnsupportedShape(why)
            raise UnsupportedOp(why, is_missing=self.excluded.isdisjoint(names))
        return found

    def shapes(self, options: Sequence[Shape]) -> Sequence[Shape]:
        """Returns those of some shapes that can be drawn. Raises `UnsupportedShape` if there are none."""
        if not self.limits_shapes:
            return options
        found = tuple(filter(self.admits, options))
        if not found and self.absent_forms:
            absent = ", ".join(sorted(self.absent_forms))
            raise UnsupportedShape(f"needs leaves of other forms; the framework has none that are {absent}")
        if not found:
            raise UnsupportedShape("needs tensors of several elements, and backward calls on them")
        return found

    def attributes(self, op: str, *shapes: Shape) -> Sequence[Attrs]:
        """Returns the sets of attributes that an op may have on operands of these shapes. Raises `UnsupportedShape` if
        there are none.
        """
        found = choices_of(self.row(op), shapes)
        if not found:
            raise UnsupportedShape(f"the framework does not support {op} on operands of shapes {shapes}")
        return found

    # -- other alphabets ----------------------------------------------------------------------------------------------

    def retrying(self) -> Alphabet:
        """Returns this alphabet, with draws that need unsupported ops rejected and repeated."""
        return replace(self, retries=True)

    def without(self, ops: Collection[str]) -> Alphabet:
        """Returns this alphabet without some ops."""
        return replace(self, ops=tuple(name for name in self.ops if name not in ops))

    @cached_property
    def fixed_dtype(self) -> Alphabet:
        """The alphabet for programs that do not change the default dtype."""
        return replace(self, capabilities=self.capabilities - {Capability.DEFAULT_DTYPE})

    @cached_property
    def second_order(self) -> Alphabet:
        """The alphabet for programs that differentiate twice: without the ops of `first_order_only`."""
        return self.without(self.first_order_only)

    @cached_property
    def third_order(self) -> Alphabet:
        """The alphabet for programs that differentiate three times: without the ops of `first_order_only` and
        `second_order_only`.
        """
        return self.without(self.first_order_only | self.second_order_only)


EVERYTHING = Alphabet(tuple(OPS), optimizers={name: tuple(dict(row.defaults)) for name, row in OPTIMIZERS.items()})
"""All ops, dtypes, optimizers and capabilities; no modules."""

_in_use = ContextVar("alphabet", default=EVERYTHING)


def current() -> Alphabet:
    """Returns the alphabet (the ops, dtypes and capabilities that programs may use) in use; `EVERYTHING` if none was
    set.
    """
    return _in_use.get()


def use(alphabet: Alphabet) -> None:
    """Sets the alphabet (the ops, dtypes and capabilities that programs may use) for the rest of the run."""
    _in_use.set(alphabet)


@contextmanager
def using(alphabet: Alphabet) -> Iterator[Alphabet]:
    """Sets the alphabet (the ops, dtypes and capabilities that programs may use) inside a `with` block. At its end the
    earlier one is restored, whatever was set inside.
    """
    token = _in_use.set(alphabet)
    try:
        yield alphabet
    finally:
        _in_use.reset(token)
