"""The records of a run as the controlling process keeps them: in the report's file, and in memory should that fail."""

from __future__ import annotations

from pathlib import Path

from autograd_conformance.reporting.records.records import Record, Report
from autograd_conformance.reporting.records.stream import Writer, report_of
from autograd_conformance.reporting.render import markdown


class RecordBuffer:
    """Records that are written to a file as long as it takes them, and kept in any case."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer = Writer(path)
        self.records: list[Record] = []
        self.problem: str | None = None
        """What could not be written, and why; the file holds what came before, each line whole but the last."""

    def write(self, record: Record) -> None:
        """Keep a record."""
        self.records.append(record)
        if self.problem is None:
            try:
                self.writer.write(record)
            except OSError as error:
                self.failed(self.path, error)

    def failed(self, path: Path, error: OSError) -> None:
        """Something of the report could not be written."""
        self.problem = self.problem or f"{path}: {error.strerror or error}"

    def close(self) -> None:
        """Close the file."""
        try:
            self.writer.close()
        except OSError as error:
            self.failed(self.path, error)

    def write_page(self, page: Path) -> None:
        """Write the page for people."""
        try:
            markdown.write(self.report(), page)
        except OSError as error:
            self.failed(page, error)

    def report(self) -> Report:
        """The report so far."""
        return report_of(self.records, str(self.path))
