"""The signatures of failures as keys, and their symptoms: what is equal for failures of one cause, in whatever ops and
tests.
"""

from __future__ import annotations

from collections.abc import Hashable

from autograd_conformance.reporting.records.failure import ENDING, Category, Failure, Signature

GRAPH_FREED = "graph freed"
"""The kind of error that a backward call must raise if its graph was freed."""

Symptom = tuple[str, Category | str]
"""A failure's verdict and category; if the category is unknown, the text of the observed outcome instead."""

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


def symptom_of(failure: Failure) -> Symptom:
    """Returns the symptom of a failure: the verdict, and the category of the violation or, if no category is known, the
    text of the observed outcome.
    """
    return failure.verdict, failure.deviation or failure.observed


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
