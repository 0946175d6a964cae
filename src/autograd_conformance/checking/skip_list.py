"""The user's list of ops and rules that a run leaves out (`--skip FILE`), each with a reason.

The file is TOML: tables `[[skip]]` with `op` or `rule`, and `because`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class MalformedSkips(Exception):
    """Raised for a list that cannot be used; the message names the file and the entry."""


@dataclass(frozen=True)
class Skip:
    """An op or a rule that a run leaves out; one of the two is None."""

    op: str | None
    rule: str | None
    because: str
    """The user's reason."""


@dataclass(frozen=True)
class Skips:
    """Everything that a run leaves out because the user lists it."""

    entries: tuple[Skip, ...] = ()

    @property
    def ops(self) -> frozenset[str]:
        """The ops that no program has."""
        return frozenset(each.op for each in self.entries if each.op is not None)

    @property
    def rules(self) -> frozenset[str]:
        """The rules that are not tested, and whose violations are not reported."""
        return frozenset(each.rule for each in self.entries if each.rule is not None)

    def reason(self, rule: str, op: str | None) -> str | None:
        """Returns why a test of a rule, and of an op if the test is about one, is skipped; None if it is not."""
        for each in self.entries:
            if each.rule == rule or (op is not None and each.op == op):
                return f"the skip list has it, because {each.because}"
        return None

    def notes(self) -> tuple[str, ...]:
        """Returns a line for each reason, with all ops and rules that are skipped for it."""
        found: dict[str, list[str]] = {}
        for each in self.entries:
            found.setdefault(each.because, []).append(f"op {each.op}" if each.op else f"rule {each.rule}")
        return tuple(f"skipped: {', '.join(names)}, because {because}" for because, names in found.items())


NO_SKIPS = Skips()
"""The list of a run without `--skip`."""


def read(path: Path, ops: Collection[str], rules: Collection[str]) -> Skips:
    """Returns the list in a file, whose entries may name these ops and rules. Raises `MalformedSkips`."""
    try:
        form = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MalformedSkips(f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedSkips(f"{path}: not TOML: {error}") from None
    entries = form.pop("skip", [])
    if form or not isinstance(entries, list):
        raise MalformedSkips(f"{path}: the file may only have tables [[skip]]")
    return Skips(tuple(_entry(each, f"{path}, entry {at}", ops, rules) for at, each in enumerate(entries, 1)))


def _entry(form: Any, where: str, ops: Collection[str], rules: Collection[str]) -> Skip:
    if not isinstance(form, Mapping) or form.keys() not in ({"op", "because"}, {"rule", "because"}):
        raise MalformedSkips(f"{where}: an entry has op or rule, and because")
    because = form["because"]
    if not isinstance(because, str) or not because.strip():
        raise MalformedSkips(f"{where}: because has to be a text")
    for kind, known in (("op", ops), ("rule", rules)):
        if kind in form and not isinstance(form[kind], str):
            raise MalformedSkips(f"{where}: {kind} has to be a text")
        if kind in form and form[kind] not in known:
            raise MalformedSkips(f"{where}: there is no {kind} {form[kind]!r}")
    return Skip(form.get("op"), form.get("rule"), " ".join(because.split()))
