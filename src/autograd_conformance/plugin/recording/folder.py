"""The folder of a report: a run locks it, so that only one run at a time writes there, and removes the files of an
earlier run.
"""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from autograd_conformance.processes.journal import CRASHES

LOCK = ".lock"
"""Name of the file that a run locks. The system releases the lock when the process ends, for whatever reason."""


class UnusableFolder(Exception):
    """Raised for a folder to which no report can be written; the message says why, and what to do."""


class ReportFolder:
    """A folder to which only this process writes a report, until `release`."""

    def __init__(self, path: Path) -> None:
        """Creates the folder and locks it. Raises `UnusableFolder`."""
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self.lock = FileLock(path / LOCK)
            self.lock.acquire(blocking=False)
        except Timeout:
            raise UnusableFolder(
                f"another run is writing its report to {path}; name another folder with --report=DIR"
            ) from None
        except OSError as error:
            raise unusable(path, error) from None

    def clear(self) -> None:
        """Removes `report.md`, `crashes.txt`, the drawings, the texts for trackers and the replay files of an earlier
        run, and files that killed processes left; raises `UnusableFolder` if the system refuses.
        """
        try:
            files = ("report.md", CRASHES, "drawings/report-*.svg", "issues/*.md", "replay/*.json")
            for old in (path for pattern in files for path in self.path.glob(pattern)):
                old.unlink(missing_ok=True)
            self.remove_journals()
        except OSError as error:
            raise unusable(self.path, error) from None

    def remove_journals(self) -> None:
        """Removes the journals of processes that have ended (files that name the running program), and the files of
        failures that these processes had not sent.
        """
        for left in (*self.path.glob("journal-*"), *self.path.glob("found-*")):
            left.unlink(missing_ok=True)

    def release(self) -> None:
        """Unlocks the folder."""
        self.lock.release()


def unusable(path: Path, error: OSError) -> UnusableFolder:
    """Returns the exception for a folder that cannot be written to, with the system's reason."""
    return UnusableFolder(
        f"no report can be written to {path}: {error.strerror or error}; name another folder with --report=DIR"
    )
