"""What is drawn depends on the seed, and on nothing else that happens to be loaded; and each program on itself alone,
or, where units cost much, on those that its test drew before.

Hypothesis by itself mixes constants into what it draws, among them those that it finds in the source of every loaded
module that is not installed: so one seed would draw other programs for each framework's adapter, from a clone and from
the wheel, and in a worker that has loaded one file more than another. So Hypothesis is told here of the backend that
strategies draw by.
"""

from __future__ import annotations

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS

from autograd_conformance.strategies.building.independent import Independent

BACKEND = "independent"
"""The name of the backend, as settings have it."""

AVAILABLE_PROVIDERS[BACKEND] = f"{Independent.__module__}.{Independent.__name__}"
