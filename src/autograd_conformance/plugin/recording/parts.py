"""The parts of the end of a run: each may fail without the others, and says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.programs.foreign.text import harmless, message, type_of

T = TypeVar("T")

INTERNAL_ERROR, ADAPTER_ERROR = 3, 10
"""The exit codes of a run that is right so far, and a part of whose end failed: pytest's own, and the adapter's."""


@dataclass
class Parts:
    """The parts of the end of a run that failed, each in words."""

    failed: list[str] = field(default_factory=list)
    code: int = 0
    """The exit code for what failed."""

    def attempt(self, name: str, call: Callable[[], T], instead: T) -> T:
        """What a part gives; what to go on with `instead` where it fails, whatever it raises."""
        try:
            return call()
        except AdapterError as error:
            self._note(name, f"adapter error: {error}", ADAPTER_ERROR)
        except BaseException as error:
            self._note(name, f"{type_of(error)}: {message(error)}", INTERNAL_ERROR)
        return instead

    def _note(self, name: str, why: str, code: int) -> None:
        self.failed.append(harmless(f"the part '{name}' of the report failed: {' '.join(why.split())}", 300))
        self.code = max(self.code, code)
