"""Audit results are stored: an op that was right is not audited again until the framework, its adapter or the suite
changes.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.checking.audit.notes import Note
from autograd_conformance.checking.audit.outcome import AuditResult
from autograd_conformance.checking.audit.store import KEPT, Store, digest
from autograd_conformance.checking.audit.workers import AuditCutShort, audit
from autograd_conformance.checking.limits import UNLIMITED, Limits
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.tables import OPS
from examples.tiny_adapter import Tiny

TINY = "examples.tiny_adapter:Tiny"
SINE = "tests.frameworks.adapters.wrong:WrongSine"
ASKED = ("cpu", ("float64",), 60.0, False)


class Later(Tiny):
    version = "1.0.1"


def right(note: Note) -> bool:
    return note.outcome == "fine"


def test_what_was_right_is_not_audited_again(tmp_path: Path) -> None:
    store = Store(InProcess(Tiny()), "asked", path=tmp_path / "audited.json")
    assert store.notes(right) == {}
    first = audit(TINY, *ASKED, jobs=2)
    assert first.found.programs > 0
    store.keep(first.notes)
    kept = store.notes(right)
    assert kept == first.notes
    again = audit(TINY, *ASKED, UNLIMITED, kept, jobs=0)
    assert again.found == replace(first.found, programs=0)


def test_what_was_right_when_an_audit_was_cut_short_is_kept() -> None:
    with pytest.raises(AuditCutShort) as cut:
        audit(SINE, *ASKED, Limits(40))
    found = cut.value.notes
    assert found and {note.outcome for note in found.values()} == {"fine"}
    assert {*found} < {*audit(SINE, *ASKED, UNLIMITED, found).notes}


def test_shares_find_together_what_one_finds() -> None:
    assert audit(SINE, *ASKED, jobs=3).found == audit(SINE, *ASKED).found


def test_what_is_wrong_is_audited_again() -> None:
    found, notes = audit(SINE, *ASKED)
    framework = FrameworkUnderTest(Settings(SINE))
    kept = {op: note for op, note in notes.items() if framework.is_settled(note)}
    assert {*notes} - {*kept} == found.wrong != set()
    again = audit(SINE, *ASKED, UNLIMITED, kept)
    assert again.found == replace(found, programs=again.found.programs)
    assert again.found.programs < found.programs


def test_what_is_known_to_be_wrong_is_not() -> None:
    framework = FrameworkUnderTest(Settings("torch"))
    assert framework.is_settled(Note("digamma", "wrong"))
    assert not framework.is_settled(Note("sin", "wrong"))
    assert not framework.is_settled(Note("digamma", "begun"))
    assert not framework.is_settled(Note("sin", "missing"))  # the next build of a backend may have it


@pytest.mark.parametrize("other", [Later, Torch])
def test_another_version_or_adapter_is_another_framework(other: type[Torch]) -> None:
    assert digest(InProcess(other())) != digest(InProcess(Tiny()))


def test_other_questions_have_other_answers() -> None:
    assert digest(InProcess(Tiny()), "cpu") != digest(InProcess(Tiny()), "cuda")


@pytest.mark.parametrize("damage", ["", "[]", "{", "\x00"])
def test_a_damaged_file_costs_time_alone(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "audited.json"
    path.write_text(damage)
    store = Store(InProcess(Tiny()), path=path)
    assert store.notes(right) == {}
    store.keep({"sin": Note("sin", "fine")})
    assert store.notes(right) == {"sin": Note("sin", "fine")}


def test_only_the_latest_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "audited.json"
    stores = [Store(InProcess(Tiny()), number, path=path) for number in range(KEPT + 1)]
    for store in stores:
        store.keep({"sin": Note("sin", "fine")})
    assert [bool(store.notes(right)) for store in stores] == [False] + [True] * KEPT


def test_the_audit_ends_when_its_part_of_the_time_is_over():
    found, notes = audit("examples.tiny_adapter:Tiny", "cpu", ("float64",), 60, False, until=time.monotonic())
    assert found.programs == 0
    assert notes == {}


def test_ops_that_did_not_run_alone_are_used_by_their_own_tests_alone():
    framework = FrameworkUnderTest(Settings("examples.tiny_adapter:Tiny"))
    framework.adopt_audit(AuditResult(untried=frozenset({"exp", "mm", "sum", "add", "sin"})))
    assert framework.faulty_ops == {"exp", "mm", "sum", "add", "sin"}
    assert "exp" in framework.target.ops
    assert AuditResult.from_json(framework.audited.to_json()) == framework.audited


def test_if_no_op_ran_alone_every_test_uses_all_ops():
    framework = FrameworkUnderTest(Settings("tests.frameworks.adapters.seconds:TorchSeconds"))
    assert framework.target.modules, "modules do not run alone, so they are not tried ops"
    framework.adopt_audit(AuditResult(untried=frozenset(OPS)))
    assert framework.faulty_ops == frozenset()
    framework.adopt_audit(AuditResult(untried=frozenset({*OPS} - {"exp"})))
    assert framework.faulty_ops == {*OPS} - {"exp"}
