"""The tape, and reverse accumulation over it: the vector-Jacobian product of each op, newest first.

Gradient edges name operands and results. A value's edge is the value itself until a recorded write changes the value;
from then on, its edge is the result of that write. Tape entries recorded earlier keep their edges and their operands'
values, so that a gradient is that of the computation as it was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograd_conformance.programs.language import Ref, Shape
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.derivatives import Array, forward_of, vjp_of
from autograd_conformance.reference.staging.vjp import RecordedOp

GradientEdge = Ref
"""The target to which a gradient flows: a value as it was made, or an internal value such as the result of an in-place
write."""

MOVE = "move"
"""The name of an op that only the reference records: copies elements from a base that was written to in place into its
views, or from such a view into its base."""


@dataclass(frozen=True, slots=True)
class Moves:
    """The attributes of a `MOVE`: the positions of the copied elements, counted in row-major order."""

    ways: tuple[tuple[Array, Array], ...]
    """For each operand, the positions read in the operand and the corresponding positions written in the result."""
    shape: Shape
    """The shape of the move's result."""


@dataclass(frozen=True, slots=True)
class TapeEntry:
    """One op on the reference's tape."""

    at: int
    """The number of the instruction that recorded the op."""
    outs: tuple[GradientEdge, ...]
    """The gradient edges of the op's results."""
    op: RecordedOp
    """The name of an op of the op table, a derivative of one (`Vjp`), or `MOVE`."""
    attrs: Any
    """The op's keywords (`Attrs`), such as ``dim``; for a `MOVE`, its `Moves`."""
    args: tuple[GradientEdge, ...]
    """The gradient edges of the op's operands at the time of recording."""
    operands: tuple[Array, ...]
    """The values of the op's operands at the time of recording."""
    needs_input_grad: tuple[bool, ...]
    """For each operand of the op, whether a gradient flows to the operand."""
    operand_storages: tuple[Ref | None, ...] = ()
    """For each operand of the op, the storage that the operand uses; None for intermediate cotangents."""
    result_storages: tuple[Ref | None, ...] = ()
    """For each result of the op, the storage that the result uses."""
    via: tuple[GradientEdge, ...] = ()
    """For a derivative, the results of the differentiated op: an implementation may compute the derivative from these
    instead of from the operands."""


def evaluate(op: RecordedOp, attrs: Any, operands: Sequence[Array]) -> tuple[Array, ...]:
    """Returns the results of a recorded op on the given operands."""
    if op != MOVE:
        return forward_of(op, attrs, tuple([x.shape for x in operands]))(*operands)
    out = np.zeros(int(np.prod(attrs.shape)))
    for x, (source, target) in zip(operands, attrs.ways, strict=True):
        np.add.at(out, target, x.ravel()[source])
    return (out.reshape(attrs.shape),)


def transposed(moves: Moves, operand: int, shape: Shape) -> Moves:
    """Returns the inverse of a move: from its result to its operand number `operand`, which has the given shape."""
    source, target = moves.ways[operand]
    return Moves(((target, source),), shape)


VjpRule = Callable[[TapeEntry, list[Array], list[Array]], tuple[Array, ...]]
"""A function of a tape entry, its operands and the cotangents of its results that returns the cotangents of its
operands."""


def exact_vjp(entry: TapeEntry, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
    """Computes the vector-Jacobian product of one tape entry in float64: the cotangents of its operands."""
    if entry.op == MOVE:
        return tuple(evaluate(MOVE, transposed(entry.attrs, k, x.shape), cotangents)[0] for k, x in enumerate(operands))
    return vjp_of(entry.op, entry.attrs, tuple([x.shape for x in operands]))(*operands, *cotangents)


def contributions_of(entry: TapeEntry, cotangents: tuple[Array, ...]) -> list[tuple[GradientEdge, Array]]:
    """Returns the cotangents of those operands to which a gradient flows, each with its edge."""
    return [
        (edge, ct)
        for edge, ct, needs_input_grad in zip(entry.args, cotangents, entry.needs_input_grad, strict=True)
        if needs_input_grad
    ]


Hooked = Mapping[GradientEdge, Sequence[Callable[[Array], Array]]]
"""For each edge, the functions that change its complete cotangent, in the order of their calls."""


def pull(
    entries: Sequence[TapeEntry],
    values: Mapping[GradientEdge, Array],
    roots: Iterable[tuple[GradientEdge, Array]],
    vjp: VjpRule = exact_vjp,
    combine: Callable[[Array, Array], Array] = np.add,
    joined: bool = True,
    hooked: Hooked = {},  # noqa: B006 - never changed
) -> dict[GradientEdge, Array]:
    """Computes the cotangents of all edges on which `roots` depend, by reverse accumulation over the tape, newest entry
    first.

    `combine` joins the contributions to an edge. If it is not a sum, `joined` says whether the contributions of one op
    that uses an edge as several operands are added first.
    """
    cotangents: dict[GradientEdge, Array] = {}

    def add(edge: GradientEdge, ct: Array) -> None:
        cotangents[edge] = combine(cotangents[edge], ct) if edge in cotangents else ct

    def complete(edges: Iterable[GradientEdge]) -> None:
        for edge in edges:
            for change in hooked.get(edge, ()) if edge in cotangents else ():
                cotangents[edge] = change(cotangents[edge])

    for edge, ct in roots:
        add(edge, ct)
    inner: set[GradientEdge] = set()
    for entry in reversed(entries):
        if cotangents.keys().isdisjoint(entry.outs):
            continue
        if hooked:
            complete(entry.outs)
            inner.update(entry.outs)
        cts = [cotangents[r] if r in cotangents else np.zeros_like(values[r]) for r in entry.outs]
        passed = contributions_of(entry, vjp(entry, list(entry.operands), cts))
        if combine is np.add or not joined:
            for edge, ct in passed:
                add(edge, ct)
        else:
            for edge in dict.fromkeys(edge for edge, _ in passed):
                add(edge, np.add.reduce([ct for other, ct in passed if other == edge]))
    if hooked:
        complete([edge for edge in cotangents if edge not in inner])
    return cotangents
