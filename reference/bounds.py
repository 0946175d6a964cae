"""How far a right answer may lie from the exact one: a bound from the computation itself.

Every op is assumed to be as accurate as its operands and its result rounded to the dtype (a backward-stable op with a
small constant), and a formula may go through numbers as large as its operands (`x - tanh(x)`) or, for a derivative,
as the cotangent (`1 - y * y` where y is nearly 1). To first order the error of any number that a program computes is
then a sum of J_i * delta_i over all those roundings. The weights J_i are measured by stochastic arithmetic (Vignes
1978, CESTAC): the whole computation, forward and backward, is run with random relative perturbations, and for n
independent roundings sum |J_i| is at most sqrt(n) times the root of the sum of J_i squared, which is what the spread
of the results shows. The factor below covers the constant of the ops. Where a program computes in several dtypes, what
is rounded to a wider one is perturbed by as much less. What is recorded as the derivative of an op, to be
differentiated again, is one op here and many in an implementation, by the product rule, and is perturbed by as much
more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from autograd_conformance.ops.catalogue import LONG, MODULES, WRITES, row_of
from autograd_conformance.ops.dtypes import precision, result_dtype
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Apply, BackwardCall, Detach, Leaf, Program, Ref
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.reverse import GradientEdge, TapeEntry, evaluate, exact_vjp, pull
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.reference.staging.vjp import base_op, derivative_order
from autograd_conformance.reference.value_types import InternalValue

SAMPLES = 12
FEW, MARGIN = 2, 1 / 16  # so many runs tell a distance that is within that share of their bound
STEP = 1e-7  # relative size of a perturbation: far above float64's rounding, far below where curvature counts
FACTOR = 8.0  # units in the last place that an op may lose
EPSILON = {"float32": float(np.finfo(np.float32).eps), "float64": float(np.finfo(np.float64).eps)}
PRODUCTS = 4.0  # how many roundings each further differentiation of an op makes of one
MANY = 16.0  # and how many an op is that is many in one, whose gates are nearly shut
SEVERAL = 4.0  # and a module, which is several ops in one: a norm of numbers that are nearly equal
TINY = {"float32": float(np.finfo(np.float32).tiny), "float64": float(np.finfo(np.float64).tiny)}

Dtypes = Mapping[GradientEdge, str]
"""The dtype of each value and of what was made of it, as far as it follows from the program."""

_CHEAP = {"float32": 64 * EPSILON["float32"], "float64": 64 * EPSILON["float64"]}


def close(got: Array, want: Array, dtype: str) -> bool:
    """The cheap strict comparison, a few units in the last place of the largest element; it decides almost every
    program.
    """
    if got.shape != want.shape:
        return False
    if not got.size:
        return True
    largest = np.maximum.reduce
    distance = largest(np.abs(got - want), axis=None)
    return bool(distance == 0.0 or distance <= _CHEAP[dtype] * largest(np.abs(want), axis=None))


def _dtypes(reference: Reference, narrow: str) -> Dtypes:
    """The dtype of each edge that ops made of leaves; the others are taken for the narrowest that there is."""
    found: dict[GradientEdge, str] = {
        Ref(at): step.value.dtype for at, step in enumerate(reference.steps) if isinstance(step, Leaf)
    }
    for entry in reference.entries:
        if isinstance(entry.op, str) and entry.op in OPS:
            row, given = OPS[entry.op], [found.get(edge, narrow) for edge in entry.args]
            made = result_dtype(row, given, [x.shape for x in entry.operands])
            found.update(dict.fromkeys(entry.outs, made or narrow))
    return found


def _perturbed(
    reference: Reference, seed: int, dtypes: Dtypes, narrow: str
) -> tuple[list[TapeEntry], dict[GradientEdge, Array], Callable[..., tuple[Array, ...]], int]:
    """Tape entries and values with every rounding perturbed, a VJP that perturbs, and how many roundings there were."""
    random = np.random.default_rng(seed)
    count = 0

    def jitter(x: Array, step: float, through: list[Array] | None = None) -> Array:
        nonlocal count
        count += x.size
        size = np.abs(x)
        if through:
            size = size + max((float(np.abs(t).max()) for t in through if t.size), default=0.0)
        return x + np.copysign(size * step, random.random(np.shape(x)) - 0.5)

    def rounding(entry: TapeEntry) -> float:
        given, dtype = [dtypes.get(edge, narrow) for edge in (*entry.args, *entry.outs)], narrow
        row = OPS.get(base_op(entry.op))
        if row is not None and isinstance(entry.op, str):
            dtype = precision(row, given)
        many = SEVERAL if base_op(entry.op) in MODULES else MANY if row is not None and row.family in LONG else 1.0
        return STEP * EPSILON[dtype] / EPSILON[narrow] * many * PRODUCTS ** derivative_order(entry.op)

    detached = {Ref(at): step.source for at, step in enumerate(reference.steps) if isinstance(step, Detach)}

    def origin(edge: GradientEdge) -> GradientEdge:
        while edge in detached and (not reference.observing or edge in reference.unseen):
            edge = detached[edge]
        return edge

    values = dict(reference.values)
    hidden = bool(reference.unseen)
    """Whether what stands in a value may be not what its op made, but what was written over it since."""
    moved: dict[GradientEdge, Array] = {}
    entries: list[TapeEntry] = []

    def overwritten(target: GradientEdge, off: Array) -> None:
        """Let what was written in place, and all that nobody saw of its memory, be off as what was written is."""
        assert isinstance(target, Ref)
        for ref in reference.unseen.intersection(reference.storages.aliases(target)):
            anywhere = np.copysign(np.abs(off).max(initial=0.0), random.random(reference.values[ref].shape) - 0.5)
            moved[ref] = off if ref == target else anywhere
            values[ref] = reference.values[ref] + moved[ref]

    for entry in reference.entries:
        exact = [(x, moved.get(origin(edge))) for edge, x in zip(entry.args, entry.operands, strict=True)]
        step = rounding(entry)
        operands = tuple([jitter(x if by is None else x + by, step) for x, by in exact])
        made = evaluate(entry.op, entry.attrs, operands)
        right = evaluate(entry.op, entry.attrs, entry.operands) if hidden else made
        for edge, y, x in zip(entry.outs, made, right, strict=True):
            values[edge] = jitter(y, step, list(operands))
            if isinstance(edge, InternalValue) or not reference.observing:
                moved[edge] = values[edge] - reference.values[edge]
            elif hidden:
                off = values[edge] - x
                values[edge] = reference.values[edge] + off
                if edge in reference.unseen:  # what was seen carries no error further
                    moved[edge] = off
        if entry.op in WRITES and entry.args[0] in reference.unseen:
            overwritten(entry.args[0], moved[entry.outs[0]])
        entries.append(replace(entry, operands=operands))
    sources = {ref: origin(source) for ref, source in detached.items()}
    values.update({ref: values[source] for ref, source in sources.items() if source in moved})

    def vjp(entry: TapeEntry, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
        step = rounding(entry)
        cts = [jitter(c, step) for c in cotangents]
        gradients = exact_vjp(entry, [jitter(x, step) for x in operands], cts)
        own = [STEP * EPSILON[dtypes.get(edge, narrow)] / EPSILON[narrow] for edge in entry.args]
        return tuple(jitter(g, max(step, to), cts) for g, to in zip(gradients, own, strict=True))

    return entries, values, vjp, count


Measure = Callable[[list[TapeEntry], dict[GradientEdge, Array], Callable[..., tuple[Array, ...]]], Array]
"""A number of a computation, asked of one that is perturbed."""


@dataclass(slots=True)
class Bound:
    """How far rounding may take a number of a program, element by element; sampled no further than a question needs."""

    reference: Reference
    """The program, run exactly."""
    edge: GradientEdge
    """The value that the number is, or belongs to as its gradient."""
    exact: Array
    """The number itself."""
    narrow: str
    """The narrowest dtype that the program computes in."""
    measure: Measure | None
    """The number in a perturbed run; None for one that is zero whatever is perturbed."""
    squares: Array = field(default_factory=lambda: np.zeros(()))
    """The sum over the runs so far of the squared differences from the exact number."""
    roundings: int = 1
    """The most roundings of a run so far."""
    runs: int = 0
    """How many perturbed runs there were."""

    def allows(self, distance: Array, beside: Array | float = 0.0) -> bool:
        """Whether rounding explains a distance from the exact number, beside what else may be added to it.

        Nearly all are a small part of the bound, and told from a few runs: that their spread is larger by the margin
        than that of all happens less often than once in millions.
        """
        return any(
            bool((distance <= share * (self.array(distance.shape, runs) + beside)).all())
            for runs, share in ((FEW, MARGIN), (SAMPLES, 1.0))
        )

    def array(self, shape: tuple[int, ...] | None = None, runs: int = SAMPLES) -> Array:
        """The largest error of each element; where the number is asked for in another shape than it is computed in, as
        that of an alias which sees only a part, the largest of all.
        """
        largest = self._largest(runs)
        return largest if shape is None or largest.shape in (shape, ()) else np.full(shape, largest.max())

    def _largest(self, runs: int) -> Array:
        if self.measure is None:
            return np.zeros(())
        dtypes = _dtypes(self.reference, self.narrow)
        while self.runs < runs:
            entries, values, vjp, forward = _perturbed(self.reference, self.runs, dtypes, self.narrow)
            self.squares = self.squares + (self.measure(entries, values, vjp) - self.exact) ** 2
            self.roundings, self.runs = max(self.roundings, 2 * forward), self.runs + 1
        spread = np.sqrt(self.squares / self.runs) / STEP * np.sqrt(self.roundings)
        own = dtypes.get(self.edge, self.narrow)
        factor = 2 * FACTOR if "float64" in (self.narrow, own) else FACTOR  # the reference itself computes in float64
        return factor * (EPSILON[self.narrow] * spread + EPSILON[own] * np.abs(self.exact)) + TINY[self.narrow]


def forward_bound(reference: Reference, ref: Ref, dtype: str) -> Bound:
    """How far rounding may take a value of a program whose narrowest dtype is given."""
    return Bound(reference, ref, reference.values[ref], dtype, lambda entries, values, vjp: values[ref])


def gradient_bound(
    reference: Reference, call: BackwardCall, edge: GradientEdge, dtype: str, until: Ref | None = None
) -> Bound:
    """The same for what a call contributes to an edge; or for what the hook `until` on it is called with."""
    contributed = reference.pullback(call).get(edge)
    exact = contributed if until is None else dict(reference.hook_calls(call)).get(until)
    if exact is None:
        return Bound(reference, edge, np.zeros(()), dtype, None)

    def measure(
        entries: list[TapeEntry], values: dict[GradientEdge, Array], vjp: Callable[..., tuple[Array, ...]]
    ) -> Array:
        fired: list[tuple[Ref, Array]] = []
        pulled = pull(entries, values, reference.roots(call), vjp, hooked=reference.hooked(fired))
        return pulled[edge] if until is None else dict(fired)[until]

    return Bound(reference, edge, exact, dtype, measure)


def working_dtype(program: Program) -> str:
    """The narrowest dtype that a program computes in, on which its bound rests."""
    wide = all(s.value.dtype == "float64" for s in program if isinstance(s, Leaf))
    narrow = any(isinstance(s, Apply) and row_of(s.op).dtype == "float32" for s in program)
    return "float64" if wide and not narrow else "float32"
