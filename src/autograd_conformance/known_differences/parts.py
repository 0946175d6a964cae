"""The parts of a file of known differences, as TOML: its entries, the files that it includes, and the versions that
somebody tried. Whatever is no such file is refused with its path and, where there is one, its line.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from autograd_conformance.known_differences.readers import RefusedEntry
from autograd_conformance.package.places import PACKAGE

T = TypeVar("T")

FOLDERS = tuple(sorted(folder for room in ("frameworks", "adapters") for folder in (PACKAGE / room).glob("*/known")))
"""Folders of the known differences that come with the suite, one for each adapter with known differences."""

LARGEST = 4 * 2**20
"""Largest size of a file of known differences, in bytes; a larger file is refused."""

LONGEST = 100_000
"""Largest number of characters in a line of a file of known differences; a file with a longer line is refused."""

PARTS = re.compile(r"(?:\.\s*[\w\"'-]+\s*){16}[=\]]")
"""Pattern of a dotted key of 16 parts or more. No key has so many, and the TOML reader's time for it grows at least
with the square of their number.
"""


class MalformedKnownDifferences(Exception):
    """Raised if a file of known differences is unusable. The message names the file, the entry's line and the key."""


def text_of(path: Path) -> str:
    """Returns the text of a file; raises `MalformedKnownDifferences` if the file is unreadable or too large, or has too
    long lines or keys.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise MalformedKnownDifferences(f"{path}: the file is larger than {LARGEST >> 20} MiB; write several files")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise MalformedKnownDifferences(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise MalformedKnownDifferences(f"{path}: the file is not UTF-8 from byte {error.start} on") from error
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST:
            raise MalformedKnownDifferences(f"{path}, line {number}: the line is longer than {LONGEST:,} characters")
        if PARTS.search(line):
            raise MalformedKnownDifferences(
                f"{path}, line {number}: a key has too many parts; no key of an entry has a dot"
            )
    return text


@dataclass(frozen=True)
class Parts:
    """The keys at the top level of a file."""

    known: list[Any]
    """The known differences, not yet read."""
    spared: list[Any]
    """The situations that no program has, not yet read."""
    include: list[str]
    """The names of the files that this one includes."""
    tried: list[str]
    """The versions of the framework that the entries describe."""


def parts_of(text: str, path: Path) -> Parts:
    """Returns the keys at the top level of a file with this text."""
    try:
        form = tomllib.loads(text)
    except RecursionError as error:
        raise MalformedKnownDifferences(f"{path}: the TOML is nested too deeply") from error
    except ValueError as error:  # invalid TOML, or a number with too many digits
        raise MalformedKnownDifferences(f"{path}: {error}") from error
    names = [field.name for field in fields(Parts)]
    for key in form:
        if key not in names:
            raise MalformedKnownDifferences(f"{path}: {unknown(key, names)}; each entry begins with [[known]]")
    parts = Parts(**{name: form.get(name, []) for name in names})
    lists = {
        "include": (parts.include, 'file names, such as ["torch"]'),
        "tried": (parts.tried, 'versions, such as ["1.2"]'),
    }
    for key, (texts, expected) in lists.items():
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            raise MalformedKnownDifferences(f"{path}: {key} has to be a list of {expected}")
    return parts


def _place(path: Path, other: str) -> Path:
    """Returns the path of an included file: beside the including file, or else among the files that come with the
    suite.
    """
    places = [folder / f"{other}.toml" for folder in (path.parent, *FOLDERS)]
    file = next(filter(Path.is_file, places), None)
    if file is None:
        raise MalformedKnownDifferences(
            f"{path}: include: there is no file {other}.toml in the same folder, and none comes with the suite"
        )
    return file


def included(path: Path, other: str, within: tuple[Path, ...]) -> Path:
    """Returns the path of the file `other`, which the last file of `within` includes, and which includes none of
    them.
    """
    file = _place(path, other)
    if file in within:
        raise MalformedKnownDifferences(f"{path}: include: {file.name} includes this file")
    return file


def entries_of(text: str, path: Path, table: str, read: Callable[[Mapping[str, Any]], T]) -> list[T]:
    """Returns what `read` makes of each entry of a file, of the table `known` or `spared`. If `read` raises
    `RefusedEntry`, raises `MalformedKnownDifferences`, whose message names the entry's line.
    """
    forms = getattr(parts_of(text, path), table)
    if not isinstance(forms, list) or not all(isinstance(each, dict) for each in forms):
        raise MalformedKnownDifferences(f"{path}: {table} has to be a list of entries; begin each with [[{table}]]")
    found = []
    for number, each in enumerate(forms):
        try:
            found.append(read(each))
        except RefusedEntry as error:
            raise MalformedKnownDifferences(f"{path}, line {_line(text, table, number)}: {error}") from None
    return found


def own_files(path: Path, within: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Returns the path of a readable file and of all files that it includes, except included files that come with the
    suite. `within` are the files that include this one, the outermost first.
    """
    found, deeper = [path], (*within, path)
    for other in parts_of(text_of(path), path).include:
        file = included(path, other, deeper)
        found += own_files(file, deeper) if file.parent not in FOLDERS else []
    return tuple(dict.fromkeys(found))


def unknown(key: str, keys: Collection[str]) -> str:
    """Returns a message that there is no such key, with the nearest one that there is."""
    near = difflib.get_close_matches(key, list(keys), 1)
    return f"there is no key {key!r}" + (f"; {near[0]!r} is one" if near else "")


def _line(text: str, table: str, number: int) -> int:
    """Returns the line on which entry `number` of a table begins, from 1: the first line up to which the text has more
    entries than `number`.
    """
    lines = text.splitlines(keepends=True)
    named = [n for n, line in enumerate(lines, 1) if line.lstrip().startswith("[[")]
    for n in (*named[number:], *range(1, len(lines) + 1)):
        try:
            entries = tomllib.loads("".join(lines[:n])).get(table, [])
        except ValueError:  # the text ends inside a value
            continue
        if isinstance(entries, list) and len(entries) > number:
            return n
    return len(lines)
