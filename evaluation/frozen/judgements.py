"""The suite's judgement of a program as JSON: the allowed outcomes, the violation, and the record of a failure."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from autograd_conformance.checking.check import RuleViolated, related_as
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.failures import record as failures
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Instruction, Modes
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reporting.records.encoding import encode
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.relations import codec as relations_codec
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.tape.graph import Expectation
from autograd_conformance.tape.model import Tape

Json = Any
REPORTED = 2
"""Number of failures of each framework whose full records are stored, which takes longest."""


class Freezer:
    """Judges programs for one framework."""

    def __init__(self, name: str) -> None:
        folder = Path(tempfile.mkdtemp())
        self.session = Session.of(Settings(name, folder, start=folder))
        self.unreported = REPORTED
        self.expected: list[str] = []
        expect = Tape.expect

        def watched(tape: Tape, at: int, step: Instruction, modes: Modes = ()) -> Expectation:
            found = expect(tape, at, step, modes)
            raises = ", ".join(sorted(f"{kind.value}: {rule}" for kind, rule in found.raises.items()))
            self.expected.append(f"{at} {found.returns} [{raises}] {found.exercises} {found.unspecified}")
            return found

        Tape.expect = watched  # type: ignore[method-assign]
        self.restore = lambda: setattr(Tape, "expect", expect)

    def line(self, form: Json) -> Json:
        """The judgement of a program, given as a line of a capture. A process may have only one freezer at a time."""
        framework = self.session.framework
        target = framework.saved_tensor_counter if form["counts"] else framework.target
        program = form["program"]
        self.expected.clear()
        if relations_codec.is_relation(program):
            found = self._related(program, target)
        else:
            found = self._alone(program, target)
        return {"suite": form["suite"], "id": digest(json.dumps(program)), **found}

    def _alone(self, form: Json, target: Target) -> Json:
        program = codec.from_json(form, VOCABULARY)
        written = codec.to_json(program)
        observation = target.observe(program)
        reference = Reference() if program.stateful else Reference(program)
        judgement = judge(program, observation, reference, target.capabilities)
        expected = digest("\n".join(self.expected))
        return {
            "written": digest(json.dumps(written)),
            "expected": expected,
            "exercised": dict(sorted(judgement.exercised.items())),
            "unspecified": judgement.unspecified,
            "violation": violated(judgement.violation),
            **self._reported(judgement.violation, lambda v: RuleViolated(program, observation, v, target)),
        }

    def _related(self, form: Json, target: Target) -> Json:
        related = relations_codec.from_json(form, VOCABULARY)
        one, other = target.observe(related.first), target.observe(related.second)
        relation = related_as(related, one, other, target)
        return {
            "written": digest(json.dumps(relations_codec.to_json(related))),
            "decided": relation.decided,
            "violation": violated(relation.violation),
            **self._reported(relation.violation, lambda v: RuleViolated(related.first, one, v, target, related)),
        }

    def _reported(self, violation: Violation | None, broken: Any) -> Json:
        if violation is None or not self.unreported:
            return {}
        self.unreported -= 1
        failure = failures.failure(broken(violation), "suites/test_frozen.py::test_it", self.session)
        return {"told": encode(failure)}  # the key of earlier freezes


def violated(violation: Violation | None) -> Json:
    """A violation as JSON, its arrays as digests."""
    if violation is None:
        return None
    names = {"held": "grad_before", "got": "got", "want": "want", "bound": "bound"}
    arrays = {key: _array(getattr(violation, name)) for key, name in names.items()}
    return {
        "rule": violation.rule, "at": violation.at, "observed": violation.observed_text(),
        "allowed": [list(pair) for pair in violation.allowed_texts()], "subject": str(violation.subject),
        "op": violation.op, "diagnosis": violation.diagnosis_text(), "partner": str(violation.partner), **arrays,
    }  # fmt: skip


def _array(value: np.ndarray | None) -> str | None:
    return None if value is None else digest(repr(np.asarray(value, dtype=float).tolist()))


def digest(text: str) -> str:
    """A short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def lines(path: Path) -> Iterator[Json]:
    """The lines of a capture without duplicates."""
    seen = set()
    with path.open(encoding="utf-8") as stream:
        for text in stream:
            if text not in seen:
                seen.add(text)
                yield json.loads(text)
