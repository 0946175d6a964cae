"""Registers the Hypothesis backend with which programs depend on the seed alone.

By default, Hypothesis mixes constants from the source code of loaded modules into its draws. One seed would then give
different programs for each adapter, in a clone and in an installed package, and in workers that loaded different
modules. With this backend, each program depends on itself only; if compiling a region is expensive, it also depends on
the earlier programs of its test.
"""

from __future__ import annotations

from autograd_conformance.strategies.building.randomness.hypothesis_internals import register
from autograd_conformance.strategies.building.randomness.independent import Independent

BACKEND = "independent"
"""Name of the backend in Hypothesis settings."""

register(BACKEND, Independent)
