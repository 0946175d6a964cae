"""The keys from which causes are made: two failures of a run that share a key have one cause."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autograd_conformance.reporting.records.failure import (
    ENDING,
    Category,
    Failure,
    PartViolation,
    Signature,
)

GRAPH_FREED = "graph freed"
"""The kind of error that a backward call must raise if its graph was freed."""

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

VALUES = frozenset({"data", "shape", "dtype", "cotangents"})
"""Keys of a program's JSON form whose values (constants, shapes, dtypes, cotangents) are ignored when the structures of
two programs are compared.
"""

OF_OPTIMIZER = VALUES | {"optimizer", "settings", "groups"}
"""Keys whose values are ignored as well if it does not matter which optimizer steps."""

Symptom = tuple[str, Category | str]
"""A failure's verdict and category; if the category is unknown, the text of the observed outcome instead."""


# -- programs ----------------------------------------------------------------------------------------------------------


def ops(program: Mapping[str, Any]) -> frozenset[str]:
    """Returns the names of all ops in the JSON form of a program, or of a pair of related programs."""
    return frozenset(step["op"] for step in steps(program) if isinstance(step.get("op"), str))


def steps(form: Any) -> Iterator[Mapping[str, Any]]:
    """Yields every instruction in the JSON form of a program or of a pair of programs."""
    if isinstance(form, Mapping):
        if "do" in form:
            yield form
        for value in form.values():
            yield from steps(value)
    elif isinstance(form, (list, tuple)):
        for value in form:
            yield from steps(value)


def structure(form: Any, ignored: Collection[str] = VALUES) -> Any:
    """Returns a program's JSON form without constants, shapes and dtypes, or without the values of other keys, so that
    programs that differ only in these have equal structures.
    """
    if isinstance(form, Mapping):
        return {key: structure(value, ignored) for key, value in form.items() if key not in ignored}
    return [structure(value, ignored) for value in form] if isinstance(form, (list, tuple)) else form


def symptom_of(failure: Failure) -> Symptom:
    """Returns the symptom of a failure: the verdict, and the category of the violation or, if no category is known, the
    text of the observed outcome.
    """
    return failure.verdict, failure.deviation or failure.observed


# -- signatures --------------------------------------------------------------------------------------------------------

WITHOUT_RULE = frozenset({"other shape", "form of a gradient", "other value"})
"""Kinds of differences that have one cause over all rules if their signature is general."""

NUMBER = ("(1,)", "()")
"""The observed and the expected shape if a framework gives each number one dimension, in values and gradients."""

OTHER_GRADIENT = "other gradient, "
"""Beginning of the kinds of differences that are wrong gradients: of a leaf, or as a result."""

OF_ENGINE = ("gradients kept", "freed passes nothing")
"""Diagnoses of what a framework stores with values and nodes, of which no op and no single rule is the cause."""

SAME_FAULT = {"gradients/equal-leaves": "accumulation/first"}
"""For rules about gradients, the rule that a missing gradient breaks at the same time."""


def signature_key(failure: Failure) -> Hashable | None:
    """Returns a key that is equal for failures whose signatures show that they have one cause, in whatever ops, rules
    and tests; None if the signature does not show it.
    """
    return key_of(failure.rule, failure.op, failure.verdict, failure.deviation, failure.signature)


def key_of(
    rule: str, op: str | None, verdict: str, deviation: Category | None, signature: Signature | None
) -> Hashable | None:
    """Returns the key of a failure, or of a rule that one of two compared programs breaks."""
    if signature is None:
        return None
    if deviation is not None and signature.diagnosis is not None:
        of = (None, None) if signature.diagnosis in OF_ENGINE else (rule, op)
        return "diagnosed", verdict, *of, deviation.what, signature.diagnosis
    if signature.meaning is not None:
        return "meaning", verdict, signature.meaning
    if deviation is None:
        is_hang = verdict == "timeout" and signature.stage == ENDING and signature.general
        return ("hang", signature.got) if is_hang else None
    is_shape = deviation.what == "form of a gradient" or (
        deviation.what == "other shape" and signature.stage == "apply"
    )
    if (signature.got, signature.want) == NUMBER and is_shape:
        return "number", verdict
    if not signature.general:
        return None
    if deviation.error == GRAPH_FREED and deviation.severity == "lost error":
        return "freed", verdict
    no_float = deviation.what == "other dtype" and "float" not in (signature.got or "")
    want = "any float" if no_float else signature.want
    about = deviation.what, deviation.error, signature.got, want, signature.stage
    over_rules = deviation.severity in ("lost error", "wrong error") or deviation.what in WITHOUT_RULE
    over_rules = over_rules or deviation.what.startswith(OTHER_GRADIENT)
    return "signature", verdict, None if over_rules else SAME_FAULT.get(rule, rule), about


# -- grouping ----------------------------------------------------------------------------------------------------------


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


def optimizer_steps(failure: Failure) -> list[Mapping[str, Any]]:
    """Returns the instructions of a failure's program that make or use an optimizer."""
    return [step for step in steps(failure.program) if step["do"] in ("step", "optimizer")]


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
        settings = {
            json.dumps([step["optimizer"], step.get("settings")], sort_keys=True) for step in optimizer_steps(failure)
        }
        if settings:
            yield "settings", failure.rule, symptom, frozenset(settings)
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
