"""The exception with which the suite ends a run. Pytest prints it as one line with the reason."""

from __future__ import annotations

import pytest


class StoppedRun(pytest.exit.Exception):  # type: ignore[name-defined, misc]
    """Ends the run with a reason and an exit code."""

    def __init__(self, reason: str, code: int) -> None:
        super().__init__(reason, code)


# pytest writes the class's name in front of the reason
StoppedRun.__module__, StoppedRun.__name__, StoppedRun.__qualname__ = "builtins", "The run ended", "The run ended"
