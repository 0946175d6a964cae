"""The names of recorded ops: an op of the catalogue, or an op's derivative, which is an op, too."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Vjp:
    """The vector-Jacobian product of an op, as an op of the op's operands and then its results' cotangents.

    It is what a backward call with create_graph records.
    """

    op: RecordedOp
    """The op that is differentiated, itself a derivative where derivatives are differentiated."""
    arity: int
    """How many operands that op has: they come before the cotangents."""

    def __str__(self) -> str:
        return f"vjp {self.arity} {self.op}"


RecordedOp = str | Vjp


def base_op(op: RecordedOp) -> str:
    """The op of the catalogue that a derivative of any order is the derivative of; an op itself where it is none."""
    while isinstance(op, Vjp):
        op = op.op
    return op


def derivative_order(op: RecordedOp) -> int:
    """How many times an op was differentiated: 0 for an op of the catalogue."""
    count = 0
    while isinstance(op, Vjp):
        op, count = op.op, count + 1
    return count
