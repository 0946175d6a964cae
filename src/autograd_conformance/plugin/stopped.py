"""The end of a run that the suite itself calls for: pytest prints it as one line that says why."""

from __future__ import annotations

import pytest


class StoppedRun(pytest.exit.Exception):  # type: ignore[name-defined, misc]
    """The run ends here, for a reason and with an exit code."""

    def __init__(self, reason: str, code: int) -> None:
        super().__init__(reason, code)


# pytest writes the class's name in front of the reason
StoppedRun.__module__, StoppedRun.__name__, StoppedRun.__qualname__ = "builtins", "The run ended", "The run ended"
