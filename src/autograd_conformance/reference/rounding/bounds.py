"""How far a right answer may lie from the exact one: a bound from the computation itself.

Every op is assumed to be as accurate as its operands and its result rounded to the dtype (a backward-stable op with a
small constant), and a formula may go through numbers as large as its operands (`x - tanh(x)`) or, for a derivative, as
the cotangent (`1 - y * y` where y is nearly 1), for a second one as the product of both cotangents. To first order the
error of any number that a program computes is then a sum of J_i * delta_i over all those roundings. The weights J_i are
measured by stochastic arithmetic (Vignes 1978, CESTAC): the whole computation, forward and backward, is run with random
relative perturbations, and for n independent roundings sum |J_i| is at most sqrt(n) times the root of the sum of J_i
squared, which is what the spread of the results shows. The factor below covers the constant of the ops. Where a program
computes in several dtypes, what is rounded to a wider one is perturbed by as much less. What is recorded as the
derivative of an op, to be differentiated again, is one op here and many in an implementation, by the product rule, and
is perturbed by as much more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs.language import Apply, BackwardCall, Leaf, Program, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import GradientEdge, pull
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.rounding.perturbation import EPSILON, STEP, PerturbedRun, dtypes_of
from autograd_conformance.reference.staging.derivatives import Array

SAMPLES = 12
FEW, MARGIN = 2, 1 / 16  # so many runs tell a distance that is within that share of their bound
FACTOR = 8.0  # units in the last place that an op may lose
TINY = {"float32": float(np.finfo(np.float32).tiny), "float64": float(np.finfo(np.float64).tiny)}

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


Measure = Callable[[PerturbedRun], Array]
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
        dtypes = dtypes_of(self.reference, self.narrow)
        while self.runs < runs:
            run = PerturbedRun(self.reference, self.runs, dtypes, self.narrow)
            self.roundings = max(self.roundings, 2 * run.roundings)
            self.squares = self.squares + (self.measure(run) - self.exact) ** 2
            self.runs += 1
        spread = np.sqrt(self.squares / self.runs) / STEP[self.narrow] * np.sqrt(self.roundings)
        own = dtypes.get(self.edge, self.narrow)
        factor = 2 * FACTOR if "float64" in (self.narrow, own) else FACTOR  # the reference itself computes in float64
        return factor * (EPSILON[self.narrow] * spread + EPSILON[own] * np.abs(self.exact)) + TINY[self.narrow]


def forward_bound(reference: Reference, ref: Ref, dtype: str) -> Bound:
    """How far rounding may take a value of a program whose narrowest dtype is given."""
    return Bound(reference, ref, reference.values[ref], dtype, lambda run: run.values[ref])


def gradient_bound(
    reference: Reference, call: BackwardCall, edge: GradientEdge, dtype: str, until: Ref | None = None
) -> Bound:
    """The same for what a call contributes to an edge; or for what the hook `until` on it is called with."""
    contributed = reference.pullback(call).get(edge)
    exact = contributed if until is None else dict(reference.hook_calls(call)).get(until)
    if exact is None:
        return Bound(reference, edge, np.zeros(()), dtype, None)

    def measure(run: PerturbedRun) -> Array:
        fired: list[tuple[Ref, Array]] = []
        pulled = pull(run.entries, run.values, reference.roots(call), run.vjp, hooked=reference.hooked(fired))
        return pulled[edge] if until is None else dict(fired)[until]

    return Bound(reference, edge, exact, dtype, measure)


def working_dtype(program: Program) -> str:
    """The narrowest dtype that a program computes in, on which its bound rests."""
    wide = all(s.value.dtype == "float64" for s in program if isinstance(s, Leaf))
    narrow = any(isinstance(s, Apply) and row_of(s.op).dtype == "float32" for s in program)
    return "float64" if wide and not narrow else "float32"
