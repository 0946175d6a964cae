"""The exception with which the suite ends a run. Pytest prints it as one line with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from autograd_conformance.processes.task import UnwritableFiles
from autograd_conformance.reporting.analysis.verdicts import REPORT_ERROR


class StoppedRun(pytest.exit.Exception):  # type: ignore[name-defined, misc]
    """Ends the run with a reason and an exit code."""

    def __init__(self, reason: str, code: int) -> None:
        super().__init__(reason, code)


# pytest writes the class's name in front of the reason
StoppedRun.__module__, StoppedRun.__name__, StoppedRun.__qualname__ = "builtins", "The run ended", "The run ended"


@contextmanager
def stopping_on_full_disk() -> Iterator[None]:
    """Ends the run, inside a `with` block, if the suite can no longer write its temporary files."""
    try:
        yield
    except UnwritableFiles as error:
        raise StoppedRun(f"temporary files can no longer be written ({error})", REPORT_ERROR) from None
