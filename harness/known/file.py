"""Files of known differences: TOML, every key with a type, and whatever makes no sense refused with file and line."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograd_conformance.harness.known.entry import Known
from autograd_conformance.harness.known.keys import ALWAYS, KEYS, OF_VALUES, Refused
from autograd_conformance.harness.places import PACKAGE
from autograd_conformance.programs.language import Apply

FOLDER = PACKAGE / "frameworks" / "known"


class MalformedExpectations(Exception):
    """A file of known differences that cannot be used; the message names file, line of the entry and key."""


def known(framework: str, folder: Path = FOLDER) -> tuple[Known, ...]:
    """The known differences of a framework; none where it has no file of them."""
    path = folder / f"{framework}.toml"
    return read(path) if path.exists() else ()


def read(path: Path, within: tuple[Path, ...] = ()) -> tuple[Known, ...]:
    """The known differences in a file; `MalformedExpectations` where it cannot be read or says what makes no sense.

    `within` are the files that include this one, the outermost first.
    """
    text, entries, others = _parts(path)
    inherited = [replace(each, inherited=True) for other in others for each in _included(path, other, (*within, path))]
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise MalformedExpectations(f"{path}: known has to be entries that begin with [[known]] each")
    found = []
    for number, each in enumerate(entries):
        try:
            found.append(replace(_entry(each), where=str(path)))
        except Refused as error:
            raise MalformedExpectations(f"{path}, line {_line(text, number)}: {error}") from None
    return (*found, *dict.fromkeys(inherited))  # two files that are included may include a third


def own_files(path: Path) -> tuple[Path, ...]:
    """A file and all that it includes, but for those that come with the suite; it can be read."""
    found = [path]
    for other in _parts(path)[2]:
        file = _place(path, other)
        found += own_files(file) if file.parent != FOLDER else []
    return tuple(dict.fromkeys(found))


def _parts(path: Path) -> tuple[str, list[Any], list[str]]:
    """What a file says, its entries, and the names of the files that it includes."""
    try:
        text = path.read_text(encoding="utf-8")
        form = tomllib.loads(text)
    except OSError as error:
        raise MalformedExpectations(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise MalformedExpectations(f"{path}: it is not UTF-8 from byte {error.start} on") from error
    except RecursionError as error:
        raise MalformedExpectations(f"{path}: it is nested too deeply") from error
    except tomllib.TOMLDecodeError as error:
        raise MalformedExpectations(f"{path}: {error}") from error
    entries, others = form.pop("known", []), form.pop("include", [])
    if form:
        raise MalformedExpectations(
            f"{path}: {_unknown(next(iter(form)), ['known', 'include'])}; each entry begins with [[known]]"
        )
    if not isinstance(others, list) or not all(isinstance(each, str) for each in others):
        raise MalformedExpectations(f'{path}: include has to be a list of names of files, as ["torch"]')
    return text, entries, others


def _place(path: Path, other: str) -> Path:
    """The file of a name that stands beside another one, or else comes with the suite."""
    places = [folder / f"{other}.toml" for folder in (path.parent, FOLDER)]
    file = next(filter(Path.is_file, places), None)
    if file is None:
        raise MalformedExpectations(f"{path}: include: there is no file {other}.toml beside it, nor with the suite")
    return file


def _included(path: Path, other: str, within: tuple[Path, ...]) -> tuple[Known, ...]:
    """The entries of a file that is included by the last of those that include each other."""
    file = _place(path, other)
    if file in within:
        raise MalformedExpectations(f"{path}: include: {file.name} includes this file")
    return read(file, within)


def _entry(form: Mapping[str, Any]) -> Known:
    """An entry; `Refused` where it makes no sense."""
    said = {}
    for key, value in form.items():
        if key not in KEYS:
            raise Refused(_unknown(key, KEYS))
        reads, due = KEYS[key]
        try:
            said[key] = reads(value)
        except Refused as error:
            raise Refused(f"{key}: {error}") from None
        except (ValueError, OverflowError):
            raise Refused(f"{key} has to be {due}, not {value!r}") from None
    for key in ALWAYS:
        if key not in form:
            raise Refused(f"{key!r} is missing; every [[known]] needs {', '.join(ALWAYS)}")
    entry = Known(said.pop("rule"), said.pop("op", None), said.pop("reason"), said.pop("witness"), **said)
    problem = _problem(entry)
    if problem:
        raise Refused(problem)
    return entry


def _unknown(key: str, keys: Any) -> str:
    near = difflib.get_close_matches(key, list(keys), 1)
    return f"there is no key {key!r}" + (f"; {near[0]!r} is one" if near else "")


def _problem(entry: Known) -> str | None:
    """What does not go together in an entry."""
    if entry.op is not None and not any(isinstance(step, Apply) and step.op == entry.op for step in entry.witness):
        return f"witness: it does not apply {entry.op!r}, which the entry is about"
    if entry.zero is not None and entry.op is None:
        return "zero: it counts the operands of an op, and the entry names none"
    if entry.written and entry.op is None:
        return "written: it is about the operands of an op, and the entry names none"
    if entry.any_value and (entry.limited or entry.nan):
        return "any_value: it leaves no room for relative, absolute and nan"
    raised, form = entry.raised or entry.message, entry.gives or entry.shape
    excused = entry.limited or entry.nan or entry.any_value or raised or form
    if entry.rule in OF_VALUES and not excused:
        return (
            f"relative: {entry.rule!r} is about values, and nothing says how far they may be off; give relative or "
            "absolute, nan = true, or any_value = true where memory is read that nobody knows the contents of"
        )
    return None


def _line(text: str, number: int) -> int:
    """The line, from 1, on which an entry begins: with it, the text so far holds that many entries."""
    lines = text.splitlines(keepends=True)
    named = [n for n, line in enumerate(lines, 1) if "known" in line]
    for n in (*named, *range(1, len(lines) + 1)):
        try:
            entries = tomllib.loads("".join(lines[:n])).get("known", [])
        except tomllib.TOMLDecodeError:  # it ends in the midst of a value
            continue
        if isinstance(entries, list) and len(entries) > number:
            return n
    return len(lines)
