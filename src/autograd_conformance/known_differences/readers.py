"""Functions that read the values in a file of known differences. Each returns the value, or raises ValueError or
`RefusedEntry` for an invalid one.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Collection

from packaging.specifiers import SpecifierSet

from autograd_conformance.ops.catalogue import APPLIED, VOCABULARY, WRITES
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.hazards import Hazard
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.validation import MalformedProgram
from autograd_conformance.reporting.records.renamed_rules import current_slug
from autograd_conformance.rules.catalogue import RULES

NOT_REPORTED = "not reported"
"""Value of the key `link` for a difference that was not reported to the framework's developers."""


class RefusedEntry(Exception):
    """Raised for an invalid entry of known differences; the message says why."""


def text(value: object, /) -> str:
    """Returns the value if it is a text that is not blank; else raises ValueError."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def devices(value: object) -> tuple[str, ...]:
    """Returns the devices that a text or a list of texts names; raises ValueError for anything else."""
    if isinstance(value, list) and value:
        return tuple(text(each) for each in value)
    return (text(value),)


def hazard(value: object) -> Hazard:
    """Returns the situation that a text names; raises ValueError if there is none."""
    return Hazard(text(value))


def rule(value: object) -> str:
    """Returns the present slug of a rule, given its present or a former slug; raises `RefusedEntry` if there is no such
    rule.
    """
    slug = current_slug(text(value))
    if slug not in RULES:
        raise RefusedEntry(f"there is no rule {slug!r}")
    return slug


def op(value: object) -> str:
    """Returns the value if it is the name of an op or in-place op; raises `RefusedEntry` if there is no such op."""
    name = text(value)
    if name not in APPLIED and name not in WRITES:
        raise RefusedEntry(f"there is no op {name!r}")
    return name


def optimizer_step(value: object) -> str:
    """Returns the value if it is a text that begins with an optimizer, such as "sgd fused=True"; else raises
    ValueError.
    """
    described = text(value)
    if described.split()[0] not in OPTIMIZERS:
        raise ValueError
    return described


def witness(value: object) -> Program:
    """Reads a program in the text form, with instructions separated by semicolons or lines; raises `RefusedEntry` if it
    is malformed.
    """
    try:
        return parse(text(value), VOCABULARY)
    except MalformedProgram as error:
        raise RefusedEntry(f"the program is malformed: {error}") from None


def link(value: object) -> str:
    """Returns the value if it is an address that begins with http, or `NOT_REPORTED`; else raises ValueError."""
    address = text(value)
    if address != NOT_REPORTED and not address.startswith(("https://", "http://")):
        raise ValueError
    return address


def day(value: object) -> str:
    """Returns a day in ISO form, such as 2026-11-22, from a date of TOML or a text; raises ValueError for anything
    else.
    """
    if isinstance(value, datetime.datetime):
        raise ValueError
    return (value if isinstance(value, datetime.date) else datetime.date.fromisoformat(text(value))).isoformat()


def limit(value: object) -> float:
    """Returns a finite number, 0 or more, as a float; raises ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (math.isfinite(value) and value >= 0):
        raise ValueError
    return float(value)


def count(value: object) -> int:
    """Returns the value if it is a whole number, 0 or more; else raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    return value


def flag(value: object) -> bool:
    """Returns the value if it is true or false; else raises ValueError."""
    if not isinstance(value, bool):
        raise ValueError
    return value


def one_of(names: Collection[str]) -> Callable[[object], str]:
    """Returns a reader of a key whose value is one of these names; the reader raises ValueError for any other value."""

    def read(value: object) -> str:
        if text(value) not in names:
            raise ValueError
        return text(value)

    return read


def versions(value: object) -> SpecifierSet:
    """Reads a set of a framework's versions, such as ">=2.12,<2.14"; raises ValueError if the text is malformed."""
    return SpecifierSet(text(value))
