"""The keys of an entry, with the type of each."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from packaging.specifiers import SpecifierSet

from autograd_conformance.known_differences.calls import CALLS
from autograd_conformance.known_differences.entry import NOT_REPORTED
from autograd_conformance.ops.catalogue import APPLIED, VOCABULARY, WRITES
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import DTYPES, EFFECTS, INSTRUCTIONS, Notation, Program
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.validation import MalformedProgram
from autograd_conformance.reporting.records.renamed_rules import current_slug
from autograd_conformance.rules.catalogue import RULES


class RefusedEntry(Exception):
    """An invalid entry; the message says why."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def _rule(value: Any) -> str:
    slug = current_slug(_text(value))
    if slug not in RULES:
        raise RefusedEntry(f"there is no rule {slug!r}")
    return slug


def _op(value: Any) -> str:
    if _text(value) not in APPLIED and value not in WRITES:
        raise RefusedEntry(f"there is no op {value!r}")
    return value


def _witness(value: Any) -> Program:
    try:
        return parse(_text(value), VOCABULARY)
    except MalformedProgram as error:
        raise RefusedEntry(f"the program is malformed: {error}") from None


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


def _result_dtype(value: Any) -> str:
    if value not in RESULT_DTYPES:
        raise ValueError
    return value


def _never(value: Any) -> bool:
    return False


def _always(value: Any) -> bool:
    return True


def _is_set(value: Any) -> bool:
    return value is True


@dataclass(frozen=True, slots=True)
class Key:
    """The type of a key of an entry."""

    reads: Callable[[Any], Any]
    """Converts the TOML value, or raises ValueError or `RefusedEntry`."""
    expects: str
    """Description of valid values, as a part of a message."""
    names_the_case: Callable[[Any], bool] = _never
    """Whether a value of this key separates the case from others that violate the same rule. Sizes, dtypes, limits and
    the place where the framework runs do not.
    """

    @property
    def is_flag(self) -> bool:
        """Whether the values of this key are true and false."""
        return self.reads is _flag


USUAL = ("leaf", "backward")
"""Words of instructions that occur in almost every program, and so name no case."""

SHORTEST = 5
"""Smallest number of characters of a `message` that names a case."""

RESULT_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bfloat16", "float16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip
"""Dtypes that an unexpected result may have."""

KEYS: Mapping[str, Key] = {
    "rule": Key(_rule, "the name of a rule"),
    "op": Key(_op, "the name of an op", _always),
    "reason": Key(_text, "a text"),
    "witness": Key(_witness, "a program in the notation of programs/formats/text.py"),
    "link": Key(_link, f"an address that begins with https://, or {NOT_REPORTED!r}"),
    "since": Key(_day, "a day, such as 2026-11-22"),
    "relative": Key(_limit, "a finite number, 0 or more"),
    "absolute": Key(_limit, "a finite number, 0 or more"),
    "any_value": Key(_flag, "true or false"),
    "result_dtype": Key(_result_dtype, f"the name of a dtype: {', '.join(RESULT_DTYPES)}"),
    "wrong_shape": Key(_flag, "true or false"),
    "nan": Key(_flag, "true or false"),
    "elements": Key(_count, "a whole number, 0 or more"),
    "dimensions": Key(_count, "a whole number, 0 or more"),
    "wrong_elements": Key(_count, "a whole number, 0 or more"),
    "zero_operand": Key(_count, "the number of an operand, from 0", _always),
    "empty_value": Key(_flag, "true or false", _is_set),
    "makes_view": Key(_flag, "true or false", _is_set),
    "op_repeated": Key(_flag, "true or false", _is_set),
    "region_returns_detached": Key(_flag, "true or false", _is_set),
    "region_returns_op": Key(_flag, "true or false", _is_set),
    "returned": Key(_flag, "true or false", _is_set),
    "raised": Key(_kind, f"a kind of error: {', '.join(kind.value for kind in Kind)}"),
    "message": Key(_text, "a text", lambda text: len(text.strip()) >= SHORTEST),
    "after": Key(
        _before,
        "an op, an instruction's word, a hook's effect, such as 'hook raise', or an optimizer with settings",
        lambda word: word not in USUAL,
    ),
    "call": Key(_call, "backward or grad"),
    "graph_reused": Key(_flag, "true or false", _is_set),
    "graph_partly_reused": Key(_flag, "true or false", _is_set),
    "root_reused": Key(_flag, "true or false", _is_set),
    "grad_already_set": Key(_flag, "true or false", _is_set),
    "grad_is_none": Key(_flag, "true or false", _is_set),
    "reaches_several_leaves": Key(_flag, "true or false", _is_set),
    "operands_share_leaf": Key(_flag, "true or false", _is_set),
    "duplicate_root": Key(_flag, "true or false", _is_set),
    "writes_non_leaf": Key(_flag, "true or false", _is_set),
    "requires_grad_toggled": Key(_flag, "true or false", _is_set),
    "writes_shared_memory": Key(_flag, "true or false", _is_set),
    "operand_written": Key(_flag, "true or false", _is_set),
    "writes_overlapping_leaf": Key(_flag, "true or false", _is_set),
    "root_without_inputs": Key(_flag, "true or false", _is_set),
    "in_region": Key(_flag, "true or false", _is_set),
    "through_region": Key(_flag, "true or false", _is_set),
    "step": Key(_step, "an optimizer with settings, such as 'sgd fused=True'", _always),
    "version": Key(_versions, "versions of the framework, such as '>=2.12,<2.14'"),
    "device": Key(_text, "a device, such as 'cpu'"),
    "dtype": Key(_dtype, " or ".join(DTYPES)),
    "platform": Key(_text, "an operating system or a processor, such as 'Linux' or 'x86_64'"),
    "left_out": Key(_flag, "true or false"),
}
"""All keys of an entry, by name."""

RENAMED: Mapping[str, str] = {
    "again": "graph_reused",
    "partly": "graph_partly_reused",
    "anew": "root_reused",
    "held": "grad_already_set",
    "holds_none": "grad_is_none",
    "several": "reaches_several_leaves",
    "from_one": "operands_share_leaf",
    "twice": "duplicate_root",
    "computed": "writes_non_leaf",
    "switched": "requires_grad_toggled",
    "aliased": "writes_shared_memory",
    "written": "operand_written",
    "overlapped": "writes_overlapping_leaf",
    "unreached": "root_without_inputs",
    "inside": "in_region",
    "through_unit": "through_region",
    "given": "region_returns_op",
    "detached": "region_returns_detached",
    "gives": "result_dtype",
    "shape": "wrong_shape",
    "wrong": "wrong_elements",
    "zero": "zero_operand",
    "empty": "empty_value",
    "views": "makes_view",
    "repeated": "op_repeated",
}
"""The present name of each renamed key. Files may use the old names for ever; `file` reads both."""

ALWAYS = ("rule", "reason", "witness")
"""Keys that every entry has."""


def names_the_case(values: Mapping[str, Any]) -> bool:
    """Whether some key of an entry separates its case from others that violate the same rule."""
    return any(KEYS[key].names_the_case(value) for key, value in values.items())
