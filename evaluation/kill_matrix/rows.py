"""What is written down of one mutant: a row of the matrix, with a cell for each family of rules that was tried."""

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
"""The rules that a single op breaks."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One family's tests on one mutant."""

    killed: bool
    programs: int
    """How many ran, up to and with the one that killed."""
    seconds: float
    """CPU time, shrinking included where the shrunk program's length was asked for."""
    test: str | None = None
    rule: str | None = None
    op: str | None = None
    dtype: str | None = None
    size: int | None = None
    """The length of the shrunk program."""
    tests: tuple[str, ...] = ()
    """The rules whose own tests fail on the mutant, tried in its own family alone."""
    later: bool | None = None
    """Of a generated mutant that survived a quick run's programs: whether those of a standard run kill it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A mutant, and what each family did with it."""

    mutant: str
    generated: bool
    group: str
    """Its module, or the kind of its generated fault."""
    op: str | None
    """The op that a generated one's fault is in."""
    own: str
    """The family that its fault is about."""
    expected: tuple[str, ...]
    """The rules of which one has to name it."""
    cells: dict[str, Cell]

    @property
    def killed(self) -> bool:
        """Whether any family killed it."""
        return any(cell.killed for cell in self.cells.values())

    @property
    def own_cell(self) -> Cell:
        """What its own family did."""
        return self.cells[self.own]

    @property
    def right(self) -> bool:
        """Whether its own family killed it by a rule that has to name it, and by the op where the rule is about one."""
        named = self.own_cell.rule not in ABOUT_OPS or self.op in (None, self.own_cell.op)
        return self.own_cell.rule in self.expected and named


def commit() -> str:
    """The commit that is checked out, marked where tracked Python files differ from it."""
    head = _git("rev-parse", "--short=12", "HEAD")
    return f"{head}-changed" if _git("status", "--porcelain", "-uno", "--", "*.py") else head


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def append(path: Path, record: dict[str, Any]) -> None:
    """Add one record to a file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def records(folder: Path) -> Iterator[dict[str, Any]]:
    """Every whole record in a folder; a line that an interruption cut short is none."""
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
