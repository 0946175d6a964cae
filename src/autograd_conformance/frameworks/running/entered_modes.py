"""The framework's context managers for the grad modes of a program."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.environment.interrupts import is_users
from autograd_conformance.programs.language import Modes


class EnteredModes:
    """The grad modes that are entered at present. Successive instructions share the context managers of their common
    outer modes.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.entered: list[tuple[str, AbstractContextManager[Any]]] = []

    def enter(self, modes: Modes) -> None:
        """Leave the modes that the next instruction is not in, and enter those that it is in."""
        common = 0
        while common < min(len(modes), len(self.entered)) and self.entered[common][0] == modes[common]:
            common += 1
        self.leave(keep=common)
        for mode in modes[common:]:
            context = self.adapter.mode(mode)
            context.__enter__()
            self.entered.append((mode, context))

    def leave(self, error: BaseException | None = None, keep: int = 0) -> None:
        """Leave all modes except the outermost `keep`, with an exception if there is one."""
        while len(self.entered) > keep:
            _, context = self.entered.pop()
            try:
                context.__exit__(*((None,) * 3 if error is None else (type(error), error, error.__traceback__)))
            except BaseException as another:
                if error is None or is_users(another):
                    raise  # while an exception is being handled, later ones are dropped
