"""One failure of each cause is reduced and explained; the others are counted, under the same rules."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.checking.limits import Limits
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.failures import counted, record
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.rules.judge.judge import judge
from examples import tiny
from examples.tiny_adapter import Tiny
from tests.frameworks.adapters.wrong import WrongSine


class Boxed(Tiny):
    """Results of negative and sin have one dimension more."""

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        made = super().apply(op, operands, attrs)
        return [tiny.Tensor(np.asarray(each.data)[None]) for each in made] if op in ("negative", "sin") else made


def session(folder: Path, limits: Limits | None = None) -> Session:
    settings = Settings("examples.tiny_adapter:Tiny", folder)
    return Session.of(settings if limits is None else replace(settings, limits=limits))


def broken(framework: Tiny, text: str) -> RuleViolated:
    program, target = parse(text, VOCABULARY), InProcess(framework)
    seen = target.observe(program)
    violation = judge(program, seen, Reference(program), target.capabilities).violation
    assert violation is not None
    return RuleViolated(program, seen, violation, target)


def failure(framework: Tiny, text: str, of: Session) -> Failure:
    return record.failure(broken(framework, text), f"t[{text}]", of)


NEGATIVE, SINE = "a = leaf [1, 2]; c = exp a; b = negative a", "a = leaf [1, 2]; b = sin a"
WRONG_SINE = "a = leaf [1, 2]; b = sin a; backward b with [1, 1]"


def test_the_second_failure_with_a_cause_is_only_counted(tmp_path: Path) -> None:
    asked = session(tmp_path)
    first, second = failure(Boxed(), NEGATIVE, asked), failure(Boxed(), SINE, asked)
    assert (first.counted, first.op, len(first.code.splitlines())) == (False, "negative", 2)
    assert first.why
    assert (second.counted, second.op, second.rule) == (True, "sin", first.rule)
    assert second.signature == first.signature and second.replay is not None
    again = failure(Boxed(), SINE, session(tmp_path))
    assert (again.counted, again.rule, again.op) == (False, second.rule, second.op), "the verdict is the same"


def test_a_failure_whose_rule_depends_on_reducing_is_never_only_counted(tmp_path: Path) -> None:
    asked = session(tmp_path, Limits(None, time.monotonic() + 60.0, time.monotonic() + 60.0))
    asked.process.count_explaining(1e6)
    assert not any(failure(WrongSine(), WRONG_SINE, asked).counted for _ in range(2))


def test_after_its_share_of_the_time_no_failure_is_reduced(tmp_path: Path) -> None:
    asked = session(tmp_path, Limits(None, time.monotonic() + 60.0, time.monotonic() + 60.0))
    assert not failure(Boxed(), NEGATIVE, asked).counted
    assert 0 < asked.process.explaining < 60
    other = session(tmp_path, asked.settings.limits)
    other.process.count_explaining(1e6)
    again = failure(Boxed(), NEGATIVE, other)
    assert (again.counted, again.rule, again.op) == (True, "gradients/forward", "negative")


def test_the_time_for_explaining_is_limited_only_in_limited_runs(tmp_path: Path) -> None:
    assert counted.deadline(session(tmp_path).process) == float("inf")
    asked = session(tmp_path, Limits(None, time.monotonic() + 100.0, time.monotonic() + 100.0)).process
    asked.count_explaining(3.0)
    assert counted.deadline(asked) - time.monotonic() == pytest.approx(2.0, abs=0.5)
    asked.count_explaining(100.0)
    assert counted.deadline(asked) - time.monotonic() == pytest.approx(counted.NEEDED, abs=0.5)


def test_a_replay_is_always_explained(tmp_path: Path) -> None:
    asked = session(tmp_path)
    failure(Boxed(), NEGATIVE, asked)
    assert not record.failure(broken(Boxed(), SINE), "t", asked, file=tmp_path / "x.json").counted
