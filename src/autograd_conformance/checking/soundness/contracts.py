"""Calls each method of an adapter that a claim needs, once, and collects what they return against their contract.

The audit does this before it runs each op alone, in its own process: a program may end it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.smallest import SMALLEST
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Optimizer, Program, Step

MOST = 8
"""Largest number of faults that are collected before the run is refused."""


def programs(target: Target) -> Iterator[tuple[str, Program]]:
    """Yields the smallest program of each claimed capability that the framework can run, by the capability's name.

    Those of optimizers are left out: their methods return nothing, and some frameworks load much for the first one.
    """
    for capability, smallest in SMALLEST.items():
        program = parse(smallest.text, VOCABULARY)
        steps = any(isinstance(step, Step | Optimizer) for step in program)
        if capability in target.capabilities and not steps and not unsupported_by(program, target):
            yield capability.name, program


class Faults:
    """Collects the faults of an adapter in a file, which outlasts the process that found them. As a context manager, it
    takes the `AdapterError` of what runs inside.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "faults"

    def __enter__(self) -> None:
        """Begins a part that may raise `AdapterError`."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Collects an `AdapterError`; any other exception continues."""
        if isinstance(error, AdapterError):
            self.path.write_text(json.dumps([*self.found, str(error)]), encoding="utf-8")
        return isinstance(error, AdapterError)

    @property
    def found(self) -> list[str]:
        """The faults so far, each once."""
        there = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else []
        return list(dict.fromkeys(there))

    @property
    def are_many(self) -> bool:
        """Whether enough faults are collected."""
        return len(self.found) >= MOST

    def refuse(self) -> None:
        """Raises one `AdapterError` with all faults, if there are any."""
        match self.found:
            case []:
                return
            case [only]:
                raise AdapterError(only)
            case several:
                raise AdapterError(
                    "\n".join([f"the adapter has {len(several)} faults:", *(f"- {each}" for each in several)])
                )
