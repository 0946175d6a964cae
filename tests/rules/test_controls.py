"""Nothing complains about the negative controls: not the suite, and not PyTorch."""

from __future__ import annotations

import pytest

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Raised
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judge import judge
from tests.rules.controls import CONTROLS, PAGE, Control, page

TORCH = Torch()


@pytest.mark.parametrize("control", CONTROLS, ids=[control.looks for control in CONTROLS])
def test_a_negative_control_passes(control: Control):
    program = parse(control.program, VOCABULARY)
    observation = run(program, TORCH)
    judgement = judge(program, observation, Reference() if program.stateful else Reference(program), TORCH.capabilities)
    assert judgement.violation is None
    assert not judgement.unspecified
    raised = [at for at, observed in enumerate(observation) if isinstance(observed.outcome, Raised)]
    assert len(raised) == ("has to raise" in control.why)


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.rules.controls"
