"""Keys of known differences: what an entry may say, how each key is read, and what it has to be."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from typing import Any, get_args

from packaging.specifiers import SpecifierSet

from autograd_conformance.harness.known.calls import CALLS
from autograd_conformance.harness.known.entry import NOT_REPORTED
from autograd_conformance.ops.catalogue import APPLIED, VOCABULARY
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.language import DTYPES, EFFECTS, INSTRUCTIONS, Notation, Program
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.text import parse
from autograd_conformance.programs.validation import MalformedProgram
from autograd_conformance.reports.renamed import current_slug
from autograd_conformance.rules.catalogue import RULES


class Refused(Exception):
    """What is wrong with an entry."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def _rule(value: Any) -> str:
    slug = current_slug(_text(value))
    if slug not in RULES:
        raise Refused(f"there is no rule {slug!r}")
    return slug


def _op(value: Any) -> str:
    if _text(value) not in APPLIED:
        raise Refused(f"there is no op {value!r}")
    return value


def _witness(value: Any) -> Program:
    try:
        return parse(_text(value), VOCABULARY)
    except MalformedProgram as error:
        raise Refused(f"a witness is malformed: {error}") from None


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
    "given": (_flag, "true or false"),
    "raised": (_kind, f"a kind of error: {', '.join(kind.value for kind in Kind)}"),
    "message": (_text, "a text"),
    "after": (
        _before,
        "an op, an instruction's word, a hook's effect, such as 'hook raise', or an optimizer with settings",
    ),
    "call": (_call, "backward or grad"),
    "again": (_flag, "true or false"),
    "anew": (_flag, "true or false"),
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
