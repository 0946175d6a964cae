"""The folder of a report: held by one run at a time, and empty of what an earlier run left."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

LOCK = ".lock"
"""The file in the folder that a run holds a lock on; the system frees it when the process ends, however it ends."""


class UnusableFolder(Exception):
    """A folder that no report can be written to; the message says why, and what to do."""


class ReportFolder:
    """A folder that this process alone writes a report to, until `release`."""

    def __init__(self, path: Path) -> None:
        """Make the folder and hold it; raises `UnusableFolder`."""
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
        """Remove an earlier run's page, drawings and replay files, and what killed processes left."""
        try:
            files = ("report.md", "drawings/report-*.svg", "replay/*.json")
            for old in (path for pattern in files for path in self.path.glob(pattern)):
                old.unlink(missing_ok=True)
            self.remove_journals()
        except OSError as error:
            raise unusable(self.path, error) from None

    def remove_journals(self) -> None:
        """Remove the journals of processes that are gone, and what they had not sent."""
        for left in (*self.path.glob("journal-*"), *self.path.glob("found-*")):
            left.unlink(missing_ok=True)

    def release(self) -> None:
        """Let other runs have the folder."""
        self.lock.release()


def unusable(path: Path, error: OSError) -> UnusableFolder:
    """A folder that cannot be written to, as the system says it."""
    return UnusableFolder(
        f"no report can be written to {path}: {error.strerror or error}; name another folder with --report=DIR"
    )
