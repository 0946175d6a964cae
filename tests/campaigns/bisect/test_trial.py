"""Versions whose process ends, or hangs, in the checks of the adapter: the program decides, not the checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograd_conformance.campaigns.bisect.finding import Finding
from autograd_conformance.campaigns.bisect.trial import run_trial
from autograd_conformance.frameworks.remote import connection
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from tests.campaigns.bisect.versions import DIES, FRAMEWORK, interpreter, sources

SINE = "a = leaf [1, 2]; b = sin a; backward b with [1, 1]"
HANGS = "__import__('time').sleep(60)"


EXP = SINE.replace("sin", "exp")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sine", "exp", "program", "outcome", "detail"),
    [
        (DIES, "g * y", SINE, "bad", "the process died of SIGABRT"),
        (DIES, "g * y", EXP, "good", "it passes"),
        (DIES, "g + y", EXP, "skipped", "sent no handshake: the process died of SIGABRT"),
        (HANGS, "g * y", SINE, "bad", "did not come back in time (2 s)"),
        (HANGS, "g * y", EXP, "good", "it passes"),
    ],
)
def test_the_program_decides_where_the_checks_end_the_process(
    sine: str, exp: str, program: str, outcome: str, detail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STARTING", 5.0)
    files = sources("1.0", sine)
    files["examples/tiny.py"] = files["examples/tiny.py"].replace("g * y,", f"{exp},")
    finding = Finding(parse(program, VOCABULARY), "gradients/op")
    trial = run_trial(finding, FRAMEWORK, str(interpreter(tmp_path, files)), "cpu", 2.0)
    assert (trial.outcome, detail in trial.detail) == (outcome, True), trial
