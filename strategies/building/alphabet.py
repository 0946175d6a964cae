"""What programs may be drawn from: the ops, dtypes and claims of the framework under test.

Strategies are made when the suites are imported, before a framework is known. So the alphabet is no argument of theirs
but a value of the context that they draw in: a run sets it once, when the framework is known and its broken ops have
been found, and each draft reads it once, when it begins.
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
from autograd_conformance.ops.rows.row import Op, takes
from autograd_conformance.ops.rows.shapes import form
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import PYTORCH, Capability, Traits
from autograd_conformance.programs.language import Attrs, Shape
from autograd_conformance.rules.situations import TWO_OPERANDS, Offer

CORE = (
    "multiply", "sum", "add", "sin", "negative", "exp", "subtract", "sigmoid", "tanh", "matmul", "divide", "square",
    "mean", "reshape", "matrix_transpose", "relu", "split", "unstack", "concat", "expand_dims", "multiply_scalar",
    "softmax",
)  # fmt: skip
"""Ops that most programs are made of: the simplest first, which is also the order in which failures shrink."""


SAVING = ("multiply", "sin", "square", "sigmoid", "tanh", "cos", "atan", "silu", "gelu")
"""Smooth ops that certainly save, which situations are made of: where there is none, others stand in for them."""


@dataclass(frozen=True)
class Alphabet:
    """What programs may be made of, and what they may ask of a framework."""

    ops: Sequence[str]
    """Names of ops, the simplest first."""

    dtypes: Sequence[str] = ("float64", "float32")
    """Names of dtypes, one of which a program computes in."""

    capabilities: frozenset[Capability] = frozenset(Capability)
    """What the framework claims that it can do; no program asks for anything else."""

    excluded: frozenset[str] = frozenset()
    """Ops that the framework has and that are in no program, because they are wrong by themselves."""

    first_order_only: frozenset[str] = frozenset()
    """Ops that are left out where a program differentiates twice or more often."""

    second_order_only: frozenset[str] = frozenset()
    """Further ops that are left out where a program differentiates three times."""

    optimizers: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Names of optimizers, each with the settings that the framework knows of it."""

    writes: Collection[str] = tuple(WRITES)
    """Names of ops in place."""

    limits: Limits = field(default_factory=dict)
    """What programs may ask of some ops and writes, where that is not all; others have no limit."""

    modules: Sequence[str] = ()
    """Names of the framework's modules of layers, and of its random ops."""

    traits: Traits = PYTORCH
    """Which of the legal answers the framework gives."""

    regions: bool = False
    """Whether the framework takes runs of instructions as units."""

    absent_forms: frozenset[str] = frozenset()
    """The forms of leaves, by `ops.rows.shapes.form`, that the framework does not have."""
    retries: bool = False
    """Whether a draw that comes upon an op that is not there is drawn anew, and does not end the test."""

    weighted: Sequence[str] = field(init=False)
    """The ops as they are drawn from: those of `CORE` come first, and so often that they are about half of all."""

    def __post_init__(self) -> None:
        if self.limits_shapes or self.limits:
            object.__setattr__(self, "ops", tuple(filter(self._is_drawable, self.ops)))
        core = [name for name in CORE if name in self.ops]
        rare = [name for name in self.ops if name not in core]
        weight = max(1, len(rare) // max(1, 2 * len(core)))
        object.__setattr__(self, "weighted", tuple(core) + tuple(core * weight) + tuple(rare))

    def _is_drawable(self, op: str) -> bool:
        """Whether there is a form of an op that can be drawn."""
        row = self.row(op)
        return any(self.admits(first) and takes(row, first) for first in row.fresh)

    @cached_property
    def one_element(self) -> bool:
        """Whether every value has one element: the framework has no others, or no call can begin at one of several, for
        want of explicit cotangents and of a sum.
        """
        return self.traits.scalars or not (Capability.COTANGENTS in self.capabilities or "sum" in self.ops)

    @cached_property
    def limits_shapes(self) -> bool:
        """Whether leaves of some shapes cannot be drawn."""
        return self.one_element or bool(self.absent_forms)

    @cached_property
    def has_binary_op(self) -> bool:
        """Whether there is an op that makes one value of two."""
        return TWO_OPERANDS.satisfied_by(Offer(frozenset(self.ops), self.capabilities, self.traits))

    @property
    def needs_retries(self) -> bool:
        """Whether some draws come to shapes with which their programs cannot go on, and others have to be tried."""
        return self.limits_shapes or "sum" not in self.ops or self.limits_forms or not {*SAVING} & {*self.ops}

    def admits(self, shape: Shape) -> bool:
        """Whether values of a shape can be drawn."""
        if self.absent_forms and form(shape) in self.absent_forms:
            return False
        return not self.one_element or (shape == () if self.traits.scalars else prod(shape) == 1)

    def row(self, name: str) -> Op:
        """The row of an op, or of a write, with the shapes and attributes that can be drawn."""
        return self._limited.get(name) or row_of(name)

    @cached_property
    def _limited(self) -> Mapping[str, Op]:
        return {name: limited(row_of(name), limit) for name, limit in self.limits.items()}

    @cached_property
    def limits_forms(self) -> bool:
        """Whether there are ops or writes that cannot be drawn in all their forms, or writes that cannot at all."""
        return bool(self.limits) or len({*self.writes}) < len(WRITES)

    def unsupported(self, op: str, shapes: Sequence[Shape], attrs: Attrs) -> str | None:
        """What of an op, or of a write, cannot be drawn, in words; None where it all can."""
        if op in WRITES and op not in self.writes:
            return op
        return outside(self.limits, op, shapes, attrs)

    def retrying(self) -> Alphabet:
        """The alphabet with which draws that come upon an op that is not there are drawn anew."""
        return replace(self, retries=True)

    def without(self, ops: Collection[str]) -> Alphabet:
        """The alphabet without these ops."""
        return replace(self, ops=tuple(name for name in self.ops if name not in ops))

    @cached_property
    def second_order(self) -> Alphabet:
        """The alphabet of programs that differentiate twice."""
        return self.without(self.first_order_only)

    @cached_property
    def third_order(self) -> Alphabet:
        """The alphabet of programs that differentiate three times."""
        return self.without(self.first_order_only | self.second_order_only)


EVERYTHING = Alphabet(tuple(OPS), optimizers={name: tuple(dict(row.defaults)) for name, row in OPTIMIZERS.items()})
"""Every op, dtype, optimizer and capability; no modules."""

_in_use = ContextVar("alphabet", default=EVERYTHING)


def current() -> Alphabet:
    """The alphabet in use: everything where none was set."""
    return _in_use.get()


def use(alphabet: Alphabet) -> None:
    """Make an alphabet the one that strategies draw from, for the rest of the run."""
    _in_use.set(alphabet)


@contextmanager
def using(alphabet: Alphabet) -> Iterator[Alphabet]:
    """Make an alphabet the one that strategies draw from inside a `with` block; others set there go at its end, too."""
    token = _in_use.set(alphabet)
    try:
        yield alphabet
    finally:
        _in_use.reset(token)
