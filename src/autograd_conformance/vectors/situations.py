"""Programs for vectors that are drawn from the suites' situations, always the same ones."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import suppress

from hypothesis import HealthCheck, Phase, given, seed, settings

from autograd_conformance.programs.language import Program
from autograd_conformance.strategies import situations
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.situations.base import SITUATIONS, Programs

EACH = 12
"""Number of programs that are drawn of one situation."""


def drawn() -> Iterator[Program]:
    """Yields programs of all situations that the framework supports, the first of each, then the second, and so on."""
    for module in pkgutil.iter_modules(situations.__path__):
        importlib.import_module(f"{situations.__name__}.{module.name}")
    found = [_programs(each) for each in sorted(SITUATIONS, key=lambda each: (each.__module__, each.__name__))]
    for place in range(EACH):
        yield from (programs[place] for programs in found if place < len(programs))


def _programs(situation: Callable[[], Programs]) -> list[Program]:
    """Returns programs of one situation; none, or fewer, if the framework does not support it."""
    found: list[Program] = []

    @seed(0)
    @settings(
        max_examples=EACH, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=situation())
    def collect(case: Drawn) -> None:
        found.append(case.program)

    with suppress(Unsupported):
        collect()
    return found
