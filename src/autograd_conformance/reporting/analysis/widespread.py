"""Finds the kinds of failures that at least three ops show in programs without other ops: writes that nothing notices,
values that are checked although nothing saved them, derivatives that are computed from rounded results, derivatives
that are constants for another call, and calls that find None where the framework needs an object.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable

from autograd_conformance.reporting.analysis.grouping import OTHER_GRADIENT, PER_OP_ERRORS, steps
from autograd_conformance.reporting.analysis.views import LEAST_OPS
from autograd_conformance.reporting.records.failure import Failure

NOTICES_WRITES = "writes/error-or-recorded"
"""The rule that is broken if a write is not noticed."""

IS_CONSTANT = "constant gradient"
"""The diagnosis of a derivative that is a constant, because functions that record nothing computed it."""

CALLS = ("backward", "grad")
"""The words of the instructions that are calls."""

NONE = "'NoneType'"
"""A part of the messages of Python about None in the place of an object."""

KEEPS_DIGITS = "gradients/tails"
"""The rule that is broken if a derivative is computed from a result that was rounded."""


def widespread_kind(failure: Failure) -> Hashable | None:
    """Returns the kind of a failure that is one cause if several ops show it; None if it is of no such kind.

    A write that is not noticed is a step of an optimizer or a write in place; a program with both has no kind.
    """
    if failure.deviation is None:
        return None
    if failure.deviation.severity == "wrong error" and failure.deviation.error in PER_OP_ERRORS:
        return "needless", failure.deviation.error
    if failure.deviation.severity == "wrong error" and failure.signature is not None:
        got = failure.signature.got or ""
        return ("none", got) if failure.signature.stage in CALLS and NONE in got else None
    if not failure.deviation.what.startswith(OTHER_GRADIENT):
        return None
    if failure.signature is not None and failure.signature.diagnosis == IS_CONSTANT:
        return "constant"
    if failure.rule == KEEPS_DIGITS:
        return "tails"
    if failure.rule != NOTICES_WRITES:
        return None
    kinds = {"step", "write"} & {step["do"] for step in steps(failure.program)}
    return ("unnoticed", kinds.pop()) if len(kinds) == 1 else None


def widespread_kinds(failures: Iterable[Failure]) -> frozenset[Hashable]:
    """Returns the kinds that at least `LEAST_OPS` ops show, each in a program that has no other op but copies."""
    found: dict[Hashable, set[str]] = defaultdict(set)
    for failure in failures:
        kind = widespread_kind(failure)
        used = {step["op"] for step in steps(failure.program) if step["do"] == "apply"} - {"clone"}
        if failure.op is not None and kind == "constant":  # its program may weight the op's result
            used = {failure.op}
        if kind is not None and len(used) == 1:
            found[kind] |= used
    return frozenset(kind for kind, those in found.items() if len(those) >= LEAST_OPS)
