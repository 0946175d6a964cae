"""Limits of an entry of known differences: how far wrong values may be off."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.violations.observed import RaisedError
from autograd_conformance.rules.violations.violation import Violation


@dataclass(frozen=True, slots=True)
class Limits:
    """How far wrong values may be off; without any of these limits, an entry waives no wrong value."""

    relative: float | None = None
    """Largest error of an element that is waived, as a fraction of the largest magnitude among all expected elements;
    at most 1.
    """
    absolute: float | None = None
    """Largest error of an element that is waived, in the unit of the values; at most 1, and added to what `relative`
    waives.
    """
    nan: bool = False
    """Whether at least one of the observed elements must be NaN. All other elements are within the limits, or within
    rounding if the entry has no limits.
    """
    any_value: bool = False
    """Whether any wrong value is waived, but no raised error: the framework uses memory with unknown contents, or
    nothing bounds the error.
    """

    @property
    def limited(self) -> bool:
        """Whether `relative` or `absolute` limits how far values may be off."""
        return self.relative is not None or self.absolute is not None

    def allow(self, violation: Violation) -> bool:
        """Whether the wrong value of a violation is within the limits. If no values were compared, whether there are no
        limits.
        """
        got, want = violation.got, violation.want
        if self.any_value:
            return not isinstance(violation.observed, RaisedError)
        if got is None or want is None:
            return not (self.limited or self.nan)
        if got.shape != want.shape:
            return False
        nan = np.isnan(got) if self.nan else np.zeros(got.shape, bool)
        if self.nan and not nan.any():
            return False
        if self.limited:
            allowed = (self.relative or 0.0) * np.abs(want).max(initial=0.0) + (self.absolute or 0.0)
        else:
            allowed = 0.0 if violation.bound is None or not self.nan else violation.bound
        return bool((nan | (np.abs(got - want) <= allowed)).all())


NO_LIMITS = Limits()
"""The limits of an entry that waives no wrong value."""
