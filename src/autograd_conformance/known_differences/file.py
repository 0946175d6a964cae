"""Reader of files of known differences. A file is TOML; each key has a type, and whatever is invalid is refused with
its file and line.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from autograd_conformance.frameworks.loading.entry_points import known_file
from autograd_conformance.known_differences.condition import Condition
from autograd_conformance.known_differences.entry import Known, Spared, is_on
from autograd_conformance.known_differences.entry_checks import problem, witness_problem
from autograd_conformance.known_differences.limits import Limits
from autograd_conformance.known_differences.parts import FOLDERS, entries_of, included, parts_of, text_of, unknown
from autograd_conformance.known_differences.readers import RefusedEntry
from autograd_conformance.known_differences.table import (
    ALWAYS,
    CONDITIONS,
    KEYS,
    LIMITS,
    RENAMED,
    SPARED,
    SPARED_ALWAYS,
    Field,
)

SHOWN = 80
"""Largest number of characters of an invalid value that an error message shows."""


def known(framework: str, folders: Sequence[Path] = FOLDERS, device: str | None = None) -> tuple[Known, ...]:
    """Returns a framework's known differences that come with the suite, or else with the package of the framework's
    adapter; empty if there are none. With `device`, only those that may occur on it.
    """
    path = shipped(framework, folders)
    entries = read(path) if path is not None else ()
    return entries if device is None else tuple(each for each in entries if is_on(each, device))


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
    parts, deeper = parts_of(text_of(path), path), (*within, path)
    inherited = (tried_versions(included(path, other, deeper), deeper) for other in parts.include)
    return tuple(dict.fromkeys(parts.tried or chain.from_iterable(inherited)))


def read(path: Path, within: tuple[Path, ...] = ()) -> tuple[Known, ...]:
    """Returns the known differences in a file. Raises `MalformedKnownDifferences` if the file is unreadable or invalid.
    `within` are the files that include this one, the outermost first.
    """
    return parsed(text_of(path), path, within)


def parsed(text: str, path: Path, within: tuple[Path, ...] = ()) -> tuple[Known, ...]:
    """Returns the known differences in the text of a file, which need not be written yet; `path` is the file's path."""
    deeper = (*within, path)
    others = [included(path, other, deeper) for other in parts_of(text, path).include]
    inherited = [replace(each, inherited=True) for other in others for each in read(other, deeper)]
    found = entries_of(text, path, "known", partial(_entry, own=path.parent not in FOLDERS))
    return (*(replace(each, where=str(path)) for each in found), *dict.fromkeys(inherited))  # two may include a third


def spared(path: Path, within: tuple[Path, ...] = ()) -> tuple[Spared, ...]:
    """Returns the situations that programs for a framework leave out, which a file and the files that it includes name.
    `within` are the files that include this one, the outermost first.
    """
    text, deeper = text_of(path), (*within, path)
    others = [included(path, other, deeper) for other in parts_of(text, path).include]
    found = [replace(each, where=str(path)) for each in entries_of(text, path, "spared", _spared)]
    return tuple(dict.fromkeys((*found, *(each for other in others for each in spared(other, deeper)))))


def _entry(form: Mapping[str, Any], own: bool) -> Known:
    """Reads an entry; raises `RefusedEntry` if it is invalid. If the entry is from a user's `own` file, its witness
    program is computed as well.
    """
    values = _values(by_present_name(form), KEYS, "known", ALWAYS)
    entry = entry_of(values)
    wrong = problem(entry) or (witness_problem(entry) if own else None)
    if wrong:
        old = ", ".join(f"{key} is {RENAMED[key]} now" for key in form if key in RENAMED and RENAMED[key] in wrong)
        raise RefusedEntry(wrong + (f" ({old})" if old else ""))
    return entry


def _spared(form: Mapping[str, Any]) -> Spared:
    """Reads an entry of the table `spared`; raises `RefusedEntry` if it is invalid."""
    return Spared(**_values({key: (key, value) for key, value in form.items()}, SPARED, "spared", SPARED_ALWAYS))


def _values(
    form: Mapping[str, tuple[str, Any]],
    keys: Mapping[str, Field | type[Condition]],
    table: str,
    always: Collection[str],
) -> dict[str, Any]:
    """Returns the values of an entry's keys, of which `form` has the present name, the name in the file and the value.
    Raises `RefusedEntry` for an unknown key, an invalid value, or a missing one of the keys that are `always` there.
    """
    values: dict[str, Any] = {}
    for name, (key, value) in form.items():
        if name not in keys:
            raise RefusedEntry(unknown(key, keys))
        try:
            values[name] = keys[name].read(value)
        except RefusedEntry as error:
            raise RefusedEntry(f"{key}: {error}") from None
        except (ValueError, OverflowError):
            raise RefusedEntry(f"{key} has to be {keys[name].expects}, not {_short(value)}") from None
    for key in always:
        if key not in form:
            raise RefusedEntry(f"{key!r} is missing; every [[{table}]] needs {', '.join(always)}")
    return values


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
