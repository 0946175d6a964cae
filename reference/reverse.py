"""What was recorded, and reverse accumulation over it: each op's vector-Jacobian product, newest first.

Operands and results are named by slots. A value's slot is the value itself until something is written to it in place
and recorded; from then on it is the result of that write. What was recorded before keeps the slots, and the operands'
values, that it was recorded with: that is what "the computation as it was recorded" means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from autograd_conformance.programs.language import Ref, Shape
from autograd_conformance.reference.staging.derivatives import Array, forward_of, vjp_of

GradientEdge = Ref
"""What a cotangent belongs to."""

MOVE = "move"
"""The record of elements that change places: into a view of what was written, and back into its base."""


@dataclass(frozen=True, slots=True)
class Moves:
    """For each operand of a move, which of its elements go where in the result, both counted in row-major order."""

    ways: tuple[tuple[Array, Array], ...]
    shape: Shape


@dataclass(frozen=True, slots=True)
class TapeEntry:
    """An op as it was recorded by instruction `at`: the slots that it made, and its operands with the values that
    they had then. `needs_input_grad` says which operands pass a gradient on; `cells` whose memory operands and
    results were in. A derivative may be computed from what the op itself made, the slots `via`, in the place of its
    operands.
    """

    at: int
    outs: tuple[GradientEdge, ...]
    op: str
    attrs: Any
    args: tuple[GradientEdge, ...]
    operands: tuple[Array, ...]
    needs_input_grad: tuple[bool, ...]
    operand_storages: tuple[Ref | None, ...] = ()
    result_storages: tuple[Ref | None, ...] = ()
    via: tuple[GradientEdge, ...] = ()


def evaluate(op: str, attrs: Any, operands: Sequence[Array]) -> tuple[Array, ...]:
    """The results of a recorded op for some operands."""
    if op != MOVE:
        return forward_of(op, attrs, tuple([x.shape for x in operands]))(*operands)
    out = np.zeros(int(np.prod(attrs.shape)))
    for x, (source, target) in zip(operands, attrs.ways, strict=True):
        np.add.at(out, target, x.ravel()[source])
    return (out.reshape(attrs.shape),)


def transposed(moves: Moves, operand: int, shape: Shape) -> Moves:
    """The way back of a move: from its result to one of its operands, which has a shape."""
    source, target = moves.ways[operand]
    return Moves(((target, source),), shape)


Vjp = Callable[[TapeEntry, list[Array], list[Array]], tuple[Array, ...]]


def exact_vjp(record: TapeEntry, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
    """One op's vector-Jacobian product in float64."""
    if record.op == MOVE:
        return tuple(
            evaluate(MOVE, transposed(record.attrs, k, x.shape), cotangents)[0] for k, x in enumerate(operands)
        )
    return vjp_of(record.op, record.attrs, tuple([x.shape for x in operands]))(*operands, *cotangents)


Hooked = Mapping[GradientEdge, Sequence[Callable[[Array], Array]]]
"""What changes a slot's cotangent once it is complete, in order."""


def pull(
    records: Sequence[TapeEntry],
    values: Mapping[GradientEdge, Array],
    roots: Iterable[tuple[GradientEdge, Array]],
    vjp: Vjp = exact_vjp,
    combine: Callable[[Array, Array], Array] = np.add,
    joined: bool = True,
    hooked: Hooked = {},  # noqa: B006 - never changed
) -> dict[GradientEdge, Array]:
    """Reverse accumulation over what was recorded, newest first.

    `combine` joins the contributions to a slot; where it is not a sum, `joined` says whether what one op contributes to
    a slot that it takes in several places counts as one contribution.
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
    for record in reversed(records):
        if not any(r in cotangents for r in record.outs):
            continue
        if hooked:
            complete(record.outs)
            inner.update(record.outs)
        cts = [cotangents[r] if r in cotangents else np.zeros_like(values[r]) for r in record.outs]
        contributions = vjp(record, list(record.operands), cts)
        passed = [
            (edge, ct)
            for edge, ct, needs_input_grad in zip(record.args, contributions, record.needs_input_grad, strict=True)
            if needs_input_grad
        ]
        if combine is np.add or not joined:
            for edge, ct in passed:
                add(edge, ct)
        else:
            for edge in dict.fromkeys(edge for edge, _ in passed):
                add(edge, np.add.reduce([ct for other, ct in passed if other == edge]))
    if hooked:
        complete([edge for edge in cotangents if edge not in inner])
    return cotangents
