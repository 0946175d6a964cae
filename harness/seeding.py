"""What is drawn depends on the seed, and on nothing else that happens to be loaded.

Hypothesis mixes constants into what it draws, among them those that it finds in the source of every loaded module that
is not installed: so one seed would draw other programs for each framework's adapter, from a clone and from the wheel,
and in a worker that has loaded one file more than another. It has no setting for that.
"""

from __future__ import annotations

from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.internal.constants_ast import Constants


def draw_by_seed_alone() -> None:
    """Let what this process draws depend on the seed alone."""
    HypothesisProvider._local_constants = Constants()  # type: ignore[assignment]
