"""The keys from which causes are made: two failures of a run that share a key have one cause."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from autograd_conformance.reporting.analysis.program_forms import OF_OPTIMIZER, ops, optimizer_steps, steps, structure
from autograd_conformance.reporting.analysis.signature_keys import (
    GRAPH_FREED,
    OTHER_GRADIENT,
    Symptom,
    key_of,
    signature_key,
    symptom_of,
)
from autograd_conformance.reporting.records.failure import Failure, PartViolation

PER_OP_ERRORS = frozenset(
    {
        "modified in place",
        "leaf written in place",
        "view may not be written",
        "overlapping memory written",
        "view detached in place",
    }
)
"""Kinds of errors that each op checks for separately: if one op does not raise, other ops may still do so."""

AT_WRITES = PER_OP_ERRORS - {"modified in place"}
"""Those by which a write itself is refused; the other one is raised by a later call."""


@dataclass(frozen=True, slots=True)
class FaultyOp:
    """The rules and signatures of the failures of an op, with one symptom, in programs without other ops."""

    rules: frozenset[str]
    """The rules that the op breaks."""
    keys: frozenset[Hashable | None]
    """The signature keys of these failures."""
    messages: frozenset[str | None]
    """The errors, as signatures have them, of those whose operands have nothing special."""
    base: str
    """The op of which this op is a form; the op itself if that is not known."""


FaultyOps = Mapping[tuple[str, Symptom], FaultyOp]
"""The faulty op for each op and symptom."""


def faulty_ops(failures: Iterable[Failure]) -> FaultyOps:
    """Finds the ops that fail in programs without other ops, each with its symptom."""
    found: dict[tuple[str, Symptom], FaultyOp] = {}
    for failure in failures:
        if failure.op is not None and ops(failure.program) == {failure.op}:
            about = failure.op, symptom_of(failure)
            old = found.get(about, FaultyOp(frozenset(), frozenset(), frozenset(), failure.op))
            said = failure.signature.got if failure.signature and failure.signature.special is None else None
            found[about] = FaultyOp(
                old.rules | {failure.rule},
                old.keys | {signature_key(failure)},
                old.messages | {said},
                failure.base or old.base,
            )
    return found


def _is_ordinary(failure: Failure, op: FaultyOp | None) -> bool:
    """Whether an op raises the error of a failure with special operands for others as well."""
    if failure.signature is None or op is None or failure.signature.special is None:
        return False
    return failure.signature.got is not None and failure.signature.got in op.messages


def responsible_op(failure: Failure, faulty: FaultyOps) -> str | None:
    """Returns the op that causes a failure, if that op has the same symptom in a program without other ops; None
    otherwise.
    """
    symptom = symptom_of(failure)
    if failure.op is not None:
        about = faulty.get((failure.op, symptom))
        if about is not None and failure.rule in about.rules:
            return failure.op
    used = ops(failure.program)
    if is_diagnosed(failure):
        return next((op for op in used if used == {op} and _explains(faulty.get((op, symptom)))), None)
    is_alone = failure.op is None and failure.signature is not None and len(used) == 1
    tried = sorted(used) if failure.ends_process or is_alone else failure.cured
    return next((op for op in tried if (op, symptom) in faulty), None)


def is_diagnosed(failure: Failure) -> bool:
    """Whether a failure has a diagnosis; the text is missing if the failure was only counted."""
    return failure.diagnosis is not None or (failure.signature is not None and failure.signature.diagnosis is not None)


def _explains(op: FaultyOp | None) -> bool:
    """Whether an op is wrong in programs without other ops and without a diagnosis. A diagnosis of another such program
    may then be an accident: a gradient of 0 is also the one for a cotangent of ones.
    """
    return op is not None and op.keys == {None} and not op.rules <= {*OF_DIGITS}


OF_CALLS = ("accumulation/layout", "errors/atomic", "hooks/retained")
"""Rules about what a call does to the gradients of leaves, whatever ops it passes."""

CLEARS = "accumulation/zero-to-zeros"
"""The rule about clearing gradients, whose violations have one cause if they have the same outcome, whatever ops were
applied.
"""

OF_STATE = ("optimizers/skips", "optimizers/remembers", "optimizers/clears")
"""Rules about what optimizers do whatever their formulas are; several optimizers of a framework may share the code."""

OF_STEPS = "optimizers/"
"""The beginning of the rules about optimizers, whose violations with equal settings have one cause."""

OF_DIGITS = ("gradients/tails", "gradients/digits", "gradients/cancellation")
"""Rules about the digits of a formula in places where these are easily lost. They share a cause with a wrong formula,
not with what calls do to the gradients of leaves.
"""

FORMULAS = ("gradients", "higher", "functional")
"""Families of rules about the gradients of ops."""


MOST_TOGETHER = 3
"""Largest number of ops of two programs with the same ops whose wrong gradients have one cause."""


def _is_diagnosis_of(op: str, key: Hashable) -> bool:
    """Whether a signature key is a diagnosis of this op's wrong gradients alone."""
    return isinstance(key, tuple) and key[0] == "diagnosed" and op in key


def _has_wrong_formula(failure: Failure) -> bool:
    """Whether a failure without a diagnosis is a wrong gradient of ops, of whatever order, or one of another form."""
    what = failure.deviation.what if failure.deviation else ""
    is_gradient = what.startswith(OTHER_GRADIENT) or what == "form of a gradient"
    return is_gradient and failure.rule.partition("/")[0] in FORMULAS and not is_diagnosed(failure)


def _blamed(failure: Failure) -> str | None:
    """Returns the op whose gradient, of whatever order, is wrong: the only one of the program, the only one without
    which the program passes, or, if the failure was only counted, the one that its test is about. None if that is not
    known, or the failure has another explanation.
    """
    if not _has_wrong_formula(failure):
        return None
    used = [step["op"] for step in steps(failure.program) if isinstance(step.get("op"), str)]
    if len(used) == 1:
        return failure.base or used[0]
    if len(failure.cured) == 1 and failure.op in (None, failure.cured[0]):
        return failure.cured[0]
    tested = failure.test.partition("[")[2].removesuffix("]")
    return tested if failure.counted and tested in used else None


def wrong_formula(failure: Failure, faulty: FaultyOps) -> Hashable | None:
    """Returns the key of the op that a program applies, if it applies no other but copies, and the op has the same
    symptom in a program without writes and steps; None otherwise.
    """
    used = {step["op"] for step in steps(failure.program) if step["do"] == "apply"} - {"clone"}
    symptom = symptom_of(failure)
    about = faulty.get((used.pop(), symptom)) if len(used) == 1 else None
    return None if about is None else ("op", about.base, symptom)


def is_of_steps(key: Hashable) -> bool:
    """Whether a grouping key says that several optimizers break a rule in the same program."""
    return isinstance(key, tuple) and key[0] == "steps"


def grouping_keys(failure: Failure, faulty: FaultyOps) -> Iterator[Hashable]:
    """Yields the keys of a failure, from which groups are made: two failures that share a key have one cause."""
    if failure.parts or failure.pair is not None:
        yield "pair", failure.pair or failure.replay
    op = responsible_op(failure, faulty)
    symptom, deviation = symptom_of(failure), failure.deviation
    about_op = faulty[op, symptom] if op is not None else None
    if _is_ordinary(failure, about_op) and failure.signature:
        failure = replace(failure, signature=replace(failure.signature, meaning=None))
    if failure.rule in OF_CALLS and not is_diagnosed(failure):
        yield "calls", failure.rule, symptom
    general, is_accident = signature_key(failure), is_diagnosed(failure) and _explains(about_op)
    if general is not None and not is_accident:
        yield general
        return
    blamed = _blamed(failure)
    if blamed is not None and deviation is not None:
        yield "blamed", blamed, failure.verdict, deviation.what.partition(", ")[0]
    if len(failure.cured) > 1 and not is_diagnosed(failure):
        yield "together", failure.rule, frozenset(failure.cured), symptom
    used = ops(failure.program)
    if 2 <= len(used) <= MOST_TOGETHER and _has_wrong_formula(failure):
        yield "same ops", failure.rule, used, symptom
    if op is not None and failure.rule in OF_DIGITS and not failure.ends_process:
        yield "digits", failure.rule, faulty[op, symptom].base
        return
    if op is not None:
        yield "op", faulty[op, symptom].base, symptom
        keys = faulty[op, symptom].keys - {None}
        of_several = len(keys) == 1 and None not in faulty[op, symptom].keys
        if of_several or (len(keys) == 1 and _is_diagnosis_of(op, *keys)):
            yield from keys  # the op's own failures are part of a cause of several ops, or of that with the diagnosis
        return
    by_parts = {_part_key(part, faulty) for part in failure.parts}
    if len(by_parts) == 1 and None not in by_parts:  # two ways of breaking rules may have two causes
        yield from by_parts
    if deviation is not None and deviation.severity == "lost error" and deviation.error == GRAPH_FREED:
        yield "freed", failure.verdict
        return
    about = (failure.rule, failure.op, symptom)
    if failure.op is not None or failure.diagnosis is not None:
        yield "rule", *about, failure.diagnosis
    elif deviation is not None and deviation.severity == "wrong error":
        yield "raised", failure.rule, failure.op, failure.plainly_observed  # seen again each time, or not
    elif deviation is not None and deviation.severity == "lost error" and deviation.error not in PER_OP_ERRORS:
        yield "returned", *about
    if failure.rule.startswith(OF_STEPS):
        taken = optimizer_steps(failure.program)
        settings = frozenset(json.dumps([each["optimizer"], each.get("settings")], sort_keys=True) for each in taken)
        if settings:
            yield "settings", failure.rule, symptom, settings
    if failure.rule == CLEARS:
        yield "clears", symptom, *(each.outcome for each in failure.allowed)
    if failure.rule in OF_STATE:
        yield "steps", failure.rule, symptom, json.dumps(structure(failure.program, OF_OPTIMIZER), sort_keys=True)
    form = structure(failure.program)
    if form:
        family = failure.rule.partition("/")[0]
        yield "program", family, failure.op, symptom, failure.diagnosis, json.dumps(form, sort_keys=True)


def _part_key(part: PartViolation, faulty: FaultyOps) -> Hashable:
    """Returns a grouping key for a rule that one of two compared programs breaks, equal to the key of a failure of that
    rule itself.

    None if neither an op nor a diagnosis is known: the cause could be anything.
    """
    general = key_of(part.rule, part.op, "fail", part.deviation, part.signature)
    if general is not None:
        return general
    symptom: Symptom = ("fail", part.deviation)
    about = faulty.get((part.op, symptom)) if part.op is not None else None
    if about is not None and part.rule in about.rules:
        return "op", about.base, symptom
    return ("rule", part.rule, part.op, symptom, part.diagnosis) if part.op or part.diagnosis else None
