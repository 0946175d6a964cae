"""Known differences as a run writes them: an entry for each way in which rules were broken, with the tightest limits.

Each process measures what its tests see; the sums of all are written once, at the end.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autograd_conformance.harness.known.keys import OF_VALUES
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.text import lines
from autograd_conformance.reference.bounds import working_dtype
from autograd_conformance.rules.explanation.words import observed_text
from autograd_conformance.rules.judge.observed import RaisedError, ResultDtype, ResultShape
from autograd_conformance.rules.judge.violation import Violation

HEADER = """\
# Known differences, each with what was observed: put the reason in its place, and the link where it is reported.
"""


@dataclass(frozen=True, slots=True)
class About:
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
    gives: str | None
    """The dtype of the result, where it is the wrong one."""
    shape: bool
    """Whether the shape of the result is the wrong one."""

    @staticmethod
    def of(program: Program, violation: Violation) -> About:
        """What a violation is about."""
        raised = violation.observed if isinstance(violation.observed, RaisedError) else None
        got, want = violation.got, violation.want
        compared = got is not None and want is not None and got.shape == want.shape
        nan = compared and bool(np.isnan(got).any())  # type: ignore[arg-type]
        gives = violation.observed.dtype if isinstance(violation.observed, ResultDtype) else None
        shape = isinstance(violation.observed, ResultShape)
        boundless = raised is None and gives is None and not shape and violation.rule in OF_VALUES
        if compared:
            boundless = bool(np.isinf(got).any() or not np.isfinite(want).all())  # type: ignore[arg-type]
        return About(
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

    about: About
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
    seen: int = 1
    """How many programs showed it."""

    @staticmethod
    def of(program: Program, violation: Violation, left_out: bool, seen: int = 1) -> Finding:
        """What one violation of a program shows."""
        about, relative, absolute = About.of(program, violation), None, 0.0
        got, want = violation.got, violation.want
        if about.dtype is not None and not about.any_value and got is not None and want is not None:
            off, largest = float(np.nanmax(np.abs(got - want), initial=0.0)), float(np.abs(want).max(initial=0.0))
            relative, absolute = (off / largest if largest else math.inf if off else 0.0), off
        witness = "; ".join(lines(program.upto(violation.at + 1)))
        return Finding(about, relative, absolute, witness, observed_text(violation), left_out, seen)

    def joined(self, other: Finding) -> Finding:
        """One finding of two that are about the same: the wider limits, the shorter program."""
        small = min(self, other, key=lambda each: (len(each.witness), each.witness))
        relative = None if self.relative is None else max(self.relative, other.relative or 0.0)
        absolute = max(self.absolute, other.absolute)
        return replace(small, relative=relative, absolute=absolute, seen=self.seen + other.seen)

    def entry(self, since: str) -> str:
        """The entry as TOML."""
        about = self.about
        few = self.relative is not None and self.relative <= 1  # where terms cancel, a part of what is left says little
        said: dict[str, Any] = {
            "rule": about.rule,
            "op": about.op,
            "raised": about.raised,
            "message": about.message,
            "dtype": about.dtype,
            "relative": _above(self.relative) if self.relative is not None and few else None,
            "absolute": _above(self.absolute) if self.relative is not None and not few else None,
            "nan": about.nan or None,
            "any_value": about.any_value or None,
            "gives": about.gives,
            "shape": about.shape or None,
            "left_out": None if self.left_out or about.op is None else False,
            "reason": self.observed,
            "link": "not reported",
            "since": since,
            "witness": self.witness,
        }
        return "\n[[known]]\n" + "".join(f"{key} = {_toml(v)}\n" for key, v in said.items() if v is not None)

    def to_json(self) -> dict[str, Any]:
        """As plain data, which crosses pytest-xdist."""
        about = {name: getattr(self.about, name) for name in About.__slots__}
        return {**{name: getattr(self, name) for name in Finding.__slots__}, "about": about}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Finding:
        """From plain data."""
        return cls(**{**form, "about": About(**form["about"])})


def joined(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, one for each way in which a rule was broken."""
    found: dict[About, Finding] = {}
    for each in findings:
        found[each.about] = found[each.about].joined(each) if each.about in found else each
    return [found[about] for about in sorted(found, key=repr)]


def write(path: Path, findings: Iterable[Finding], since: str) -> None:
    """Add an entry for each finding to a file, which is made where there is none."""
    old = (path.read_text(encoding="utf-8") if path.exists() else "") or HEADER
    new = "".join(each.entry(since) for each in findings)
    path.write_text(old + ("" if old.endswith("\n") else "\n") + new, encoding="utf-8")


def _above(x: float) -> float:
    """A short number that is a little above another."""
    return float(f"{x * 1.01:.2e}")


def _toml(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    text = value.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
