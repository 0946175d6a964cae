"""Reader of files of known differences. A file is TOML; each key has a type, and whatever is invalid is refused with
its file and line.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any

from autograd_conformance.frameworks.loading.entry_points import known_file
from autograd_conformance.known_differences.entry import Known
from autograd_conformance.known_differences.entry_checks import problem, witness_problem
from autograd_conformance.known_differences.limits import Limits
from autograd_conformance.known_differences.readers import RefusedEntry
from autograd_conformance.known_differences.table import ALWAYS, CONDITIONS, KEYS, LIMITS, RENAMED
from autograd_conformance.package.places import PACKAGE

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

SHOWN = 80
"""Largest number of characters of an invalid value that an error message shows."""


class MalformedKnownDifferences(Exception):
    """Raised if a file of known differences is unusable. The message names the file, the entry's line and the key."""


def known(framework: str, folders: Sequence[Path] = FOLDERS) -> tuple[Known, ...]:
    """Returns a framework's known differences that come with the suite, or else with the package of the framework's
    adapter; empty if there are none.
    """
    path = shipped(framework, folders)
    return read(path) if path is not None else ()


def shipped(framework: str, folders: Sequence[Path] = FOLDERS) -> Path | None:
    """Returns the path of the framework's file of known differences that comes with the suite, or else with the package
    of the framework's adapter; None if there is none.
    """
    ours = next((path for folder in folders if (path := folder / f"{framework}.toml").exists()), None)
    return ours or known_file(framework)


def tried_versions(path: Path, within: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """Returns the versions of a framework that a file's own `tried` list names: those that somebody ran the suite with,
    and that the entries describe. A file without such a list has those of the files that it includes; empty if these
    have none either. `within` are the files that include this one, the outermost first.
    """
    parts, deeper = _parts(_text(path), path), (*within, path)
    inherited = (tried_versions(_included(path, other, deeper), deeper) for other in parts.include)
    return tuple(dict.fromkeys(parts.tried or chain.from_iterable(inherited)))


def read(path: Path, within: tuple[Path, ...] = ()) -> tuple[Known, ...]:
    """Returns the known differences in a file. Raises `MalformedKnownDifferences` if the file is unreadable or invalid.
    `within` are the files that include this one, the outermost first.
    """
    return parsed(_text(path), path, within)


def parsed(text: str, path: Path, within: tuple[Path, ...] = ()) -> tuple[Known, ...]:
    """Returns the known differences in the text of a file, which need not be written yet; `path` is the file's path."""
    parts, deeper = _parts(text, path), (*within, path)
    entries, others = parts.known, [_included(path, other, deeper) for other in parts.include]
    inherited = [replace(each, inherited=True) for other in others for each in read(other, deeper)]
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise MalformedKnownDifferences(f"{path}: known has to be a list of entries; begin each with [[known]]")
    found = []
    for number, each in enumerate(entries):
        try:
            found.append(replace(_entry(each, path.parent not in FOLDERS), where=str(path)))
        except RefusedEntry as error:
            raise MalformedKnownDifferences(f"{path}, line {_line(text, number)}: {error}") from None
    return (*found, *dict.fromkeys(inherited))  # two included files may include the same third file


def own_files(path: Path, within: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Returns the path of a readable file and of all files that it includes, except included files that come with the
    suite. `within` are the files that include this one, the outermost first.
    """
    found, deeper = [path], (*within, path)
    for other in _parts(_text(path), path).include:
        file = _included(path, other, deeper)
        found += own_files(file, deeper) if file.parent not in FOLDERS else []
    return tuple(dict.fromkeys(found))


def _text(path: Path) -> str:
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
    """The entries, not yet read."""
    include: list[str]
    """The names of the files that this one includes."""
    tried: list[str]
    """The versions of the framework that the entries describe."""


def _parts(text: str, path: Path) -> Parts:
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
            raise MalformedKnownDifferences(f"{path}: {_unknown(key, names)}; each entry begins with [[known]]")
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


def _included(path: Path, other: str, within: tuple[Path, ...]) -> Path:
    """Returns the path of the file `other`, which the last file of `within` includes, and which includes none of
    them.
    """
    file = _place(path, other)
    if file in within:
        raise MalformedKnownDifferences(f"{path}: include: {file.name} includes this file")
    return file


def _entry(form: Mapping[str, Any], own: bool) -> Known:
    """Reads an entry; raises `RefusedEntry` if it is invalid. If the entry is from a user's `own` file, its witness
    program is computed as well.
    """
    values: dict[str, Any] = {}
    for name, (key, value) in by_present_name(form).items():
        if name not in KEYS:
            raise RefusedEntry(_unknown(key, KEYS))
        try:
            values[name] = KEYS[name].read(value)
        except RefusedEntry as error:
            raise RefusedEntry(f"{key}: {error}") from None
        except (ValueError, OverflowError):
            raise RefusedEntry(f"{key} has to be {KEYS[name].expects}, not {_short(value)}") from None
    for key in ALWAYS:
        if key not in form:
            raise RefusedEntry(f"{key!r} is missing; every [[known]] needs {', '.join(ALWAYS)}")
    entry = entry_of(values)
    wrong = problem(entry) or (witness_problem(entry) if own else None)
    if wrong:
        old = ", ".join(f"{key} is {RENAMED[key]} now" for key in form if key in RENAMED and RENAMED[key] in wrong)
        raise RefusedEntry(wrong + (f" ({old})" if old else ""))
    return entry


def entry_of(values: Mapping[str, Any]) -> Known:
    """Returns the entry with these values of keys; a flag that is false is no condition."""
    said = {key: value for key, value in values.items() if key in CONDITIONS and value is not False}
    conditions = tuple(each(said[key]) for key, each in CONDITIONS.items() if key in said)
    limits = Limits(**{key: value for key, value in values.items() if key in LIMITS})
    others = {key: value for key, value in values.items() if key not in CONDITIONS and key not in LIMITS}
    return Known(conditions=conditions, limits=limits, **others)


def by_present_name(form: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Returns the keys of an entry by their present names, each with its name in the file and its value. Raises
    `RefusedEntry` if an entry has a key under both its names.
    """
    found: dict[str, tuple[str, Any]] = {}
    for key, value in form.items():
        name = RENAMED.get(key, key)
        if name in found:
            old = next(each for each in form if RENAMED.get(each) == name)
            raise RefusedEntry(f"{old}: it is the old name of {name}, which the entry has as well; keep {name}")
        found[name] = (key, value)
    return found


def _short(value: Any) -> str:
    """Returns an invalid value as text for a message, cut off after `SHOWN` characters."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "that"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _unknown(key: str, keys: Any) -> str:
    near = difflib.get_close_matches(key, list(keys), 1)
    return f"there is no key {key!r}" + (f"; {near[0]!r} is one" if near else "")


def _line(text: str, number: int) -> int:
    """Returns the line on which entry `number` begins, from 1: the first line up to which the text has more entries
    than `number`.
    """
    lines = text.splitlines(keepends=True)
    named = [n for n, line in enumerate(lines, 1) if line.lstrip().startswith("[[")]
    for n in (*named[number:], *range(1, len(lines) + 1)):
        try:
            entries = tomllib.loads("".join(lines[:n])).get("known", [])
        except ValueError:  # the text ends inside a value
            continue
        if isinstance(entries, list) and len(entries) > number:
            return n
    return len(lines)
