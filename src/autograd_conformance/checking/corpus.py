"""The corpus: programs that once found a violation in some framework. Every run checks them first.

Each file in `suites/corpus` is one program. If a framework fixes the violation, its known difference is removed, and
the program stays for all frameworks.

`python -m autograd_conformance.checking.corpus FILE` prints a replay file as a corpus file, in which you fill in
`says`, the description.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.package.places import SUITES
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.catalogue import RULES

FOLDER = SUITES / "corpus"
"""Folder of the corpus files."""

KEYS = {"rule", "found_in", "says", "program"}
"""Keys that each corpus file has, all with a text as their value. A file may also have `link`."""


class MalformedCorpusFile(ValueError):
    """Raised for an invalid corpus file; the message names the file and says what is wrong."""


@dataclass(frozen=True, slots=True)
class CorpusProgram:
    """A program of the corpus, with the violation that it once found."""

    name: str
    """Name of its file, without the suffix."""
    rule: str
    """Slug of the rule that the program tests."""
    program: Program
    """The program that once violated the rule."""
    found_in: str
    """The framework, with its version, that first violated the rule."""
    says: str
    """Description of the violation."""
    link: str | None = None
    """Address of a page that discusses the violation; None without one."""


def corpus(folder: Path = FOLDER) -> tuple[CorpusProgram, ...]:
    """Returns the programs of a folder, ordered by file name. Raises `MalformedCorpusFile`."""
    return tuple(read(path) for path in sorted(folder.glob("*.toml")))


def read(path: Path) -> CorpusProgram:
    """Returns the program in a corpus file. Raises `MalformedCorpusFile`."""
    try:
        form = tomllib.loads(path.read_text(encoding="utf-8"))
        program = parse(form.get("program", ""), VOCABULARY)
    except (ValueError, AttributeError) as error:  # invalid TOML, Unicode or notation, or a number instead of a text
        raise MalformedCorpusFile(f"{path}: {error}") from error
    wrong = sorted((KEYS - form.keys()) | (form.keys() - KEYS - {"link"}))
    wrong += [name for name, value in form.items() if not isinstance(value, str) or not value.strip()]
    if wrong:
        raise MalformedCorpusFile(
            f"{path}: a corpus file has to have the texts {', '.join(sorted(KEYS))}; check {', '.join(wrong)}"
        )
    if form["rule"] not in RULES:
        raise MalformedCorpusFile(f"{path}: there is no rule {form['rule']!r}")
    says = " ".join(form["says"].split())
    return CorpusProgram(path.stem, form["rule"], program, form["found_in"], says, form.get("link"))


def main(arguments: Sequence[str]) -> int:
    """Prints a replay file of one program as a corpus file."""
    (name,) = arguments
    form = json.loads(Path(name).read_text(encoding="utf-8"))
    lines = render(codec.from_json(form, VOCABULARY))
    framework = form["framework"]
    found_in = json.dumps(f"{framework['name']} {framework['version']}")
    print(f'rule = "{form["rule"]}"\nfound_in = {found_in}\nsays = ""\nprogram = """\n{lines.strip()}\n"""')
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
