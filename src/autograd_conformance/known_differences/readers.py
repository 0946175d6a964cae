"""Readers of the values in a file of known differences. Each raises ValueError or `RefusedEntry` for an invalid one."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Collection

from packaging.specifiers import SpecifierSet

from autograd_conformance.ops.catalogue import APPLIED, VOCABULARY, WRITES
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.validation import MalformedProgram
from autograd_conformance.reporting.records.renamed_rules import current_slug
from autograd_conformance.rules.catalogue import RULES

NOT_REPORTED = "not reported"
"""Value of `link` for a difference that was not reported to the framework's developers."""


class RefusedEntry(Exception):
    """An invalid entry; the message says why."""


def text(value: object, /) -> str:
    """A text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def rule(value: object) -> str:
    """The slug of a rule, by its present or a former name."""
    slug = current_slug(text(value))
    if slug not in RULES:
        raise RefusedEntry(f"there is no rule {slug!r}")
    return slug


def op(value: object) -> str:
    """The name of an op, in-place ops included."""
    name = text(value)
    if name not in APPLIED and name not in WRITES:
        raise RefusedEntry(f"there is no op {name!r}")
    return name


def optimizer_step(value: object) -> str:
    """An optimizer with settings."""
    described = text(value)
    if described.split()[0] not in OPTIMIZERS:
        raise ValueError
    return described


def witness(value: object) -> Program:
    """A program in the notation of texts."""
    try:
        return parse(text(value), VOCABULARY)
    except MalformedProgram as error:
        raise RefusedEntry(f"the program is malformed: {error}") from None


def link(value: object) -> str:
    """An address, or `NOT_REPORTED`."""
    address = text(value)
    if address != NOT_REPORTED and not address.startswith(("https://", "http://")):
        raise ValueError
    return address


def day(value: object) -> str:
    """A day as a date of TOML or as a text, in ISO form."""
    if isinstance(value, datetime.datetime):
        raise ValueError
    return (value if isinstance(value, datetime.date) else datetime.date.fromisoformat(text(value))).isoformat()


def limit(value: object) -> float:
    """A finite number, 0 or more."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (math.isfinite(value) and value >= 0):
        raise ValueError
    return float(value)


def count(value: object) -> int:
    """A whole number, 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    return value


def flag(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError
    return value


def one_of(names: Collection[str]) -> Callable[[object], str]:
    """A reader of one of these names."""

    def read(value: object) -> str:
        if text(value) not in names:
            raise ValueError
        return text(value)

    return read


def versions(value: object) -> SpecifierSet:
    """Versions of a framework."""
    return SpecifierSet(text(value))
