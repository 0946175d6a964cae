"""Writes entries of known differences for the violations that a run with `--update-known` found, one for each kind of
violation, with the tightest limits.

Each process collects the violations of its tests; one process writes the entries at the end of the run. An entry names
its case by the op at fault, by the error message, or by clauses that are true of all programs with the violation and
false for some program that kept the rule. If nothing names the case, no entry is written.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from autograd_conformance.frameworks.blame.raised import without_remark
from autograd_conformance.known_differences.clauses import OUTCOMES, Clause, clauses_of, holding, naming
from autograd_conformance.known_differences.conditions.outcomes import unexpected_dtype
from autograd_conformance.programs.formats.text import lines
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.rounding.bounds import working_dtype
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.violations.observed import RaisedError, ReturnedUnexpectedly
from autograd_conformance.rules.violations.shared import ResultShape
from autograd_conformance.rules.violations.violation import Violation

Common = Mapping[str, frozenset[Clause]]
"""For each rule, the clauses (pairs of an entry's key and its value) that are true of all programs that tested the rule
and kept it.
"""

HEADER = """\
# Known differences. The reasons are what the run observed: write your own, and a link if you report the difference.
"""


@dataclass(frozen=True, slots=True)
class Signature:
    """The features that two violations share if one entry covers both."""

    rule: str
    op: str | None
    raised: str | None
    """Kind of the raised error; None if no error was raised."""
    message: str | None
    """Longest part of the error message without numbers, which may differ from run to run; None if no error was
    raised.
    """
    dtype: str | None
    """The dtype of the program, if values were compared."""
    nan: bool
    any_value: bool
    """Whether no limit bounds the error: a value was infinite or missing."""
    result_dtype: str | None
    """Dtype of the result or gradient, if it is not the expected one."""
    wrong_shape: bool
    """Whether the result has an unexpected shape."""

    @staticmethod
    def of(program: Program, violation: Violation) -> Signature:
        """Returns the signature of a violation."""
        raised = violation.observed if isinstance(violation.observed, RaisedError) else None
        got, want = violation.got, violation.want
        compared = got is not None and want is not None and got.shape == want.shape
        nan = compared and bool(np.isnan(got).any())  # type: ignore[arg-type]
        gives = unexpected_dtype(violation)
        shape = isinstance(violation.observed, ResultShape)
        other = raised or gives or shape or isinstance(violation.observed, ReturnedUnexpectedly)
        boundless = not other and RULES[violation.rule].compares_values
        if compared:
            boundless = bool(np.isinf(got).any() or not np.isfinite(want).all())  # type: ignore[arg-type]
        return Signature(
            violation.rule,
            violation.op,
            None if raised is None else raised.kind.value,
            None if raised is None else _longest_part(raised.message),
            working_dtype(program) if compared else None,
            nan,
            boundless,
            gives,
            shape,
        )


def _longest_part(message: str) -> str | None:
    """Returns the longest part of a framework's message between numbers; None if nothing is left."""
    return max(re.split(r"0x[0-9a-fA-F]+|\d+", without_remark(message)), key=len).strip() or None


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of violation that a run found, with what all programs that showed it have in common."""

    signature: Signature
    relative: float | None
    """Largest error of an element in all programs, as a fraction of the largest expected magnitude; None if no values
    were compared.
    """
    absolute: float
    """Largest absolute error of an element in all programs; 0 if no values were compared."""
    witness: str
    """Shortest program that shows the violation."""
    observed: str
    """Observed outcome of the witness program, as a sentence."""
    left_out: bool
    """Whether tests of other rules leave the op out of their programs."""
    clauses: frozenset[Clause]
    """Clauses, pairs of an entry's key and its value, that are true of all programs that showed the violation."""
    seen: int = 1
    """Number of programs that showed the violation."""

    @staticmethod
    def of(
        program: Program, violation: Violation, left_out: bool, seen: int = 1, among: Iterable[Clause] | None = None
    ) -> Finding:
        """Returns a finding of one violation, shown by `seen` programs; with `among`, only these clauses are tried."""
        signature, relative, absolute = Signature.of(program, violation), None, 0.0
        got, want = violation.got, violation.want
        if signature.dtype is not None and not signature.any_value and got is not None and want is not None:
            off, largest = float(np.nanmax(np.abs(got - want), initial=0.0)), float(np.abs(want).max(initial=0.0))
            relative, absolute = (off / largest if largest else math.inf if off else 0.0), off
        witness = "; ".join(lines(program.upto(violation.at + 1)))
        clauses = clauses_of(program, violation) if among is None else holding(among, program, violation)
        return Finding(signature, relative, absolute, witness, violation.observed_text(), left_out, clauses, seen)

    def joined(self, other: Finding) -> Finding:
        """Returns one finding for two with the same signature: the larger errors, the shorter witness, and the clauses
        that both have.
        """
        small = min(self, other, key=lambda each: (len(each.witness), each.witness))
        relative = None if self.relative is None else max(self.relative, other.relative or 0.0)
        absolute = max(self.absolute, other.absolute)
        clauses = self.clauses & other.clauses
        return replace(small, relative=relative, absolute=absolute, clauses=clauses, seen=self.seen + other.seen)

    def entry(self, since: date, common: Common) -> str | None:
        """Returns the entry as TOML text, which is known `since` a day; None if nothing separates the case from others
        that violate the same rule.
        """
        signature, kept = self.signature, common.get(self.signature.rule)
        stated = {} if kept is None else _stated(self.clauses - kept, signature.op, self.witness)
        named = {"op": signature.op, "message": signature.message, **stated}
        if not naming((key, value) for key, value in named.items() if value is not None):
            return None
        op = signature.op or stated.pop("op", None)
        written: dict[str, Any] = {
            "rule": signature.rule,
            "op": op,
            "raised": signature.raised,
            "message": signature.message,
            "dtype": signature.dtype,
            **self._limits(),
            "result_dtype": signature.result_dtype,
            "wrong_shape": signature.wrong_shape or None,
            **{key: value for key, value in stated.items() if key not in OUTCOMES or not self._limits()},
            "left_out": None if op is None or (self.left_out and op == signature.op) else False,
            "reason": self.observed,
            "link": "not reported",
            "since": since,
            "witness": self.witness,
        }
        return "\n[[known]]\n" + "".join(f"{key} = {_toml(v)}\n" for key, v in written.items() if v is not None)

    def _limits(self) -> dict[str, float | bool]:
        """Returns the limits for values: relative if at most 1, or else absolute if at most 1, or else `any_value`.
        After cancellation, a relative limit says little.
        """
        if self.signature.any_value:
            return {"any_value": True}
        if self.relative is None:
            return {}
        nan = {"nan": True} if self.signature.nan else {}
        if self.relative <= 1:
            return {"relative": min(_above(self.relative), 1.0), **nan}
        return {"absolute": min(_above(self.absolute), 1.0), **nan} if self.absolute <= 1 else {"any_value": True}

    def to_json(self) -> dict[str, Any]:
        """Returns the finding as JSON data, which pytest-xdist sends from a worker process to the main process."""
        signature = {name: getattr(self.signature, name) for name in Signature.__slots__}
        plain = {name: getattr(self, name) for name in Finding.__slots__}
        return {**plain, "signature": signature, "clauses": [list(clause) for clause in sorted(self.clauses, key=repr)]}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Finding:
        """Returns the finding from JSON data."""
        clauses = frozenset((key, value) for key, value in form["clauses"])
        return cls(**{**form, "signature": Signature(**form["signature"]), "clauses": clauses})


def joined(findings: Iterable[Finding]) -> list[Finding]:
    """Returns the findings, with those of the same signature merged to one."""
    found: dict[Signature, Finding] = {}
    for each in findings:
        found[each.signature] = found[each.signature].joined(each) if each.signature in found else each
    return [found[signature] for signature in sorted(found, key=repr)]


def common_to_both(one: Common, other: Common) -> dict[str, frozenset[Clause]]:
    """Returns, for each rule, the clauses that are true of the programs of both processes, or of one process if only
    that one tested the rule.
    """
    return {**one, **{rule: one.get(rule, clauses) & clauses for rule, clauses in other.items()}}


def _stated(clauses: Iterable[Clause], op: str | None, witness: str) -> dict[str, str | int]:
    """Returns the clauses that an entry contains, as a dictionary with one value for each key. Of several `op` or
    `after` clauses, the entry contains the one that occurs last in the witness.
    """
    found = dict(sorted(clauses, key=lambda clause: (clause[0], witness.rfind(f" {clause[1]} "), repr(clause[1]))))
    if op is not None or "grad_already_set" in found:  # the key is about the op, if the entry has one
        found.pop("op", None)
    if "after" in found and found["after"] in (op, found.get("op")):
        del found["after"]
    return found


def _above(x: float) -> float:
    """Returns x, increased by one per cent and rounded to three digits."""
    return float(f"{x * 1.01:.2e}")


def _toml(value: str | float | bool | date) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (int, float)):
        return repr(value)
    text = value.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
