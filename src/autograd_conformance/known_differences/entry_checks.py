"""Checks of an entry for contradictions: no key names the case, limits waive everything, keys exclude each other, or
the witness cannot show the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields

from autograd_conformance.known_differences.conditions import CONDITIONS, named, values
from autograd_conformance.known_differences.entry import Known
from autograd_conformance.known_differences.keys import KEYS, names_the_case
from autograd_conformance.programs.language import Apply, InPlace, Program, Ref
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.violations.observed import OtherGradient
from autograd_conformance.rules.violations.shared import Place
from autograd_conformance.rules.violations.violation import Violation

OUTCOMES = {
    "an error": ("raised", "message"),
    "a call that returned": ("returned",),
    "a dtype": ("result_dtype",),
    "a shape": ("wrong_shape",),
    "values": ("relative", "absolute", "nan", "any_value", "wrong_elements"),
}
"""The kinds of outcome, and the keys for each. An entry has keys of one kind only."""

OF_PROGRAMS = (
    "zero_operand", "after", "call", "step", "graph_reused", "graph_partly_reused", "root_reused", "grad_already_set",
    "grad_is_none", "reaches_several_leaves", "operands_share_leaf", "writes_non_leaf", "requires_grad_toggled",
    "writes_shared_memory", "operand_written", "writes_overlapping_leaf", "root_without_inputs", "duplicate_root",
    "empty_value",
)  # fmt: skip
"""Conditions that the program alone decides, given the failing instruction and the value in question."""


def problem(entry: Known) -> str | None:
    """The first contradiction in an entry, as a message; None if there is none."""
    return next(filter(None, (check(entry) for check in CHECKS)), None)


def witness_problem(entry: Known) -> str | None:
    """Why the witness cannot show the difference, as a message; None if it can. Computes the witness."""
    try:
        made = values(entry.witness)
    except Exception as error:  # operands of shapes that no op takes
        return f"witness: the program is not well-formed: {type(error).__name__}: {error}"
    sizes = {(each.size, each.ndim) for each in made.values()}
    if not any(_fits(entry, size, dimensions) for size, dimensions in sizes):
        return "witness: no value of the program has this number of elements and dimensions"
    if not _some_place(entry):
        keys = ", ".join(key for key in named(entry) if key in OF_PROGRAMS)
        return f"witness: no instruction of the program fulfils {keys}"
    return None


def _fits(entry: Known, size: int, dimensions: int) -> bool:
    return entry.elements in (None, size) and entry.dimensions in (None, dimensions)


def _some_place(entry: Known) -> bool:
    """Whether some instruction and value of the witness fulfil all conditions that the program alone decides."""
    keys = [key for key in named(entry) if key in OF_PROGRAMS]
    return not keys or any(
        all(CONDITIONS[key](entry, entry.witness, violation) for key in keys) for violation in imagined(entry.witness)
    )


def imagined(program: Program) -> Iterator[Violation]:
    """One violation for each instruction and for each value that exists by then, for testing conditions without a
    framework.
    """
    refs: list[Ref] = []
    for at, step in enumerate(program):
        refs += [Ref(at, k) for k in range(results(step))]
        yield from (Violation(Slug(""), at, OtherGradient(Place.LEAF), (), subject) for subject in (None, *refs))


# -- checks ------------------------------------------------------------------------------------------------------------


def _names_nothing(entry: Known) -> str | None:
    said = {field.name: getattr(entry, field.name) for field in fields(entry) if field.name in KEYS}
    if names_the_case({key: value for key, value in said.items() if value is not None}):
        return None
    return (
        f"op: nothing names the case, so the entry would cover every violation of {entry.rule!r}; give an op, or a key "
        "that says where, such as after, message, graph_reused, grad_already_set or makes_view"
    )


def _op_is_missing(entry: Known) -> str | None:
    applied = {step.op for step in entry.witness if isinstance(step, (Apply, InPlace))}
    if entry.op is not None and entry.op not in applied:
        return f"witness: the program does not apply {entry.op!r}, the op of the entry"
    for key in ("zero_operand", "operand_written", "region_returns_op"):
        if key in named(entry) and entry.op is None:
            return f"{key}: {OPERANDS[key]}, and the entry has no op"
    return None


OPERANDS = {
    "zero_operand": "it is the position of an operand of the op",
    "operand_written": "it is about the operands of the op",
    "region_returns_op": "it is about the result of the op",
}
"""Why a key needs an op, as a part of the message."""


def _has_several_outcomes(entry: Known) -> str | None:
    said = {what: [key for key in keys if getattr(entry, key) not in (None, False)] for what, keys in OUTCOMES.items()}
    if entry.any_value and (entry.limited or entry.nan):
        return "any_value: it waives all values; leave out relative, absolute and nan"
    given = {what: keys for what, keys in said.items() if keys}
    if len(given) < 2:
        return None
    (one, (key, *_)), (other, (second, *_)), *_ = given.items()
    return f"{key}: it is about {one}, and {second} about {other}; write an entry for each"


def _is_boundless(entry: Known) -> str | None:
    for key in ("relative", "absolute"):
        limit = getattr(entry, key)
        if limit is not None and limit > 1:
            return f"{key}: {limit!r} is above 1, which waives almost any value; write any_value = true instead"
    return None


def _is_impossible(entry: Known) -> str | None:
    if entry.dimensions == 0 and entry.elements not in (None, 1):
        return f"elements: a value without dimensions has 1 element, not {entry.elements}"
    if entry.wrong_elements == 0:
        return "wrong_elements: with 0 wrong elements there is no difference; give 1 or more"
    if entry.wrong_elements is not None and entry.elements is not None and entry.wrong_elements > entry.elements:
        return f"wrong_elements: at most {entry.elements} of {entry.elements} elements can be wrong"
    return None


def _has_no_limit(entry: Known) -> str | None:
    values_waived = entry.limited or entry.nan or entry.any_value
    other_outcome = entry.returned or entry.raised or entry.message or entry.result_dtype or entry.wrong_shape
    if not RULES[entry.rule].compares_values or values_waived or other_outcome:
        return None
    return (
        f"relative: {entry.rule!r} is about values, and no key limits how far they may be off; give relative or "
        "absolute, or nan = true, or any_value = true if the framework reads memory with unknown contents"
    )


CHECKS: tuple[Callable[[Known], str | None], ...] = (
    _op_is_missing, _has_several_outcomes, _is_boundless, _is_impossible, _has_no_limit, _names_nothing,
)  # fmt: skip
"""The checks of each entry, in this order."""
