"""A run of a program in which every rounding is perturbed at random; `reference.rounding.bounds` estimates errors with
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from autograd_conformance.ops.catalogue import LONG, MODULES, WRITES
from autograd_conformance.ops.rows.dtypes import precision, result_dtype
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.dtypes import COARSE, DTYPES
from autograd_conformance.programs.language import Detach, Leaf, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import GradientEdge, TapeEntry, evaluate, exact_vjp
from autograd_conformance.reference.computation.value_types import InternalValue
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.reference.staging.vjp import Vjp, base_op, derivative_order

STEP = {"float32": 1e-6, "float64": 1e-7, **{name: DTYPES[name].epsilon / 16 for name in COARSE}}
"""The relative size of a perturbation, by the narrowest dtype of a program. In float32 it is about the largest error
that an op may have, so that the curvature of ops has the effect that it has on real roundings. In float64 it is far
above the rounding errors of the reference itself. In a dtype of few digits it is small, so that no perturbed operand
leaves the domain of an op."""

PRODUCTS = 4.0  # each differentiation of an op multiplies its roundings by this
MANY = 16.0  # roundings of an op that consists of many, with gates nearly shut
SEVERAL = 4.0  # roundings of a module, which is several ops: a norm of nearly equal numbers
POINTWISE = ("elementwise", "binary", "activations")
"""The families of ops that compute each element of a result from single elements of the operands."""
MODERATE = 100.0
"""The size up to which a formula of such an op may have intermediate numbers that are larger than its result, such as
the argument of an exponential that does not overflow."""

Dtypes = Mapping[GradientEdge, str]
"""The dtype of each value, and of each other edge, as far as the program determines it."""


def dtypes_of(reference: Reference, narrow: str) -> Dtypes:
    """Returns the dtype of each edge that ops made from leaves. All other edges are assumed to have the narrowest
    dtype.
    """
    found: dict[GradientEdge, str] = {
        Ref(at): step.value.dtype for at, step in enumerate(reference.steps) if isinstance(step, Leaf)
    }
    for entry in reference.tape.entries:
        if isinstance(entry.op, str) and entry.op in OPS:
            row, given = OPS[entry.op], [found.get(edge, narrow) for edge in entry.args]
            made = result_dtype(row, given, [x.shape for x in entry.operands])
            found.update(dict.fromkeys(entry.outs, made or narrow))
    return found


class PerturbedRun:
    """Computes a program again, with random relative perturbations in place of roundings."""

    def __init__(self, reference: Reference, seed: int, dtypes: Dtypes, narrow: str, step: float | None = None) -> None:
        self.step = STEP[narrow] if step is None else step
        """The relative size of a perturbation."""
        self.reference = reference
        """The program, run without perturbation."""
        self.dtypes = dtypes
        """The dtype to which each edge is rounded."""
        self.narrow = narrow
        """The narrowest dtype in which the program computes; numbers of wider dtypes are perturbed by correspondingly
        less."""
        self.random = np.random.default_rng(seed)
        """The random number generator for the perturbations."""
        self.roundings = 0
        """Number of array elements perturbed so far, each counted once per perturbation."""
        self.values: dict[GradientEdge, Array] = dict(reference.values)
        """The values of this run."""
        self.entries: list[TapeEntry] = []
        """The tape entries, with the operands of this run."""
        self._moved: dict[GradientEdge, Array] = {}  # the errors of values from which others are computed
        self._shown_late: dict[GradientEdge, Array] = {}  # the errors that values had until they were observed
        self._detached = {Ref(at): step.source for at, step in enumerate(reference.steps) if isinstance(step, Detach)}
        for entry in reference.tape.entries:
            self._compute(entry)
        sources = {ref: self._origin(source) for ref, source in self._detached.items()}
        self.values.update({ref: self.values[source] for ref, source in sources.items() if source in self._moved})
        self.forward_roundings = self.roundings
        """Number of array elements perturbed in the forward pass."""

    def vjp(self, entry: TapeEntry, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
        """Computes the gradients of the operands of one recorded op, with perturbed operands, cotangents and
        results.
        """
        step = self._rounding(entry)
        cts = [self._jitter(c, step) for c in cotangents]
        gradients = exact_vjp(entry, [self._jitter(x, step) for x in operands], cts)
        own = [self.step * self._epsilon(self.dtypes.get(edge, self.narrow)) for edge in entry.args]
        through = _through(entry, cts)
        return tuple(self._jitter(g, max(step, to), by) for g, to, by in zip(gradients, own, through, strict=True))

    def _compute(self, entry: TapeEntry) -> None:
        """Computes the op of one tape entry with perturbed operands and results, and stores its results."""
        reference = self.reference
        late = reference.shown_late
        hidden = bool(reference.unobserved or late)  # a value's elements may be a later write's, not its op's
        exact = [(x, self._error(entry, edge)) for edge, x in zip(entry.args, entry.operands, strict=True)]
        step = self._rounding(entry)
        operands = tuple([self._jitter(x if by is None else x + by, step) for x, by in exact])
        made = evaluate(entry.op, entry.attrs, operands)
        right = evaluate(entry.op, entry.attrs, entry.operands) if hidden else made
        through = _within(entry, operands, made)
        for edge, y, x in zip(entry.outs, made, right, strict=True):
            value = self._jitter(y, step, through)
            self.values[edge] = value
            if isinstance(edge, InternalValue) or not reference.observing:
                self._moved[edge] = value - reference.values[edge]
            elif hidden:
                off = value - x
                self.values[edge] = reference.values[edge] + off
                if edge in reference.unobserved:  # observed values carry no error further
                    self._moved[edge] = off
                elif edge in late:
                    self._shown_late[edge] = off
        if entry.op in WRITES and entry.args[0] in reference.unobserved:
            self._overwrite(entry.args[0], self._moved[entry.outs[0]])
        self.entries.append(replace(entry, operands=operands))

    def _error(self, entry: TapeEntry, edge: GradientEdge) -> Array | None:
        """Returns the error of a value with which an op used it; None if it was observed before."""
        found = self._moved.get(self._origin(edge))
        until = self.reference.shown_late.get(edge, -1) if isinstance(edge, Ref) else -1
        return self._shown_late.get(edge) if found is None and entry.at <= until else found

    def _overwrite(self, target: GradientEdge, off: Array) -> None:
        """Adds the error of an in-place write to its target, and to all unobserved values that share its memory."""
        assert isinstance(target, Ref)
        reference = self.reference
        for ref in reference.unobserved.intersection(reference.storages.aliases(target)):
            shape = reference.values[ref].shape
            anywhere = np.copysign(np.abs(off).max(initial=0.0), self.random.random(shape) - 0.5)
            self._moved[ref] = off if ref == target else anywhere
            self.values[ref] = reference.values[ref] + self._moved[ref]

    def _origin(self, edge: GradientEdge) -> GradientEdge:
        """Returns the value of which an unobserved edge is a detached copy; the edge itself if it is no such copy."""
        reference = self.reference
        while edge in self._detached and (not reference.observing or edge in reference.unobserved):
            edge = self._detached[edge]
        return edge

    def _jitter(self, x: Array, step: float, through: float = 0.0) -> Array:
        """Returns an array with random perturbations, relative to its elements plus the intermediate size `through`.
        The relative size is between half of `step` and one and a half, of either sign: with steps of one size, two
        errors could cancel in each of a few runs.
        """
        self.roundings += x.size
        by = 2 * self.random.random(np.shape(x)) - 1
        return x + (np.abs(x) + through) * step * (by + np.copysign(0.5, by))

    def _rounding(self, entry: TapeEntry) -> float:
        """Returns the relative size of the perturbations of an op."""
        given, dtype = [self.dtypes.get(edge, self.narrow) for edge in (*entry.args, *entry.outs)], self.narrow
        row = OPS.get(base_op(entry.op))
        if row is not None and isinstance(entry.op, str):
            dtype = precision(row, given)
        many = SEVERAL if base_op(entry.op) in MODULES else MANY if row is not None and row.family in LONG else 1.0
        return self.step * self._epsilon(dtype) * many * PRODUCTS ** derivative_order(entry.op)

    def _epsilon(self, dtype: str) -> float:
        """Returns the machine epsilon of a dtype divided by that of the program's narrowest dtype."""
        return DTYPES[dtype].epsilon / DTYPES[self.narrow].epsilon


def _largest(arrays: Sequence[Array]) -> float:
    """Returns the largest magnitude of all elements."""
    return max((float(np.abs(x).max()) for x in arrays if x.size), default=0.0)


def _within(entry: TapeEntry, operands: Sequence[Array], results: Sequence[Array]) -> float:
    """Returns the size of the largest intermediate numbers of an op: they are as large as its operands. For an op of
    single elements, they are no larger than its results either, or a moderate number: beyond it, a formula that
    subtracts its way to a small number (`x - relu(x - 6)`) has no right digit.
    """
    row = OPS.get(entry.op) if isinstance(entry.op, str) else None
    size = _largest(operands)
    return min(size, max(MODERATE, _largest(results))) if row is not None and row.family in POINTWISE else size


def _through(entry: TapeEntry, cotangents: Sequence[Array]) -> list[float]:
    """Returns, for the gradient of each operand, the size of the largest intermediate numbers in its formula. They are
    as large as the cotangents. For a recorded derivative, they are as large as the product of these with the cotangents
    of all earlier differentiations, because the formula is linear in each, except for the operand itself.
    """
    sizes, op, end = [_largest(cotangents)] * len(entry.args), entry.op, len(entry.args)
    while isinstance(op, Vjp):
        first, size = op.arity, _largest(entry.operands[op.arity : end])
        # zero stays zero, even times infinity
        sizes = [by if first <= k < end or not by else by * size if size else 0.0 for k, by in enumerate(sizes)]
        op, end = op.op, first
    return sizes
