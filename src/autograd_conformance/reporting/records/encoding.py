"""Conversion of records to JSON and back.

A JSON form has a field ``record`` that names the record's type, then every field of the type in order. Python field
names are the JSON keys. Unknown values are null; fields that were added later are left out if they are empty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from autograd_conformance.reporting.records.claims import ClaimProgram, ClaimRecord
from autograd_conformance.reporting.records.failure import (
    Allowed,
    Category,
    Confirmation,
    ErrorSize,
    ExplanationStep,
    Failure,
    LineGroup,
    PartViolation,
    Signature,
    Votes,
)
from autograd_conformance.reporting.records.flow import GradientFlow, SavedTensor, ValueGradient
from autograd_conformance.reporting.records.records import (
    Behaviour,
    Coverage,
    CoverageSetting,
    Footer,
    Framework,
    Header,
    Interactions,
    KnownRecord,
    Record,
    Result,
    RuleRecord,
)
from autograd_conformance.reporting.records.terms import Source

NAMES: dict[type[Record], str] = {
    Header: "header",
    RuleRecord: "rule",
    Result: "result",
    Failure: "failure",
    KnownRecord: "known",
    ClaimRecord: "claim",
    Coverage: "coverage",
    Behaviour: "behaviour",
    Interactions: "interactions",
    Footer: "footer",
}
"""For each type of record, the value of the JSON field ``record``: ``"header"``, ``"rule"``."""


def encode(record: Record) -> dict[str, Any]:
    """Returns the JSON form of a record, ready for `json.dumps`; an infinite or NaN number, such as the size of a
    numerical error, becomes a string, except in a program.
    """
    return {"record": NAMES[type(record)], **_plain(record)}


def decode(form: Mapping[str, Any]) -> Record:
    """Record with the given JSON form. The form must satisfy the schema, which is not checked here."""
    values = {name: value for name, value in form.items() if name != "record"}
    match form["record"]:
        case "header":
            framework = values["framework"]
            lists = _tuples(framework, "capabilities", "missing_ops", "traits", "limits")
            sources = _each(Source, framework.get("trait_sources", []))
            framework = {**framework, **lists, "trait_sources": sources}
            return Header(**{**values, **_tuples(values, "dtypes", "environment"), "framework": Framework(**framework)})
        case "rule":
            return RuleRecord(
                **{**values, **_tuples(values, "needs", "absent"), "sources": _each(Source, values["sources"])}
            )
        case "result":
            return Result(**values)
        case "failure":
            nested = {
                "sources": _each(Source, values["sources"]),
                "allowed": _each(Allowed, values["allowed"]),
                "why": _each(ExplanationStep, values["why"]),
                "error": error_size(values["error"]),
                "votes": values["votes"] and Votes(**values["votes"]),
                "alone": Confirmation(**values["alone"]) if values.get("alone") else None,
                "deviation": Category(**values["deviation"]) if values.get("deviation") else None,
                "cured": tuple(values.get("cured", ())),
                "parts": tuple(_part(each) for each in values.get("parts", ())),
                "groups": tuple(LineGroup(each["kind"], tuple(each["lines"])) for each in values.get("groups", ())),
                "flow": _flow(values["flow"]) if values.get("flow") else None,
                "signature": Signature(**values["signature"]) if values.get("signature") else None,
            }
            return Failure(**{**values, **nested})
        case "known":
            return KnownRecord(**values)
        case "claim":
            return ClaimRecord(**{**values, "programs": _each(ClaimProgram, values["programs"])})
        case "coverage":
            return Coverage(**{**values, "met": _each(CoverageSetting, values["met"])})
        case "behaviour":
            return Behaviour(**{**values, "allowed": _each(Allowed, values["allowed"])})
        case "interactions":
            return Interactions(facts=tuple(values["facts"]), meetings=tuple(map(tuple, values["meetings"])))
        case "footer":
            return Footer(**{**values, **_tuples(values, "missing_ops")})
        case kind:
            raise ValueError(f"unknown record {kind!r}")


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        shown = (each for each in fields(value) if not each.metadata or getattr(value, each.name))
        return {each.name: _plain(getattr(value, each.name)) for each in shown}
    match value:
        case tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return dict(value)  # already JSON: programs have a codec of their own
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


def _part(form: Mapping[str, Any]) -> PartViolation:
    flow = _flow(form["flow"]) if form.get("flow") else None
    signature = Signature(**form["signature"]) if form.get("signature") else None
    return PartViolation(**{**form, "deviation": Category(**form["deviation"]), "flow": flow, "signature": signature})


def error_size(form: Mapping[str, Any] | None) -> ErrorSize | None:
    """Returns the size of an error that has the given JSON form, in which infinite numbers are strings; the number of
    right digits is left out if it is 0.
    """
    if form is None:
        return None
    numbers = {name: float(value) for name, value in form.items()}
    return ErrorSize(**{"digits": 0.0, **numbers} if "of" in numbers else numbers)


def _flow(form: Mapping[str, Any]) -> GradientFlow:
    gradients = [{**each, "through": tuple(each["through"])} for each in form["gradients"]]
    return GradientFlow(gradients=_each(ValueGradient, gradients), saved=_each(SavedTensor, form["saved"]))


def _tuples(values: Mapping[str, Any], *names: str) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(values[name]) for name in names if name in values}


def _each(make: type, forms: list[dict[str, Any]]) -> tuple[Any, ...]:
    return tuple(make(**form) for form in forms)
