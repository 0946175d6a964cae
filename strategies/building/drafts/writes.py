"""Draws writes: in-place ops on values of a program under construction."""

from __future__ import annotations

from functools import lru_cache

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.rows.row import choices_of, rest_of, takes
from autograd_conformance.ops.tables import OPS, Op
from autograd_conformance.programs.language import InPlace, Ref, Shape
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.strategies.building.drafts.operands import Operands
from autograd_conformance.strategies.building.drafts.ops import LIMIT, Ops
from autograd_conformance.strategies.building.drafts.script import Script
from autograd_conformance.strategies.building.randomness.choices import Choices
from autograd_conformance.strategies.building.unsupported import Unsupported, UnsupportedOp

USUAL = (
    "mul_", "add_", "zero_", "copy_", "mul_scalar_", "set_slice_", "set_index_", "exp_", "fill_", "sin_", "tanh_",
    "sub_", "add_scalar_", "set_columns_", "masked_fill_", "sigmoid_", "neg_", "div_",
)  # fmt: skip
"""The in-place ops drawn most often, simplest first."""


@lru_cache(maxsize=8)
def writes_of(ops: tuple[str, ...], writes: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns two tuples of in-place ops, the usual ones and all, without those whose out-of-place op is not in
    `ops`.
    """
    absent = {row.reference for name, row in OPS.items() if name not in ops}
    known = tuple(name for name in writes if WRITES[name].reference not in absent)
    return tuple(name for name in USUAL if name in known), known


class Writes:
    """Adds drawn writes (in-place ops) to a program."""

    def __init__(self, script: Script, choices: Choices, operands: Operands, ops: Ops) -> None:
        self._script, self._choices, self._operands, self._ops = script, choices, operands, ops

    @property
    def known(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Two tuples of the in-place ops that can be drawn: the usual ones, and all."""
        return writes_of(tuple(self._script.alphabet.ops), tuple(self._script.alphabet.writes))

    def require(self, name: str) -> None:
        """Raises `Unsupported` unless the framework has the named in-place op and a test of it can fail for a reason of
        its own: its out-of-place op breaks no rule alone, or has a known difference, which the in-place op may not
        have.
        """
        alphabet = self._script.alphabet
        if name not in alphabet.writes:
            raise Unsupported(f"the framework has no {name}")
        if (op := alphabet.faulty_out_of_place(name)) is not None:
            raise UnsupportedOp(f"{op} breaks a rule even out of place", is_missing=False)

    def to(self, target: Ref, name: str | None = None, source: Ref | None = None) -> bool:
        """Writes to a value in place, by the named in-place op or a drawn one. Returns False if the op does not fit the
        value.

        `source` is the operand if the op takes one of its shape.
        """
        script, alphabet = self._script, self._script.alphabet
        if name is not None and name not in alphabet.writes:
            return False
        row = alphabet.row(name) if name else self._fitting(target)
        if row is None or not self._fits(row, target):
            return False
        shapes = self._choices.pick(rest_of(row, script.shape(target)))
        args = [self._source(row, k, shape, target, source) for k, shape in enumerate(shapes, 1)]
        attrs = self._choices.pick(choices_of(row, (script.shape(target), *shapes)))
        operands = [script.reference.values[r] for r in (target, *args)]
        (made,) = script.reference.apply(row.name, (target, *args), attrs)
        apart = row.apart is None or bool(row.apart(*operands))
        if not apart or (made.size and not np.abs(made).max() <= LIMIT):
            return name is None and self.to(target, "zero_")
        script.add(InPlace(row.name, target, tuple(args), attrs))
        self._ops.forget_totals()
        return True

    def _fitting(self, target: Ref) -> Op | None:
        """Draws an in-place op, one time in three from the whole table; if it does not fit the value, returns the next
        one in the table that does, or None.
        """
        usual, known = self.known
        names = usual if self._choices.below(3) else known
        at = self._choices.below(len(names)) if names else 0
        rows = (self._script.alphabet.row(name) for name in (*names[at:], *names[:at]))
        return next((row for row in rows if self._fits(row, target)), None)

    def _fits(self, row: Op, target: Ref) -> bool:
        return takes(row, self._script.shape(target)) and row.domain(0).holds(self._script.reference.values[target])

    def _source(self, row: Op, place: int, shape: Shape, target: Ref, source: Ref | None) -> Ref:
        """Returns an operand of an in-place op: a value that fits and shares no memory with the target, or a fresh
        leaf.
        """
        script, operands = self._script, self._operands
        other = operands.other_dtype(row, target) if row.promotes and self._choices.rarely("mixed") else None
        dtype, owner = other or script.dtypes[target], script.reference.storages.storage

        def fits(ref: Ref) -> bool:
            return script.shape(ref) == shape and script.dtypes[ref] == dtype and owner(ref) != owner(target)

        if source is not None and fits(source) and row.domain(place).holds(script.reference.values[source]):
            return source
        return operands.operand(row, place, shape.__eq__, (shape,), False, dtype, fits)
