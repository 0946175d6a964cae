"""Known differences as a run writes them: an entry for each way in which rules were broken, with the tightest limits.

Each process measures what its tests see; the sums of all are written once, at the end. An entry names its case: by the
op that is to blame, by the message, or by what all programs that showed it have in common and some program that kept
the rule has not. Where nothing does, none is written.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autograd_conformance.known_differences.clauses import OUTCOMES, Clause, clauses_of, holding, naming
from autograd_conformance.known_differences.keys import OF_VALUES
from autograd_conformance.programs.formats.text import lines
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.rounding.bounds import working_dtype
from autograd_conformance.rules.explanation.words import observed_text
from autograd_conformance.rules.violations.observed import (
    GradientForm,
    RaisedError,
    ResultDtype,
    ResultShape,
    ReturnedUnexpectedly,
)
from autograd_conformance.rules.violations.violation import Violation

Common = Mapping[str, frozenset[Clause]]
"""For each rule, what all programs have in common that put it to the test and kept it."""

HEADER = """\
# Known differences, each with what was observed: put the reason in its place, and the link where it is reported.
"""


@dataclass(frozen=True, slots=True)
class Signature:
    """What two violations have in common that become one entry."""

    rule: str
    op: str | None
    raised: str | None
    """The kind of the error that was raised."""
    message: str | None
    """The longest part of its message that holds no number, which may be another each time."""
    dtype: str | None
    """The dtype, where values were compared."""
    nan: bool
    any_value: bool
    """Whether no limit holds the value: it was infinite, or not there."""
    result_dtype: str | None
    """The dtype of the result, where it is the wrong one."""
    wrong_shape: bool
    """Whether the shape of the result is the wrong one."""

    @staticmethod
    def of(program: Program, violation: Violation) -> Signature:
        """What a violation is about."""
        raised = violation.observed if isinstance(violation.observed, RaisedError) else None
        got, want = violation.got, violation.want
        compared = got is not None and want is not None and got.shape == want.shape
        nan = compared and bool(np.isnan(got).any())  # type: ignore[arg-type]
        gives = _given_dtype(violation)
        shape = isinstance(violation.observed, ResultShape)
        other = raised or gives or shape or isinstance(violation.observed, ReturnedUnexpectedly)
        boundless = not other and violation.rule in OF_VALUES
        if compared:
            boundless = bool(np.isinf(got).any() or not np.isfinite(want).all())  # type: ignore[arg-type]
        return Signature(
            violation.rule,
            violation.op,
            None if raised is None else raised.kind.value,
            None if raised is None else max(re.split(r"0x[0-9a-fA-F]+|\d+", raised.message), key=len).strip() or None,
            working_dtype(program) if compared else None,
            nan,
            boundless,
            gives,
            shape,
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """A way in which a rule was broken, over all programs that showed it."""

    about: Signature
    relative: float | None
    """How far off values were at most, as a part of the largest that is due; none where they were not compared."""
    absolute: float
    """How far off they were at most."""
    witness: str
    """The shortest program that shows it."""
    observed: str
    """What was observed of that, in a sentence."""
    left_out: bool
    """Whether the op is left out of other tests' programs."""
    clauses: frozenset[Clause]
    """What holds for all programs that showed it."""
    seen: int = 1
    """How many programs showed it."""

    @staticmethod
    def of(
        program: Program, violation: Violation, left_out: bool, seen: int = 1, among: Iterable[Clause] | None = None
    ) -> Finding:
        """What one violation of a program shows; of `among` some clauses, those that hold for it, too."""
        about, relative, absolute = Signature.of(program, violation), None, 0.0
        got, want = violation.got, violation.want
        if about.dtype is not None and not about.any_value and got is not None and want is not None:
            off, largest = float(np.nanmax(np.abs(got - want), initial=0.0)), float(np.abs(want).max(initial=0.0))
            relative, absolute = (off / largest if largest else math.inf if off else 0.0), off
        witness = "; ".join(lines(program.upto(violation.at + 1)))
        clauses = clauses_of(program, violation) if among is None else holding(among, program, violation)
        return Finding(about, relative, absolute, witness, observed_text(violation), left_out, clauses, seen)

    def joined(self, other: Finding) -> Finding:
        """One finding of two that are about the same: the wider limits, the shorter program."""
        small = min(self, other, key=lambda each: (len(each.witness), each.witness))
        relative = None if self.relative is None else max(self.relative, other.relative or 0.0)
        absolute = max(self.absolute, other.absolute)
        clauses = self.clauses & other.clauses
        return replace(small, relative=relative, absolute=absolute, clauses=clauses, seen=self.seen + other.seen)

    def entry(self, since: str, common: Common) -> str | None:
        """The entry as TOML; none where nothing names the case."""
        about, kept = self.about, common.get(self.about.rule)
        said = {} if kept is None else _stated(self.clauses - kept, about.op, self.witness)
        named = {"op": about.op, "message": about.message, **said}
        if not naming((key, value) for key, value in named.items() if value is not None):
            return None
        op = about.op or said.pop("op", None)
        written: dict[str, Any] = {
            "rule": about.rule,
            "op": op,
            "raised": about.raised,
            "message": about.message,
            "dtype": about.dtype,
            **self._limits(),
            "result_dtype": about.result_dtype,
            "wrong_shape": about.wrong_shape or None,
            **{key: value for key, value in said.items() if key not in OUTCOMES or not self._limits()},
            "left_out": None if op is None or (self.left_out and op == about.op) else False,
            "reason": self.observed,
            "link": "not reported",
            "since": since,
            "witness": self.witness,
        }
        return "\n[[known]]\n" + "".join(f"{key} = {_toml(v)}\n" for key, v in written.items() if v is not None)

    def _limits(self) -> dict[str, float | bool]:
        """How far values may be off: in parts of the largest, or absolutely, for where terms cancel a part of what is
        left says little; without a limit where neither is below 1.
        """
        if self.about.any_value:
            return {"any_value": True}
        if self.relative is None:
            return {}
        nan = {"nan": True} if self.about.nan else {}
        if self.relative <= 1:
            return {"relative": min(_above(self.relative), 1.0), **nan}
        return {"absolute": min(_above(self.absolute), 1.0), **nan} if self.absolute <= 1 else {"any_value": True}

    def to_json(self) -> dict[str, Any]:
        """As plain data, which crosses pytest-xdist."""
        about = {name: getattr(self.about, name) for name in Signature.__slots__}
        plain = {name: getattr(self, name) for name in Finding.__slots__}
        return {**plain, "about": about, "clauses": [list(clause) for clause in sorted(self.clauses, key=repr)]}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Finding:
        """From plain data."""
        clauses = frozenset((key, value) for key, value in form["clauses"])
        return cls(**{**form, "about": Signature(**form["about"]), "clauses": clauses})


def joined(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, one for each way in which a rule was broken."""
    found: dict[Signature, Finding] = {}
    for each in findings:
        found[each.about] = found[each.about].joined(each) if each.about in found else each
    return [found[about] for about in sorted(found, key=repr)]


def common_to_both(one: Common, other: Common) -> dict[str, frozenset[Clause]]:
    """What the programs of two processes that kept a rule have in common."""
    return {**one, **{rule: one.get(rule, clauses) & clauses for rule, clauses in other.items()}}


def _stated(clauses: Iterable[Clause], op: str | None, witness: str) -> dict[str, str | int]:
    """What an entry says of all that holds for its case: of several words that stand before, one; of several ops that
    the programs apply, the one that the witness has last, where no op is to blame.
    """
    found = dict(sorted(clauses, key=lambda clause: (clause[0], witness.rfind(f" {clause[1]} "), repr(clause[1]))))
    if op is not None or "grad_already_set" in found:  # which is about the op, where an entry names one
        found.pop("op", None)
    if "after" in found and found["after"] in (op, found.get("op")):
        del found["after"]
    return found


def _given_dtype(violation: Violation) -> str | None:
    """The dtype of a result, or of a gradient of the right shape, where it is the wrong one."""
    observed = violation.observed
    if isinstance(observed, ResultDtype):
        return observed.dtype
    forms = [allowed.expected for allowed in violation.allowed if isinstance(allowed.expected, GradientForm)]
    right = isinstance(observed, GradientForm) and observed.shape in [form.shape for form in forms]
    return observed.dtype if right and isinstance(observed, GradientForm) else None


def _above(x: float) -> float:
    """A short number that is a little above another."""
    return float(f"{x * 1.01:.2e}")


def _toml(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = value.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
