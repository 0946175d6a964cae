"""The records of a run in the controlling process: in the report's file, and in memory in case the file cannot be
written.
"""

from __future__ import annotations

from pathlib import Path

from autograd_conformance.reporting.analysis.causes import causes
from autograd_conformance.reporting.records.records import Record, Report
from autograd_conformance.reporting.records.stream import Writer, report_of
from autograd_conformance.reporting.render import issue, markdown


class RecordBuffer:
    """Keeps records in memory, and writes them to a file as long as that is possible."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer = Writer(path)
        self.records: list[Record] = []
        self._is_outdated = False
        self.problem: str | None = None
        """The first file of the report that could not be written, and why; None if there is none. The file of records
        has the earlier records, each line complete except the last.
        """

    def write(self, record: Record) -> None:
        """Keeps a record in memory, and writes it to the file as long as that is possible."""
        self.records.append(record)
        if self.problem is None:
            try:
                self.writer.write(record)
            except OSError as error:
                self.failed(self.path, error)

    def replace(self, old: Record, new: Record) -> None:
        """Replaces a record in memory; `close` replaces it in the file, which has the old one until then."""
        self.records[next(at for at, each in enumerate(self.records) if each is old)] = new
        self._is_outdated = True

    def failed(self, path: Path, error: OSError) -> None:
        """Notes that a file of the report could not be written, unless an earlier one could not."""
        self.problem = self.problem or f"{path}: {error.strerror or error}"

    def close(self) -> None:
        """Closes the file, after writing it again if records were replaced. The file is whole at any time."""
        try:
            self.writer.close()
            if self._is_outdated and self.problem is None:
                other = self.path.with_suffix(".new")
                with Writer(other) as writer:
                    for record in self.records:
                        writer.write(record)
                other.replace(self.path)
        except OSError as error:
            self.failed(self.path, error)

    def write_page(self, page: Path, articles: bool = False) -> None:
        """Writes the report made of the records so far as a Markdown page to the file `page`; with `articles`, also the
        claims of articles. Beside the page it writes the texts for the framework's tracker.
        """
        try:
            report = self.report()
            markdown.write(report, page, articles)
            issue.write(causes(report), report.header, page.parent)
        except OSError as error:
            self.failed(page, error)

    def report(self) -> Report:
        """Returns the report that the records so far make."""
        return report_of(self.records, str(self.path))
