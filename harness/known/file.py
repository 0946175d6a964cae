"""Files of known differences: TOML, every key with a type, and whatever makes no sense refused with file and line."""

from __future__ import annotations

import datetime
import difflib
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from packaging.specifiers import SpecifierSet

from autograd_conformance.harness.known.calls import CALLS
from autograd_conformance.harness.known.entry import NOT_REPORTED, Known
from autograd_conformance.harness.places import PACKAGE
from autograd_conformance.ops.catalogue import APPLIED, VOCABULARY
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.language import DTYPES, EFFECTS, INSTRUCTIONS, Apply, Notation, Program
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.text import parse
from autograd_conformance.programs.validation import MalformedProgram
from autograd_conformance.reports.renamed import current_slug
from autograd_conformance.rules.catalogue import RULES

FOLDER = PACKAGE / "frameworks" / "known"


class MalformedExpectations(Exception):
    """A file of known differences that cannot be used; the message names file, line of the entry and key."""


class _Refused(Exception):
    """What is wrong with an entry."""


# -- keys --------------------------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def _rule(value: Any) -> str:
    slug = current_slug(_text(value))
    if slug not in RULES:
        raise _Refused(f"there is no rule {slug!r}")
    return slug


def _op(value: Any) -> str:
    if _text(value) not in APPLIED:
        raise _Refused(f"there is no op {value!r}")
    return value


def _witness(value: Any) -> Program:
    try:
        return parse(_text(value), VOCABULARY)
    except MalformedProgram as error:
        raise _Refused(f"a witness is malformed: {error}") from None


def _link(value: Any) -> str:
    if value != NOT_REPORTED and not _text(value).startswith(("https://", "http://")):
        raise ValueError
    return value


def _day(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        raise ValueError
    return (value if isinstance(value, datetime.date) else datetime.date.fromisoformat(_text(value))).isoformat()


def _limit(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (math.isfinite(value) and value >= 0):
        raise ValueError
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _kind(value: Any) -> str:
    return Kind(_text(value)).value


def _step(value: Any) -> str:
    if _text(value).split()[0] not in OPTIMIZERS:
        raise ValueError
    return value


def _before(value: Any) -> str:
    words = {*APPLIED, *get_args(Notation), *(f"hook {effect}" for effect in EFFECTS)}
    return value if isinstance(value, str) and value in words else _step(value)


def _call(value: Any) -> str:
    if value not in [INSTRUCTIONS[each].notation for each in CALLS]:
        raise ValueError
    return value


def _dtype(value: Any) -> str:
    if value not in DTYPES:
        raise ValueError
    return value


def _versions(value: Any) -> SpecifierSet:
    return SpecifierSet(_text(value))


KEYS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "rule": (_rule, "the name of a rule"),
    "op": (_op, "the name of an op"),
    "reason": (_text, "a text"),
    "witness": (_witness, "a program in the notation of programs/text.py"),
    "link": (_link, f"an address that begins with https://, or {NOT_REPORTED!r}"),
    "since": (_day, "a day, such as 2026-11-22"),
    "relative": (_limit, "a finite number, 0 or more"),
    "absolute": (_limit, "a finite number, 0 or more"),
    "any_value": (_flag, "true or false"),
    "gives": (_text, "the name of a dtype"),
    "shape": (_flag, "true or false"),
    "nan": (_flag, "true or false"),
    "elements": (_count, "a whole number, 0 or more"),
    "dimensions": (_count, "a whole number, 0 or more"),
    "wrong": (_count, "a whole number, 0 or more"),
    "zero": (_count, "the number of an operand, from 0"),
    "empty": (_flag, "true or false"),
    "views": (_flag, "true or false"),
    "repeated": (_flag, "true or false"),
    "detached": (_flag, "true or false"),
    "raised": (_kind, f"a kind of error: {', '.join(kind.value for kind in Kind)}"),
    "message": (_text, "a text"),
    "after": (
        _before,
        "an op, an instruction's word, a hook's effect, such as 'hook raise', or an optimizer with settings",
    ),
    "call": (_call, "backward or grad"),
    "again": (_flag, "true or false"),
    "held": (_flag, "true or false"),
    "twice": (_flag, "true or false"),
    "computed": (_flag, "true or false"),
    "switched": (_flag, "true or false"),
    "aliased": (_flag, "true or false"),
    "written": (_flag, "true or false"),
    "overlapped": (_flag, "true or false"),
    "unreached": (_flag, "true or false"),
    "inside": (_flag, "true or false"),
    "through_unit": (_flag, "true or false"),
    "step": (_step, "an optimizer with settings, such as 'sgd fused=True'"),
    "version": (_versions, "versions of the framework, such as '>=2.12,<2.14'"),
    "device": (_text, "a device, such as 'cpu'"),
    "dtype": (_dtype, " or ".join(DTYPES)),
    "platform": (_text, "an operating system or a processor, such as 'Linux' or 'x86_64'"),
    "left_out": (_flag, "true or false"),
}
"""What an entry may say: how each key is read, and what it has to be."""

ALWAYS = ("rule", "reason", "witness")
"""What every entry says."""

OF_VALUES = frozenset({
    "gradients/forward", "gradients/op", "gradients/graph", "gradients/fan-out", "gradients/same-argument",
    "gradients/several-results", "gradients/several-roots", "gradients/cotangent", "writes/error-or-recorded",
    "writes/value", "writes/aliases", "higher/op", "higher/op-third", "optimizers/formula", "optimizers/remembers",
    "optimizers/skips", "optimizers/groups", "optimizers/variants", "networks/gradient", "recurrent/gradient",
    "training/loop",
})  # fmt: skip
"""Rules that are broken by wrong values, or by errors in the place of values."""


# -- files -------------------------------------------------------------------------------------------------------------


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
        except _Refused as error:
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
    """An entry; `_Refused` where it makes no sense."""
    said = {}
    for key, value in form.items():
        if key not in KEYS:
            raise _Refused(_unknown(key, KEYS))
        reads, due = KEYS[key]
        try:
            said[key] = reads(value)
        except _Refused as error:
            raise _Refused(f"{key}: {error}") from None
        except (ValueError, OverflowError):
            raise _Refused(f"{key} has to be {due}, not {value!r}") from None
    for key in ALWAYS:
        if key not in form:
            raise _Refused(f"{key!r} is missing; every [[known]] needs {', '.join(ALWAYS)}")
    entry = Known(said.pop("rule"), said.pop("op", None), said.pop("reason"), said.pop("witness"), **said)
    problem = _problem(entry)
    if problem:
        raise _Refused(problem)
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
