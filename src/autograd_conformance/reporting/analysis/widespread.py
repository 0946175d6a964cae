"""Finds the kinds of failures that at least three ops show in programs without other ops: writes that nothing notices,
values that are checked although nothing saved them, writes that have to be refused, derivatives of rounded results,
derivatives that are constants for another call, and calls that find None where the framework needs an object.
Likewise, the steps of an optimizer whose formula is wrong whatever its settings are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable

from autograd_conformance.reporting.analysis.grouping import AT_WRITES, PER_OP_ERRORS
from autograd_conformance.reporting.analysis.program_forms import optimizer_steps, steps
from autograd_conformance.reporting.analysis.signature_keys import OTHER_GRADIENT
from autograd_conformance.reporting.analysis.views import LEAST_OPS
from autograd_conformance.reporting.records.failure import Failure

NOTICES_WRITES = "writes/error-or-recorded"
"""The rule that is broken if a write is not noticed."""

FORMULA = "optimizers/formula"
"""The rule that is broken if a step moves a leaf by another formula. Later rules about steps assume the formula."""

IS_CONSTANT = "constant gradient"
"""The diagnosis of a derivative that is a constant, because functions that record nothing computed it."""

CALLS = ("backward", "grad")
"""The words of the instructions that are calls."""

OTHER_PLACE = "other place"
"""The kind of difference of a leaf that a step moved to a wrong place."""

NONE = "'NoneType'"
"""A part of the messages of Python about None in the place of an object."""

UNNOTICED = "unnoticed"
"""The first part of the kind of failures whose writes or steps are not noticed."""

UNREFUSED = "unrefused"
"""The first part of the kind of failures whose writes have to be refused."""

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
    if failure.deviation.severity == "lost error" and failure.deviation.error in AT_WRITES:
        return UNREFUSED, failure.deviation.error
    if failure.deviation.severity == "wrong error" and failure.signature is not None:
        got = failure.signature.got or ""
        return ("none", got) if failure.signature.stage in CALLS and NONE in got else None
    if _moves(failure):
        return _steps(failure)
    if not failure.deviation.what.startswith(OTHER_GRADIENT):
        return None
    if failure.signature is not None and failure.signature.diagnosis == IS_CONSTANT:
        return "constant"
    if failure.rule == KEEPS_DIGITS:
        return "tails"
    if failure.rule != NOTICES_WRITES:
        return None
    kinds = {"step", "write"} & {step["do"] for step in steps(failure.program)}
    return (UNNOTICED, kinds.pop()) if len(kinds) == 1 else None


def is_unnoticed(kind: Hashable) -> bool:
    """Whether a kind is that of programs whose writes or steps are not noticed."""
    return isinstance(kind, tuple) and kind[0] == UNNOTICED


def _is_of_write(kind: Hashable) -> bool:
    """Whether a kind is that of writes that have to be refused, which are ops in place."""
    return isinstance(kind, tuple) and kind[0] == UNREFUSED


def _is_plain(failure: Failure) -> bool:
    """Whether the optimizer of a failure has no settings but the learning rate."""
    return all({*step.get("settings", {})} <= {"lr"} and not step.get("groups") for step in steps(failure.program))


def _steps(failure: Failure) -> Hashable | None:
    """Returns the kind of a failure in which a step moves a leaf to a wrong place; None if several optimizers step."""
    used = {step["optimizer"] for step in optimizer_steps(failure.program)}
    return ("steps", used.pop()) if len(used) == 1 else None


def widespread_kinds(failures: Iterable[Failure]) -> frozenset[Hashable]:
    """Returns the kinds that at least `LEAST_OPS` ops show, each in a program that has no other op but copies."""
    found: dict[Hashable, set[str]] = defaultdict(set)
    wrong_steps = {_steps(each) for each in failures if each.rule == FORMULA and _moves(each) and _is_plain(each)}
    for failure in failures:
        kind = widespread_kind(failure)
        used = {step["op"] for step in steps(failure.program) if step["do"] == "apply"} - {"clone"}
        if failure.op is not None and (kind == "constant" or _is_of_write(kind)):  # its program may have other ops
            used = {failure.op}
        if kind is not None and len(used) == 1:
            found[kind] |= used
    return frozenset(kind for kind, those in found.items() if len(those) >= LEAST_OPS) | wrong_steps - {None}


def _moves(failure: Failure) -> bool:
    """Whether a failure is a leaf that a step moved to a wrong place."""
    return failure.deviation is not None and failure.deviation.what == OTHER_PLACE
