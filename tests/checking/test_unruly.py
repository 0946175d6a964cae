"""Errors that cannot be recorded as they are, and adapters that raise outside of a program, end no run and change no
verdict.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.environment import interrupts
from autograd_conformance.frameworks.loading.registry import AdapterError, load
from autograd_conformance.frameworks.probing.probe import probe
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.remote import protocol
from autograd_conformance.frameworks.running.runner import run as observed
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Raised
from tests.plugin.test_cli import ONE, run, verdicts, written

UNRULY = "tests.frameworks.adapters.unruly"
TWICE = "a = leaf [1, 2]; b = exp a; c = sum b dim=(0,) keepdim=False; backward c; backward c"


def last(name: str) -> Raised:
    adapter = load(f"{UNRULY}:{name}")
    smoke(adapter)
    outcome = observed(parse(TWICE), adapter)[-1].outcome
    assert isinstance(outcome, Raised)
    return outcome


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("HalfACharacter", r"cannot open t\udce9.bin"),
        ("EscapesTerminal", r"\x1b[31mred\x00"),
        ("LongText", "characters left out"),
        ("OddName", "odd"),
    ],
)
def test_a_message_is_made_harmless(name, message):
    outcome = last(name)
    assert message in outcome.message
    assert f"{outcome.type}{outcome.message}".encode().isascii()
    assert len(outcome.message) <= 4_000


@pytest.mark.parametrize("name", ["CircleOfOne", "CircleOfTwo", "CircleOfThree", "CircleOfContexts", "CircleOfGroups"])
def test_the_expected_error_is_the_expected_error_whatever_it_was_raised_from(name):
    assert last(name).kind.value == "graph freed"


@pytest.mark.parametrize("name", ["EndlessCauses", "SecretiveCauses"])
def test_what_an_error_was_raised_from_may_have_no_end(name):
    assert last(name).kind.value == "unknown"


def test_a_hooks_error_is_found_in_a_group():
    assert last("HooksInGroup").kind.value == "hook raised"


RAISED = {
    "SkipsInReset": "reset() raised Skipped: not now",
    "InterruptsInReset": "reset() raised KeyboardInterrupt: ",
    "ExitsInReset": "reset() raised SystemExit: 0",
    "EndsPytestInReset": "reset() raised Exit: enough",
    "ClosesInPrepare": "prepare() raised GeneratorExit: ",
    "SkipsInPrepare": "prepare() raised Skipped: not now",
    "HalfInPrepare": r"prepare() raised OSError: t\udce9.bin",
    "ClassifySkips": "classify() of GraphFreed raised Skipped: not today",
}


def _often(adapter: Adapter) -> None:
    """Runs a program several times, since some exceptions come late."""
    for _ in range(10):
        observed(parse(TWICE), adapter)


@pytest.mark.parametrize("name", RAISED)
def test_whatever_is_raised_outside_of_a_program_is_the_adapters_error(name):
    interrupts.watch()
    adapter = load(f"{UNRULY}:{name}")
    smoke(adapter)
    with pytest.raises(AdapterError, match=re.escape(RAISED[name])):
        _often(adapter)


@pytest.mark.parametrize("name", [name for name in RAISED if name.endswith("Reset")])
def test_an_adapter_may_raise_in_each_reset_of_the_probe(name):
    """`SystemExit(0)` would end the run with exit code 0."""
    interrupts.watch()
    made = 0
    for calls in range(20):
        adapter: Any = load(f"{UNRULY}:{name}")
        adapter.calls = 7 - calls  # it raises after that many calls from here
        try:
            probe(adapter)
        except AdapterError as error:
            assert RAISED[name] in str(error)
            made += 1
    assert made >= 5


def test_what_counts_saved_tensors_and_what_draws_numbers_may_raise():
    interrupts.watch()
    with pytest.raises(AdapterError, match=re.escape("saved_tensor_counter() raised Skipped: not today")):
        _ = InProcess(load(f"{UNRULY}:CounterSkips")).saved_tensor_counter
    generator = InProcess(load(f"{UNRULY}:RandomExits")).random
    assert generator is not None
    with pytest.raises(AdapterError, match=re.escape("random.seed() raised SystemExit: 0")):
        generator.seed(0)


# -- over the wire -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["t\udce9.bin", "\x1b[31m", "x" * 100_000, "\ud83d"])
def test_a_message_over_the_wire_is_made_harmless(text):
    seen = [{"returned": [{"shape": [], "dtype": "float64", "data": [1.0]}]}, {"raised": {}}]
    seen[1]["raised"] = {"kind": "UNKNOWN", "type": text, "message": text}  # type: ignore[dict-item]
    line = json.dumps({"id": 1, "observation": seen}).encode()
    outcome = protocol.observation(line, 1, parse("a = leaf 1; b = exp a"))[1].outcome
    assert isinstance(outcome, Raised)
    assert outcome.message.encode().isascii()
    assert len(outcome.message) <= 4_000


@pytest.mark.parametrize("text", ["t\udce9.bin", "x" * 100_000])
def test_a_refusal_over_the_wire_is_made_harmless(text):
    with pytest.raises(protocol.ErrorReply) as refused:
        protocol.reply(json.dumps({"id": 1, "error": text}).encode(), 1)
    str(AdapterError(str(refused.value))).encode()
    assert len(str(AdapterError(str(refused.value)))) <= 4_000


def test_a_whole_character_in_two_halves_stays_whole():
    assert protocol.reply(b'{"id": 1, "code": "\\ud83d\\ude00 \\udce9"}', 1)["code"] == "\U0001f600 \\udce9"


# -- whole runs --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["HalfACharacter", "EscapesTerminal", "LongText", "OddName"])
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_run_tells_of_an_odd_error(name, workers, tmp_path):
    seen = run(tmp_path, ONE, "-n", workers, framework=f"{UNRULY}:{name}")
    assert seen.code == 1, seen.output
    assert verdicts(seen.report) == {ONE: "fail"}
    assert "INTERNALERROR" not in seen.output


@pytest.mark.slow
@pytest.mark.parametrize("name", ["WarnsHalf", "WarnsOddly", "CircleOfTwo"])
def test_odd_warnings_and_circles_change_no_verdict(name, tmp_path):
    seen = run(tmp_path, ONE, "-n", "1", framework=f"{UNRULY}:{name}")
    assert seen.code == 0, seen.output
    assert verdicts(seen.report) == {ONE: "pass"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*list(RAISED)[:7], "RandomExits", "CounterSkips"])
@pytest.mark.parametrize("workers", ["0", "1"])
def test_an_adapters_error_outside_of_a_program_ends_the_run(name, workers, tmp_path):
    seen = run(tmp_path, ONE, "suites/test_detach.py", "-n", workers, framework=f"{UNRULY}:{name}")
    assert seen.code == 10, seen.output
    assert "adapter error: " in seen.output
    assert "Traceback" not in seen.output


@pytest.mark.slow
def test_a_replay_file_that_is_cut_off_is_said_in_words(tmp_path):
    path = tmp_path / "cut.json"
    path.write_text(written(tmp_path / "whole.json", "a = leaf 1").read_text()[:-3] + '"no')
    seen = run(tmp_path, f"--replay={path}")
    assert seen.code == 4
    assert "at at" not in seen.output
