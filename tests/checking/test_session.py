"""Settings never change, and only methods of a process change its state."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from autograd_conformance.checking.audit.outcome import AuditResult
from autograd_conformance.checking.session import FrameworkUnderTest, ProcessState, Session, Settings
from autograd_conformance.checking.session.process_state import PAST
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.processes.journal import Journal, read
from autograd_conformance.programs.dtypes import USUAL
from autograd_conformance.programs.formats.parser import parse

TINY = "examples.tiny_adapter:Tiny"
PROGRAM = parse("a = leaf 1; b = exp a", VOCABULARY)


def test_settings_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings(TINY).strict = True  # type: ignore[misc]


def test_a_process_confirms_as_many_failures_as_it_may() -> None:
    process = ProcessState(Settings(TINY, confirms=2))
    assert [process.take_confirmation() for _ in range(3)] == [True, True, False]
    assert process.confirms_left == 0


def test_a_rule_is_reported_once() -> None:
    process = ProcessState(Settings(TINY))
    assert [process.report_once(rule) for rule in ("a/b", "a/b", "a/c")] == [True, False, True]


def test_the_programs_of_a_framework_are_remembered_and_journaled(tmp_path: Path) -> None:
    session = Session.of(Settings(TINY, tmp_path))
    own = Journal(tmp_path, "main", 60.0)
    own.begin("t", "gradients/op", None)
    with session.process.journaled(own):
        session.framework.target.observe(PROGRAM)
        entry = read(tmp_path, "main")
        assert entry is not None and entry.program == PROGRAM
        session.process.clear_journal()
    own.close()
    assert session.process.past[-1] == PROGRAM
    for _ in range(PAST + 1):
        session.process.record_program(PROGRAM)
    assert len(session.process.past) == PAST


def test_ops_without_kernels_are_removed_from_the_target_but_not_from_the_description() -> None:
    framework = FrameworkUnderTest(Settings(TINY))
    missing = next(iter(framework.target.ops))
    framework.adopt_audit(AuditResult(missing=frozenset({missing})))
    assert missing not in framework.target.ops and missing not in framework.offer.ops
    assert missing in framework.description.parts["ops"]


class Coarse(Torch):
    """PyTorch that has a dtype of few digits only."""

    dtypes = ("bfloat16",)

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dtypes = Coarse.dtypes


@pytest.mark.parametrize(
    ("framework", "requested", "drawn"),
    [
        ("torch", USUAL, ("float64", "float32")),
        ("torch", ("bfloat16", "float32"), ("float32", "bfloat16")),
        (f"{__name__}:Coarse", USUAL, ("bfloat16",)),
        (f"{__name__}:Coarse", ("float32",), ()),
    ],
)
def test_the_drawn_dtypes_are_the_requested_or_else_those_that_there_are(framework, requested, drawn) -> None:
    assert FrameworkUnderTest(Settings(framework, dtypes=requested)).drawable == drawn
