"""Nothing complains about the negative controls: not the suite, and not PyTorch."""

from __future__ import annotations

import pytest

from frameworks.runner import run
from frameworks.torch_eager import TorchEager
from rules.judge import judge
from rules.observations import Raised
from rules.ops.writes import APPLIED
from rules.reference.values import Reference
from rules.text import parse
from tests.controls import CONTROLS, PAGE, Control, page

TORCH = TorchEager()


@pytest.mark.parametrize("control", CONTROLS, ids=[control.looks for control in CONTROLS])
def test_it_is_right(control: Control):
    program = parse(control.program, APPLIED)
    observation = run(program, TORCH)
    judgement = judge(program, observation, Reference() if program.stateful else Reference(program), TORCH.claims)
    assert judgement.violation is None
    assert not judgement.lost
    raised = [at for at, seen in enumerate(observation) if isinstance(seen.outcome, Raised)]
    assert len(raised) == ("has to raise" in control.why)


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.controls"
