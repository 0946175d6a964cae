"""Ops that are wrong in one way are not left out of programs if they are many; others are."""

from __future__ import annotations

from pathlib import Path

from autograd_conformance.checking.audit.outcome import AuditResult, Fault, Outcome
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.reporting.records.failure import Category, Signature
from examples.tiny_adapter import Tiny

EVERY = tuple(sorted(Tiny.ops))
SHAPE = Category("value", "other shape")


def fault(got: str, general: bool = True, meaning: str | None = None) -> Fault:
    signature = Signature(stage="apply", general=general, got=got, want="()", meaning=meaning)
    return Fault({}, "gradients/forward", "other", 1, deviation=SHAPE, signature=signature)


def left_out(tmp_path: Path, **faults: Fault) -> set[str]:
    outcomes: dict[str, Outcome] = {op: "wrong" if op in faults else "fine" for op in EVERY}
    framework = FrameworkUnderTest(Settings("examples.tiny_adapter:Tiny", tmp_path))
    framework.adopt_audit(AuditResult.from_json(AuditResult.of(outcomes, faults).to_json()))
    return {*framework.faulty_ops}


def test_ops_that_are_wrong_in_several_ways_are_left_out(tmp_path: Path) -> None:
    assert left_out(tmp_path, sin=fault("(1,)")) == {"sin"}
    assert left_out(tmp_path, sin=fault("(1,)"), exp=fault("(2,)"), mm=fault("(3,)")) == {"sin", "exp", "mm"}


def test_what_many_ops_do_wrong_leaves_none_out(tmp_path: Path) -> None:
    alike = {"sin": fault("(1,)"), "exp": fault("(1,)")}
    assert left_out(tmp_path, **alike) == set()
    assert left_out(tmp_path, **alike, mm=fault("(3,)")) == {"mm"}
    assert left_out(tmp_path, sin=fault("(1,)", meaning="empty"), exp=fault("(2,)", meaning="empty")) == set()
    assert left_out(tmp_path, sin=fault("(1,)", general=False), exp=fault("(2,)", general=False)) == set()


def test_none_is_left_out_if_most_ops_are_wrong(tmp_path: Path) -> None:
    assert left_out(tmp_path, **{op: fault(f"({at},)") for at, op in enumerate(EVERY[:4])}) == set()
