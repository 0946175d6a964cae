"""A row of the matrix: the results of a mutant, with a cell for each family of rules."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".cache" / "matrix"


ABOUT_OPS = frozenset({"gradients/op", "higher/op"})
"""The rules that a single op violates."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The result of one family's tests on one mutant."""

    killed: bool
    programs: int
    """Number of programs that ran, including the one that killed the mutant."""
    seconds: float
    """CPU seconds; they include shrinking if `size` is set."""
    test: str | None = None
    rule: str | None = None
    op: str | None = None
    dtype: str | None = None
    size: int | None = None
    """Number of instructions of the shrunk program."""
    tests: tuple[str, ...] = ()
    """Rules of the mutant's own family whose tests fail; empty in other families."""
    later: bool | None = None
    """For a generated mutant that survives a quick run: whether a standard run's programs kill it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A mutant, with a cell for each family that ran."""

    mutant: str
    generated: bool
    group: str
    """The mutant's module, or the kind of its generated fault."""
    op: str | None
    """The op with the fault, for a generated mutant."""
    own: str
    """The family of the rule that the fault violates."""
    expected: tuple[str, ...]
    """The rules of which one has to be reported."""
    cells: dict[str, Cell]

    @property
    def killed(self) -> bool:
        """Whether any family killed the mutant."""
        return any(cell.killed for cell in self.cells.values())

    @property
    def own_cell(self) -> Cell:
        """The cell of the mutant's own family."""
        return self.cells[self.own]

    @property
    def right(self) -> bool:
        """Whether its own family killed it with an expected rule, and with the right op if the rule is about single
        ops.
        """
        named = self.own_cell.rule not in ABOUT_OPS or self.op in (None, self.own_cell.op)
        return self.own_cell.rule in self.expected and named


def commit() -> str:
    """The current commit, with "-changed" if tracked Python files differ from it."""
    head = _git("rev-parse", "--short=12", "HEAD")
    return f"{head}-changed" if _git("status", "--porcelain", "-uno", "--", "*.py") else head


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def append(path: Path, record: dict[str, Any]) -> None:
    """Append a record to a file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def records(folder: Path) -> Iterator[dict[str, Any]]:
    """All complete records in a folder; lines that were cut short by an interruption are skipped."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue


def encode(row: Row) -> dict[str, Any]:
    """A row as a record."""
    return {"record": "row", **asdict(row)}


def decode(record: dict[str, Any]) -> Row:
    """The row of a record."""
    found = record["cells"].items()
    cells = {family: Cell(**{**cell, "tests": tuple(cell.get("tests", ()))}) for family, cell in found}
    given = {key: record[key] for key in ("mutant", "generated", "group", "op", "own")}
    return Row(**given, expected=tuple(record["expected"]), cells=cells)
