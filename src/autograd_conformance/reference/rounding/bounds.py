"""Bounds on the rounding error of a correct result, estimated from the computation itself.

Every op is assumed to be as accurate as its operands and its result, rounded to the dtype (a backward-stable op with a
small constant). Its formula may have intermediate numbers as large as its operands (`x - tanh(x)`), or, for a
derivative, as large as the cotangent (`1 - y * y` if y is nearly 1), and for a second derivative as large as the
product of both cotangents. To first order, the error of any number that a program computes is then a sum of J_i *
delta_i over all those roundings. The weights J_i are measured by stochastic arithmetic (Vignes 1978, CESTAC): the whole
computation, forward and backward, is run with random relative perturbations. For n independent roundings, sum |J_i| is
at most sqrt(n) times the root of the sum of J_i squared, which is the spread of the results. The factor below covers
the constant of the ops. If a program computes in several dtypes, roundings to a wider dtype are perturbed by
correspondingly less. A recorded derivative of an op, which is differentiated again, is one op here but many in an
implementation, by the product rule; it is perturbed by correspondingly more.

Where one rounding moves an operand far along a curve, such as the argument of a sine by a radian, the results spread no
further if the perturbations grow. A distance that is beyond the bound is therefore compared with the spread at
perturbations as large as the roundings as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs.dtypes import COARSE, DTYPES, narrowest
from autograd_conformance.programs.language import Apply, BackwardCall, Leaf, Program, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import GradientEdge, pull
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.rounding.perturbation import STEP, Dtypes, PerturbedRun, dtypes_of
from autograd_conformance.reference.staging.derivatives import Array

SAMPLES = 12
FEW, MARGIN = 2, 1 / 16  # runs that decide distances within this share of their bound
FACTOR = 8.0  # units in the last place that an op may lose
COARSE_FACTOR = 1.5  # of a dtype with few digits: most kernels compute in a wider one, and round once

_CHEAP = {name: (1 if name in COARSE else 64) * dtype.epsilon for name, dtype in DTYPES.items()}


def close(got: Array, want: Array, dtype: str) -> bool:
    """Whether two arrays are equal up to 64 units in the last place of the largest element of `want`, or to one in a
    dtype of few digits. This cheap comparison decides almost every program.
    """
    if got.shape != want.shape:
        return False
    if not got.size:
        return True
    largest = np.maximum.reduce
    distance = largest(np.abs(got - want), axis=None)
    return bool(distance == 0.0 or distance <= _CHEAP[dtype] * largest(np.abs(want), axis=None))


Measure = Callable[[PerturbedRun], Array]
"""A function that computes one number of the program, such as a gradient, from a perturbed run."""


@dataclass(slots=True)
class Bound:
    """Estimates the largest rounding error of a number in a program, for each element, from runs with random
    perturbations. Only as many runs are made as a comparison requires.
    """

    reference: Reference
    """The program, run without perturbation."""
    edge: GradientEdge
    """The edge that identifies the number whose error is bounded: a value, or the value of which the number is the
    gradient."""
    exact: Array
    """The number whose error is bounded, as computed without perturbation."""
    narrow: str
    """The narrowest dtype in which the program computes."""
    measure: Measure | None
    """The function that computes the number whose error is bounded in a perturbed run; None if the number is always
    zero."""
    squares: Array = field(default_factory=lambda: np.zeros(()))
    """The sum, over all perturbed runs so far, of the squared difference from the exact number."""
    roundings: int = 1
    """Estimate of the number of roundings in both passes: twice the number of elements that a perturbed run perturbs in
    its forward pass, for the run so far with the most."""
    runs: int = 0
    """Number of perturbed runs so far."""
    own: int | None = None
    """The number of roundings, if it is that of one op, whose operands were observed; None: that of the whole run."""
    shared: list[PerturbedRun] | None = None
    """Perturbed runs of the same reference that several bounds use, to which this one adds those that are missing; None
    if this bound makes its own.
    """

    along_curves: Array | None = None
    """The result of `curved` for the shape of the number, once it is computed: a violation needs it twice."""

    def allows(self, distance: Array, beside: Array | float = 0.0) -> bool:
        """Whether rounding explains a distance from the exact number; `beside` is added to the bound.

        Most distances are a small part of the bound, and are decided by a few runs. The spread of these few exceeds
        that of all by more than the margin less than once in millions of cases. In a dtype of few digits, which may
        have a small range, an infinity or NaN is allowed if a product of the program's numbers is beyond the range.
        """
        excused: Array | bool = False
        if self.narrow in COARSE and not np.isfinite(distance).all() and _may_overflow(self.reference, self.narrow):
            # perturbed runs may leave the range as well, so that the bound of any element is NaN
            excused = ~np.isfinite(distance) | (distance == 0)
        return any(
            bool((excused | (distance <= share * (self.array(distance.shape, runs) + beside))).all())
            for runs, share in ((FEW, MARGIN), (SAMPLES, 1.0))
        ) or bool((excused | (distance <= self.curved(distance.shape) + beside)).all())

    def array(self, shape: tuple[int, ...] | None = None, runs: int = SAMPLES) -> Array:
        """Returns the largest error of each element. If `shape` is not the shape of the number, as for an alias of a
        part of it, every element has the largest error of all; an infinite one if the number has no elements.
        """
        return _of_shape(self._largest(runs), shape)

    def curved(self, shape: tuple[int, ...] | None = None) -> Array:
        """Returns the largest error of each element, not only to first order: also that of perturbations as large as
        the roundings. Perturbed operands outside of an op's domain count for nothing.
        """
        if self.along_curves is None:
            self.along_curves = self._along_curves()
        return _of_shape(self.along_curves, shape)

    def _along_curves(self) -> Array:
        """Returns the largest error of each element for `curved`."""
        largest = self._largest(SAMPLES)
        if self.measure is None:
            return largest
        dtypes, narrow = dtypes_of(self.reference, self.narrow), DTYPES[self.narrow]
        with np.errstate(all="ignore"):
            runs = [PerturbedRun(self.reference, k, dtypes, self.narrow, narrow.epsilon) for k in range(SAMPLES)]
            squares = [(self.measure(run) - self.exact) ** 2 for run in runs]
        spread = np.sqrt(np.nan_to_num(squares, nan=0.0, posinf=0.0).mean(axis=0) * self.roundings)
        return np.maximum(largest, self._factor * spread)

    @property
    def _factor(self) -> float:
        """The number of units in the last place that an op may lose."""
        return COARSE_FACTOR if self.narrow in COARSE else FACTOR

    def _largest(self, runs: int) -> Array:
        if self.measure is None:
            return np.zeros(())
        dtypes = dtypes_of(self.reference, self.narrow)
        while self.runs < runs:
            run = self._run(dtypes)
            self.roundings = self.own or max(self.roundings, 2 * run.forward_roundings)
            self.squares = self.squares + (self.measure(run) - self.exact) ** 2
            self.runs += 1
        spread = np.sqrt(self.squares / self.runs) / STEP[self.narrow] * np.sqrt(self.roundings)
        name = dtypes.get(self.edge, self.narrow)
        narrow, own = DTYPES[self.narrow], DTYPES[name]
        double = "float64" in (self.narrow, name)  # the reference itself computes in float64
        factor = 2 * self._factor if double else self._factor
        return factor * (narrow.epsilon * spread + own.epsilon * np.abs(self.exact)) + narrow.tiny

    def _run(self, dtypes: Dtypes) -> PerturbedRun:
        if self.shared is not None and self.runs < len(self.shared):
            return self.shared[self.runs]
        run = PerturbedRun(self.reference, self.runs, dtypes, self.narrow)
        if self.shared is not None:
            self.shared.append(run)
        return run


def _of_shape(largest: Array, shape: tuple[int, ...] | None) -> Array:
    """Returns the largest errors in a shape: all are the largest of all if the shape is another one."""
    if shape is None or largest.shape in (shape, ()):
        return largest
    return np.full(shape, largest.max() if largest.size else np.inf)


def _may_overflow(reference: Reference, dtype: str) -> bool:
    """Whether the square of a program's largest number, or the product of all numbers above 1 in its leaves, is beyond
    the range of a dtype. An op that computes in that dtype may then have an infinite number on its way to a finite
    result.
    """
    most = np.sqrt(DTYPES[dtype].largest)
    if any(not np.abs(value).max(initial=0.0) < most for value in reference.values.values()):
        return True
    leaves = [np.abs(np.asarray(step.value.data)) for step in reference.steps if isinstance(step, Leaf)]
    sizes = [np.log2(leaf[np.isfinite(leaf) & (leaf > 1)]).sum() for leaf in leaves]
    return bool(sum(sizes) >= np.log2(DTYPES[dtype].largest))


def forward_bound(reference: Reference, ref: Ref, dtype: str) -> Bound:
    """Returns the bound on the rounding error of a value, in a program whose narrowest dtype is `dtype`."""
    own = _roundings_of(reference, ref) if dtype in COARSE and reference.observing else None
    return Bound(reference, ref, reference.values[ref], dtype, lambda run: run.values[ref], own=own)


def _roundings_of(reference: Reference, ref: Ref) -> int | None:
    """Returns the number of roundings of the op that made a value: of its operands and results, each counted twice as
    in a whole run. None if no op made the value, or from operands that were not observed.
    """
    late = reference.shown_late
    entry = next((each for each in reversed(reference.tape.entries) if ref in each.outs), None)
    if entry is None or not reference.unobserved.isdisjoint(entry.args) or not late.keys().isdisjoint(entry.args):
        return None
    return 2 * sum(np.size(x) for x in (*entry.operands, *(reference.values[out] for out in entry.outs))) or None


def gradient_bound(
    reference: Reference, call: BackwardCall, edge: GradientEdge, dtype: str, until: Ref | None = None
) -> Bound:
    """Returns the bound on the rounding error of a call's contribution to an edge; or, if `until` is given, of the
    gradient with which that hook on the edge is called.
    """
    contributed = reference.pullbacks.of(call).get(edge)
    exact = contributed if until is None else dict(reference.pullbacks.hook_calls(call)).get(until)
    if exact is None:
        return Bound(reference, edge, np.zeros(()), dtype, None)

    def measure(run: PerturbedRun) -> Array:
        fired: list[tuple[Ref, Array]] = []
        pulled = pull(
            run.entries, run.values, reference.tape.roots(call), run.vjp, hooked=reference.hooks.functions(fired)
        )
        return pulled[edge] if until is None else dict(fired)[until]

    return Bound(reference, edge, exact, dtype, measure)


def working_dtype(program: Program) -> str:
    """Returns the narrowest dtype in which a program computes, which determines its bounds."""
    leaves = [step.value.dtype for step in program if isinstance(step, Leaf)]
    made = [row_of(step.op).dtype for step in program if isinstance(step, Apply)]
    return narrowest([*leaves, *filter(None, made)] or ["float64"])
