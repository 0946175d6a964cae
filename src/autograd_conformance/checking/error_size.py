"""Measures the numerical error of a violation."""

from __future__ import annotations

from autograd_conformance.programs import slugs
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.rounding.bounds import working_dtype
from autograd_conformance.reporting.records.failure import ErrorSize
from autograd_conformance.rules.violations.violation import Violation

LARGEST_BOUND = 1000.0
"""The bound on the rounding error of a number that is not the difference of larger ones, in roundings, is at most
this."""


OF_THE_NUMBER = frozenset({slugs.GRADIENTS_TAILS, slugs.GRADIENTS_DIGITS})
"""Rules by which a number has to have right digits however small it is: its size alone is the measure."""


def error_size(program: Program, violation: Violation) -> ErrorSize | None:
    """Returns the error, its bound and their ratio, at the element of the failing value where that ratio is largest,
    and how many digits are right; None if the violation is not about numbers.
    """
    got, want, bound = violation.got, violation.want, violation.bound
    if got is None or want is None or bound is None or not got.size:
        return None
    distance = np.abs(got - want)
    units = np.where(np.isfinite(distance), distance / bound, np.inf)
    units = np.where(np.isnan(units), 0.0, units)  # no error and a bound of 0
    worst = np.unravel_index(np.argmax(units), distance.shape)
    largest, limit = float(distance[worst]), float(np.broadcast_to(bound, distance.shape)[worst])
    of = DTYPES[working_dtype(program)].digits
    near_zero = np.zeros(()) if violation.rule in OF_THE_NUMBER else np.asarray(bound)
    digits = right_digits(got, want, near_zero, units, of)
    return ErrorSize(largest, limit, largest / limit if limit else np.inf, digits, round(of))


def right_digits(got: np.ndarray, want: np.ndarray, bound: np.ndarray, units: np.ndarray, of: float) -> float:
    """Returns the number of right decimal digits of the wrong element that has the fewest; at most `of`, and 0 if it is
    not finite. `units` are the errors divided by their bounds.

    The digits of a number that is nearly 0, as a sum of large terms, are counted from the size of these terms.
    """
    wrong = units > 1
    if not wrong.any():
        return of
    terms = np.broadcast_to(bound, want.shape) / (LARGEST_BOUND * 10**-of)
    with np.errstate(all="ignore"):
        relative = (np.abs(got - want) / np.maximum(np.abs(want), terms))[wrong]
        digits = -np.log10(np.max(np.where(np.isfinite(relative), relative, np.inf)))
    return round(float(np.clip(digits, 0.0, of)), 1)
