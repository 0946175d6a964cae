"""`python -m evaluation.words [PATH ...]`: lists private words in docstrings, messages and pages.

A private word is one that a reader outside the project cannot understand in that sense. Without paths, the command
reads the package, the docstrings of its tests, and the written pages. The exit code is 1 if there are any such words.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograd_conformance.package.places import ROOT
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.observations import Kind

PRIVATE = {
    r"told|tells?|telling": "reported, printed, described, detected",
    r"ask(s|ed|ing)?": "requested, requires, queried",
    r"seen": "observed",
    r"behind": "after (time), upstream or downstream of (graph)",
    r"(comes?|came) (to|of)": "is, results in, total",
    r"lies?": "is stored in, is in",
    r"stands?": "occurs, appears, is",
    r"(held|holds?|holding) to": "validated against, compared with",
    r"due": "expected (or: because of)",
    r"(left|leaves?|leaving) open": "unspecified",
    r"anew|once more": "again, recomputed, retried",
    r"far end": "server, worker",
    r"greet(s|ed|ing|ings)?": "handshake, probe",
    r"(by|of) (itself|themselves|its own|their own)": "in isolation, separate, own",
    r"patien(ce|t)|stretched": "timeout, scaled timeout",
    r"excus\w+": "waived",
    r"(goes|go|went|gone|going) on": "continues",
    r"(takes?|took|taken|taking) over": "adopts",
    r"lacking|undrawable|misfits?": "unsupported",
    r"slips?|mistakes?|breach(es|ed)?": "adapter bug, violation, fault",
    r"(?<![.\w])moments?": "step",
    r"drawn near|worth (its|their|a) (function|region)s?": "reuses a compiled region",
}
"""Patterns of words that are ambiguous or unknown outside this project, with the words to write instead."""
FIRST = r"(In )?(What|Which|Who|Whose|Whom)\b"
"""Pattern of pronouns that must not begin a docstring: a sentence needs a noun as its subject."""
CODE = ("src/autograd_conformance", "suites", "strategies", "adapters", "evaluation")
TESTS = ("tests",)
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    "docs/*.md",
    "src/autograd_conformance/reporting/templates/*",
)
FROZEN = (
    "cannot be told",
    "--patience",
    "mistakes.md",
    *(capability.value for capability in Capability),
    *(kind.value for kind in Kind),
)
"""Texts that records, command lines and links already use; the words in them are no private words."""
GENERATED = ("docs/ops.md", "docs/findings.md")
"""Pages that are not read: they consist of programs or of dated entries."""

_WORDS = [(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), write) for pattern, write in PRIVATE.items()]
_FIRST = re.compile(FIRST)
_FROZEN = re.compile("|".join(map(re.escape, sorted(FROZEN, key=len, reverse=True))), re.IGNORECASE)


@dataclass(frozen=True)
class Use:
    """A private word in a text."""

    path: Path
    line: int
    word: str
    write: str

    def __str__(self) -> str:
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path}:{self.line}: {self.word!r}; write: {self.write}"


def uses_in_text(text: str, path: Path, line: int) -> Iterator[Use]:
    """The private words of a text that starts at a line."""
    text = _FROZEN.sub(lambda frozen: " " * len(frozen.group()), text)
    for pattern, write in _WORDS:
        for found in pattern.finditer(text):
            yield Use(path, line + text.count("\n", 0, found.start()), found.group(), write)


def without_code(text: str) -> str:
    """A text with blanks in place of its code in backticks."""
    return re.sub(r"`[^`\n]*`", lambda code: " " * len(code.group()), text)


def uses_in_code(path: Path, messages: bool) -> Iterator[Use]:
    """The private words of a module's docstrings, and of its string literals if `messages` is true."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant(str(text)) as constant):
                docstrings.add(id(constant))
                if _FIRST.match(text):
                    yield Use(path, node.lineno, text.split()[0], "the thing that it is")
                yield from uses_in_text(without_code(text), path, node.lineno)
            case ast.Constant(str(text)) if messages and " " in text and id(node) not in docstrings:
                yield from uses_in_text(text, path, node.lineno)


def uses_in_page(path: Path) -> Iterator[Use]:
    """The private words of a page or template, without its code blocks."""
    text = re.sub(
        r"```.*?```", lambda code: "\n" * code.group().count("\n"), path.read_text(encoding="utf-8"), flags=re.S
    )
    yield from uses_in_text(without_code(text), path, 1)


def uses(paths: Sequence[Path]) -> Iterator[Use]:
    """The private words of files and folders."""
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file == Path(__file__):  # its table consists of these words
                continue
            if file.suffix == ".py":
                yield from uses_in_code(file, not file.is_relative_to(ROOT / "tests"))
            else:
                yield from uses_in_page(file)


def everything() -> list[Path]:
    """The files that are read without paths."""
    pages = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    skipped = [ROOT / name for name in GENERATED]
    code = [file for folder in CODE + TESTS for file in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in code + pages if path.is_file() and path not in skipped]


def main() -> int:
    """Print the private words; returns 1 if there are any."""
    found = list(uses([Path(name).resolve() for name in sys.argv[1:]] or everything()))
    for use in found:
        print(use)
    print(f"{len(found)} private words")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
