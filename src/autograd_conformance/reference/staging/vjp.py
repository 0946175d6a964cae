"""The identifiers of ops on the tape: an op of the op table, or the derivative of an op, which is itself an op."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Vjp:
    """The vector-Jacobian product of an op, as an op on the original op's operands and then on the cotangents of its
    results.

    Backward calls with create_graph record such ops on the tape.
    """

    op: RecordedOp
    """The op that is differentiated; for higher derivatives, itself a derivative."""
    arity: int
    """Number of the differentiated op's operands, which come before the cotangents."""

    def __str__(self) -> str:
        return f"vjp {self.arity} {self.op}"


RecordedOp = str | Vjp


def base_op(op: RecordedOp) -> str:
    """Returns the op of the op table that a derivative of any order differentiates; an op that is no derivative is
    returned unchanged.
    """
    while isinstance(op, Vjp):
        op = op.op
    return op


def derivative_order(op: RecordedOp) -> int:
    """Returns how often an op was differentiated: 0 for an op of the op table."""
    count = 0
    while isinstance(op, Vjp):
        op, count = op.op, count + 1
    return count
