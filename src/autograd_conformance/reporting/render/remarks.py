"""The remarks of a run that a short summary shows."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.reporting.prose import counted
from autograd_conformance.reporting.records.terms import UNKNOWN_ERROR

IN_FULL = 3
"""Number of remarks about errors that `classify` does not know that a summary shows in full."""


def few_remarks(remarks: Sequence[str]) -> list[str]:
    """Returns the remarks, with only the first ones about errors that `classify` does not know, and the number of the
    others.
    """
    alike = [each for each in remarks if UNKNOWN_ERROR in each]
    left_out = alike[IN_FULL:]
    shown = [each for each in remarks if each not in left_out]
    if left_out:
        shown.append(f"{counted(len(left_out), 'more error')} that classify() does not know; the report lists them")
    return shown
