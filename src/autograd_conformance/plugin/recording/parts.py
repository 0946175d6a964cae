"""The parts of the end of a run. Each may fail without the others, and the failure is reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.programs.foreign.text import harmless, message, type_of

T = TypeVar("T")

INTERNAL_ERROR, ADAPTER_ERROR = 3, 10
"""Exit codes of a run that passes but for a failed part of its end: pytest's own, and the adapter's."""


@dataclass
class Parts:
    """The failed parts of the end of a run."""

    failed: list[str] = field(default_factory=list)
    code: int = 0
    """Exit code for the failed parts."""

    def attempt(self, name: str, call: Callable[[], T], instead: T) -> T:
        """The result of a part; `instead` if the part raises any exception."""
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
