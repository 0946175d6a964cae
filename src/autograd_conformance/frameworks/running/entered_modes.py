"""The grad modes that a program has entered, as `with` blocks of the framework's."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from autograd_conformance.frameworks.adapter import FullAdapter
from autograd_conformance.frameworks.environment.interrupts import is_users
from autograd_conformance.programs.language import Modes


class EnteredModes:
    """The grad modes that are entered: instructions under a common prefix stand in the same `with` blocks."""

    def __init__(self, adapter: FullAdapter) -> None:
        self.adapter = adapter
        self.entered: list[tuple[str, AbstractContextManager[Any]]] = []

    def enter(self, modes: Modes) -> None:
        """Leave what the next instruction does not stand under, enter what it does."""
        common = 0
        while common < min(len(modes), len(self.entered)) and self.entered[common][0] == modes[common]:
            common += 1
        self.leave(keep=common)
        for mode in modes[common:]:
            context = self.adapter.mode(mode)
            context.__enter__()
            self.entered.append((mode, context))

    def leave(self, error: BaseException | None = None, keep: int = 0) -> None:
        """Leave all but the outermost `keep`, because of an exception or at their ends."""
        while len(self.entered) > keep:
            _, context = self.entered.pop()
            try:
                context.__exit__(*((None,) * 3 if error is None else (type(error), error, error.__traceback__)))
            except BaseException as another:
                if error is None or is_users(another):
                    raise  # with an error on its way, the first one counts
