"""The corpus: programs that found something once, whichever framework it was, and that every run tries first.

A file in `suites/corpus` is one program. A framework that mends what the program found loses its known difference; the
program stays, for that framework and for all others.

`python -m autograd_conformance.checking.corpus FILE` prints a replay file as one of the corpus; `says` is left to you.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.places import SUITES
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.catalogue import RULES

FOLDER = SUITES / "corpus"
"""The files of the corpus."""

KEYS = {"rule", "found_in", "says", "program"}
"""What a file has to hold, all of it text; it may have a `link`, too."""


class MalformedCorpusFile(ValueError):
    """A file of the corpus that is none: the message says which, and why."""


@dataclass(frozen=True, slots=True)
class CorpusProgram:
    """A program that found something."""

    name: str
    """The name of its file."""
    rule: str
    """The slug of the rule that it decided."""
    program: Program
    """The program."""
    found_in: str
    """The framework, with its version, that was the first to break the rule."""
    says: str
    """What the program found, in words."""
    link: str | None = None
    """Where it is discussed."""


def corpus(folder: Path = FOLDER) -> tuple[CorpusProgram, ...]:
    """The programs of a folder, by name; raises `MalformedCorpusFile`."""
    return tuple(read(path) for path in sorted(folder.glob("*.toml")))


def read(path: Path) -> CorpusProgram:
    """The program in a file; raises `MalformedCorpusFile`."""
    try:
        form = tomllib.loads(path.read_text(encoding="utf-8"))
        program = parse(form.get("program", ""), VOCABULARY)
    except (ValueError, AttributeError) as error:  # TOML, Unicode, the notation, a number in the place of the text
        raise MalformedCorpusFile(f"{path}: {error}") from error
    wrong = sorted((KEYS - form.keys()) | (form.keys() - KEYS - {"link"}))
    wrong += [name for name, value in form.items() if not isinstance(value, str) or not value.strip()]
    if wrong:
        raise MalformedCorpusFile(
            f"{path}: it has to hold the texts {', '.join(sorted(KEYS))}; look at {', '.join(wrong)}"
        )
    if form["rule"] not in RULES:
        raise MalformedCorpusFile(f"{path}: there is no rule {form['rule']!r}")
    says = " ".join(form["says"].split())
    return CorpusProgram(path.stem, form["rule"], program, form["found_in"], says, form.get("link"))


def main(arguments: Sequence[str]) -> int:
    """Print the file of the corpus that a replay file of one program is."""
    (name,) = arguments
    form = json.loads(Path(name).read_text(encoding="utf-8"))
    lines = render(codec.from_json(form, VOCABULARY))
    framework = form["framework"]
    found_in = json.dumps(f"{framework['name']} {framework['version']}")
    print(f'rule = "{form["rule"]}"\nfound_in = {found_in}\nsays = ""\nprogram = """\n{lines.strip()}\n"""')
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
