"""`python -m evaluation.engines.page`: write docs/results/engines.md from the results in the folder `found`."""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader

from autograd_conformance.reporting.render.markdown import environment
from evaluation.engines.engine import ENGINES, Engine
from evaluation.fresh.page import share

FOUND = Path(__file__).parent / "found"
"""Folder with the results of each engine: of the suite, of the engine's own tests, and the judged survivors."""

PAGE = Path(__file__).parents[2] / "docs" / "results" / "engines.md"

MISSING, OUTSIDE, EQUIVALENT = "missing", "outside", "equivalent"

KINDS = (
    (MISSING, "Survivors that a program could show"),
    (OUTSIDE, "Survivors outside the suite's language"),
    (EQUIVALENT, "Survivors that are never visible"),
)
"""How a person judged a survivor, with the title of its list."""

ENDINGS = {
    "killed: import": "cannot be imported or fails the first program",
    "killed: hang": "does not end",
    "killed: crash": "ends the process",
}
"""How a mutant may end without a violation."""


@dataclass(frozen=True, slots=True)
class Survivor:
    """A mutant that no program of the suite found, with a person's judgement."""

    file: str
    line: int
    diff: str
    kind: str
    """One of `KINDS`."""
    why: str
    """Why it is not visible, or which program would show it."""
    own: str
    """The result of the engine's own tests."""


@dataclass(frozen=True)
class EngineResult:
    """The results of one engine."""

    engine: Engine
    suite: Mapping[str, Mapping[str, Any]]
    """The suite's results, by the key of the mutant."""
    tests: Mapping[str, Mapping[str, Any]]
    """The results of the engine's own tests, by the same key; empty if they did not run."""
    judged: Mapping[str, Mapping[str, str]]
    """The judgement of each survivor of the suite, by the same key."""

    @property
    def count(self) -> int:
        """Number of mutants."""
        return len(self.suite)

    @cached_property
    def survivors(self) -> list[Survivor]:
        """The survivors of the suite, by file and line."""
        found = [
            Survivor(line["file"], line["line"], line["diff"], **self.judged[key], own=self._own(key))
            for key, line in self.suite.items()
            if line["outcome"] == "survived"
        ]
        return sorted(found, key=lambda each: (each.file, each.line))

    def of(self, kind: str) -> list[Survivor]:
        """The survivors that were judged so."""
        return [survivor for survivor in self.survivors if survivor.kind == kind]

    @property
    def equivalent(self) -> int:
        """Number of mutants that are never visible."""
        return len(self.of(EQUIVALENT))

    @property
    def outside(self) -> int:
        """Number of survivors outside the suite's language."""
        return len(self.of(OUTSIDE))

    @property
    def killed(self) -> int:
        """Number of mutants that the suite found."""
        return self.count - len(self.survivors)

    @property
    def within(self) -> int:
        """Number of mutants that programs in the suite's language show."""
        return self.killed + len(self.of(MISSING))

    @property
    def visible(self) -> int:
        """Number of mutants that programs of public calls show."""
        return self.count - self.equivalent

    @property
    def _both(self) -> list[tuple[bool, bool]]:
        """For each visible mutant that the own tests judged: whether the suite and whether these found it."""
        visible = [key for key in self.tests if self.judged.get(key, {}).get("kind") != EQUIVALENT]
        return [(self.suite[key]["outcome"] != "survived", self.tests[key]["outcome"] != "survived") for key in visible]

    @property
    def own_count(self) -> int:
        """Number of visible mutants that the own tests judged."""
        return len(self._both)

    @property
    def own(self) -> int:
        """Number of these that the own tests found."""
        return sum(own for _, own in self._both)

    @property
    def both(self) -> int:
        """Number of mutants that the own tests and the suite found."""
        return sum(own and suite for suite, own in self._both)

    @property
    def only_own(self) -> int:
        """Number of mutants that the own tests found and the suite did not."""
        return sum(own and not suite for suite, own in self._both)

    @property
    def only_suite(self) -> int:
        """Number of mutants that the suite found and the own tests did not."""
        return sum(suite and not own for suite, own in self._both)

    @property
    def ends(self) -> str:
        """A sentence about the mutants that the suite found, by how they ended."""
        outcomes = Counter(line["outcome"] for line in self.suite.values())
        rest = [f"{outcomes[each]} counted as “{words}”" for each, words in ENDINGS.items() if outcomes[each]]
        return (
            f"Of the {self.killed} that the suite found, "
            + ", ".join([f"{outcomes['killed']} violated a rule", *rest])
            + "."
        )

    def _own(self, key: str) -> str:
        if key not in self.tests:
            return "not measured"
        return "not found" if self.tests[key]["outcome"] == "survived" else "found"


def result(name: str) -> EngineResult:
    """Reads the stored results of an engine."""
    judged = tomllib.loads((FOUND / f"{name}.toml").read_text(encoding="utf-8"))
    return EngineResult(ENGINES[name], _lines(f"{name}.jsonl"), _lines(f"{name}_own.jsonl"), judged)


def page() -> str:
    """The page, in GitHub's Markdown, ending in a line end."""
    templates = environment()
    templates.loader = FileSystemLoader(Path(__file__).with_name("templates"))
    found = [result(name) for name in ENGINES if (FOUND / f"{name}.jsonl").exists()]
    rendered = templates.get_template("engines.md.j2").render(
        results=found, kinds=KINDS, share=share, change=_change, endings=" or ".join(ENDINGS.values())
    )
    return rendered.rstrip() + "\n"


def _change(diff: str) -> str:
    """Returns the changed line before and after, as code in a table's cell."""
    lines = [line for line in diff.splitlines() if line[1:].strip()]
    old = [line[1:].strip() for line in lines if line.startswith("-")]
    new = [line[1:].strip() for line in lines if line.startswith("+")]
    shown = [f"`{each}`".replace("|", r"\|") for each in (" ".join(old), " ".join(new)) if each]
    return " → ".join(shown) if new else f"{shown[0]} removed"


def _lines(name: str) -> dict[str, dict[str, Any]]:
    file = FOUND / name
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines()) if file.exists() else ()
    return {key(line): line for line in lines}


def key(line: Mapping[str, Any]) -> str:
    """The key of a mutant in the stored results: its file, operator and occurrence."""
    return f"{line['file']} {line['operator']} {line['occurrence']}"


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
