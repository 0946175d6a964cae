"""Runs the parts of the end of a run, such as "coverage" or "the page", so that each may fail without the others; the
failure is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.programs.foreign.text import harmless, message, type_of

T = TypeVar("T")

INTERNAL_ERROR, ADAPTER_ERROR = 3, 10
"""Exit codes of a run that would pass but for a failed part of its end: pytest's for an internal error, and the suite's
for an error of the adapter.
"""


@dataclass
class Parts:
    """Runs the parts of the end of a run, and notes those that fail."""

    failed: list[str] = field(default_factory=list)
    code: int = 0
    """Exit code for the failed parts; 0 if none failed."""

    def attempt(self, name: str, call: Callable[[], T], instead: T) -> T:
        """Calls a part and returns its result; if it raises any exception, notes that and returns `instead`. `name` is
        the part's name in messages.
        """
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
