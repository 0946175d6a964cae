"""Counting the coverage fails."""

from __future__ import annotations

from typing import Any

from autograd_conformance.checking.counts.tally import Tally


def fail(*arguments: Any, **options: Any) -> Any:
    """Raise as a library might."""
    raise TypeError("must be real number, not complex")


Tally.coverage = fail  # type: ignore[method-assign]
