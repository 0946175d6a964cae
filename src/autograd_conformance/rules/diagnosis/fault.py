"""A hypothetical fault of a framework, with the gradients that it would give."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from autograd_conformance.programs.language import Ref
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.rules.diagnosis.kinds import Diagnosis, DiagnosisKind

Contributions = dict[Ref, Array]
"""The array that a call adds to the gradient of each value."""


class Fault(NamedTuple):
    """A hypothetical error of a framework that would give other gradients."""

    diagnosis: Diagnosis
    """The fault as data, with the rule that it breaks."""
    contributions: Contributions
    """The array that the faulty call would add to the gradient of each value."""

    @staticmethod
    def of(kind: DiagnosisKind, contributions: Contributions, *numbers: int) -> Fault:
        """Returns a fault of a kind, with the numbers of the lines, root or result that the fault is about, from 1."""
        return Fault(Diagnosis(kind, numbers), contributions)


Traverse = Callable[..., Contributions]
"""A function that computes what a call adds to each gradient, by reverse accumulation with one change."""
