"""Replay files: their content beside the program, and hostile files."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.plugin.replay import read, replay
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Attrs, Ref
from autograd_conformance.rules.relations import codec as relations_codec
from autograd_conformance.rules.relations.relation import Alike, Related
from examples import tiny
from examples.tiny_adapter import Tiny
from tests.plugin.test_cli import ONE, SINE, WRONG, run

PROGRAM = codec.to_json(parse("a = leaf [1, 2]\nb = sin a\nbackward b with [1, 1]"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[" * 100_000 + "]" * 100_000, "it is nested too deeply to be a program"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "it is nested too deeply to be a program"),
        (json.dumps(PROGRAM | {"instructions": []}), "the program has no instructions"),
    ],
)
def test_a_hostile_file_cannot_run(content, reason, tmp_path: Path):
    path = tmp_path / "hostile.json"
    path.write_text(content)
    replayed = replay(path, InProcess(Tiny()))
    assert (replayed.verdict, replayed.reason) == ("cannot run", f"{path}: {reason}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = leaf [0, 1]; b = abs a; backward b with [1, 1]", "line 2: abs is"),
        ("a = leaf [1, 2]; b = hardtanh a; backward b with [1, 1]", "line 2: hardtanh is"),
        ("a = leaf [1, 2]; c = leaf [1, 3]; backward a with [1, 1]; b = maximum a c", "line 4: maximum is"),
        ("a = leaf [nan, 2]; b = relu a; backward b with [1, 1]", "line 2: relu is"),
    ],
)
def test_what_is_not_judged_is_not_called_fixed(text: str, said: str, tmp_path: Path):
    path = tmp_path / "kink.json"
    path.write_text(json.dumps(codec.to_json(parse(text, VOCABULARY))))
    replayed = replay(path, InProcess(Torch()))
    assert replayed.verdict == "cannot run"
    assert f"{said} not smooth at its operands, so nothing after it is judged" in (replayed.reason or "")


def test_an_error_of_which_nobody_can_tell_whose_it_is_is_not_called_fixed(tmp_path: Path):
    path = tmp_path / "whose.json"
    path.write_text(json.dumps(codec.to_json(parse("a = leaf [1, 2]; b = exp a; backward b with [1, 1]", VOCABULARY))))
    replayed = replay(path, InProcess(load("tests.frameworks.adapters.blamed:RaisesItself")))
    assert replayed.verdict == "cannot run"
    said = f"{path}: an error may be the framework's or the adapter's: RuntimeError: apply('exp'): status 7"
    assert (replayed.reason or "").startswith(said)


def test_an_op_that_the_framework_has_not_for_a_dtype_is_not_called_fixed(tmp_path: Path):
    path = tmp_path / "missing.json"
    path.write_text(json.dumps(codec.to_json(parse("a = leaf bf16 [1, 2]; b = rfft a", VOCABULARY))))
    replayed = replay(path, InProcess(Torch()))
    assert replayed.verdict == "cannot run"
    assert (replayed.reason or "").startswith(f"{path}: line 2: torch lacks a kernel: RuntimeError: Unsupported dtype")


def test_a_program_that_the_rules_do_not_specify_says_how_much_was_judged(tmp_path: Path):
    path = tmp_path / "open.json"
    for cotangent, reason in (
        ("[nan, 1]", "judged: 3 of 4 lines; the rules do not specify what the others do"),
        ("[1, 1]", None),
    ):
        text = f"a = leaf [1, 2]; b = exp a; backward b with {cotangent} retain=True; backward b with [1, 1]"
        path.write_text(json.dumps(codec.to_json(parse(text, VOCABULARY))))
        replayed = replay(path, InProcess(Torch()))
        assert (replayed.verdict, replayed.reason) == ("fixed", reason)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("a = leaf [1, 2]; c = abs a; d = abs c; backward d with [1, 1]", "fixed"),
        ("a = leaf [0, 2]; c = abs a; d = abs c; backward d with [1, 1]", "cannot run"),
    ],
)
def test_two_related_programs_are_not_called_fixed_where_they_are_not_judged(text: str, verdict: str, tmp_path: Path):
    program = parse(text, VOCABULARY)
    related = Related("relations/sum", program, program, (Alike(Ref(0), (Ref(0),)),))
    path = tmp_path / "pair.json"
    path.write_text(json.dumps(relations_codec.to_json(related)))
    assert replay(path, InProcess(Torch())).verdict == verdict


def test_a_hostile_file_is_one_line_and_a_code(tmp_path: Path):
    path = tmp_path / "hostile.json"
    path.write_text("[" * 100_000 + "]" * 100_000)
    seen = run(tmp_path / "report", f"--replay={path}")
    assert seen.code == 4
    assert seen.output.splitlines()[-1] == f"{path}: cannot run ({path}: it is nested too deeply to be a program)"


@pytest.mark.slow
def test_a_replay_file_says_what_it_is_about_and_a_test_does_in_junit_xml(tmp_path: Path):
    xml = tmp_path / "junit.xml"
    seen = run(
        tmp_path, SINE, ONE, "--hypothesis-seed=7", f"--junitxml={xml}", "-n", "1", framework=f"{WRONG}:WrongSine"
    )
    assert seen.code == 1
    assert seen.failure.replay and not Path(seen.failure.replay).is_absolute()
    form = json.loads(Path(seen.failure.replay or "").read_text())
    about = form.pop("rule"), form.pop("framework"), form.pop("seed")
    assert about == ("gradients/op", {"name": "wrong sine", "version": "1.0"}, 7)
    assert form == seen.failure.program
    again = replay(Path(seen.failure.replay or ""), InProcess(Tiny()))
    assert again.verdict == "fixed"
    cases = {case.get("name"): case for case in ElementTree.parse(xml).iter("testcase")}
    named = {
        name: {each.get("name"): each.get("value") for each in case.iter("property")} for name, case in cases.items()
    }
    one = {"rule": "lifetime/same-root-raises", "seed": "7", "framework": "wrong sine 1.0"}
    assert named == {
        "test_op[sin]": {"rule": "gradients/op", "op": "sin", "seed": "7", "framework": "wrong sine 1.0"},
        "test_default_frees": one | {"rule": named["test_default_frees"]["rule"]},
    }


@pytest.mark.slow
def test_a_folder_of_programs_is_replayed_with_a_line_for_each(tmp_path: Path):
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.json").write_text(json.dumps(PROGRAM))
    seen = run(tmp_path, f"--replay={folder}", framework=f"{WRONG}:WrongSine")
    assert seen.code == 1
    lines = seen.output.strip().splitlines()
    assert [line.partition(": ")[0] for line in lines] == [str(folder / "a.json"), str(folder / "b.json")]
    assert all(": still failing (gradients/op)" in line for line in lines)


def test_a_folder_is_replayed_in_one_process_and_goes_on_after_a_program_that_ends_it(tmp_path: Path):
    folder = tmp_path / "programs"
    folder.mkdir()
    exits = codec.to_json(parse("a = leaf [1, 2]; b = exp a; backward b with [1, 1]", VOCABULARY))
    for name, form in (("a", PROGRAM), ("b", exits), ("c", PROGRAM), ("d", PROGRAM)):
        (folder / f"{name}.json").write_text(json.dumps(form))
    seen = run(tmp_path, f"--replay={folder}", framework=f"{__name__}:Loaded")
    results = [line for line in seen.output.splitlines() if line.startswith((str(folder), "loaded"))]
    assert [line.partition(": ")[2].split(" (")[0] for line in results if line != "loaded"] == [
        "fixed",
        "still failing",
        "fixed",
        "fixed",
    ]
    assert (results.count("loaded"), seen.code) == (2, 1)


class Loaded(Tiny):
    """A framework that says when it is loaded, and whose exp ends the process."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__()
        print("loaded", flush=True)

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op == "exp":
            os._exit(7)
        return super().apply(op, operands, attrs)


def test_a_program_is_run_from_its_text(tmp_path: Path):
    text = "a = leaf [1, 2]; b = sin a; backward b with [1, 1]"
    seen = run(tmp_path, f"--program={text}", framework=f"{WRONG}:WrongSine")
    assert seen.code == 1 and "Observed: returned with another gradient" in seen.output
    assert "program-1.json: fails (gradients/op)" in seen.output
    right = run(tmp_path, f"--program={text}")
    assert (right.code, right.output.splitlines()[-1].partition(": ")[2]) == (0, "breaks no rule")


class Single(Tiny):
    """A framework without float64."""

    dtypes = ("float32",)


def test_numbers_without_a_dtype_have_one_that_the_framework_has(tmp_path: Path):
    seen = run(tmp_path, "--program=a = leaf [1, 2]; b = sin a; backward b with [1, 1]", framework=f"{__name__}:Single")
    assert seen.code == 0
    assert seen.output.count("lacks float64, so numbers without a dtype are float32\n") == 1
    program, _ = read(tmp_path / "replay" / "program-1.json")
    assert program == parse("a = leaf f32 [1, 2]; b = sin a; backward b with f32 [1, 1]", VOCABULARY)


@pytest.mark.slow
def test_a_dtype_that_is_written_stays_and_the_error_says_how_to_write_another(tmp_path: Path):
    seen = run(tmp_path, "--program=a = leaf f64 [1, 2]; b = sin a", framework=f"{__name__}:Single")
    assert seen.code == 4 and "lacks float64; write f32 for float32, as in a = leaf f32 [1, 2]" in seen.output
    assert "numbers without a dtype" not in seen.output


@pytest.mark.parametrize(("options", "said"), [(["--program=a = leef 1"], "--program: statement 1"), ([], "--replay=")])
def test_what_is_no_program_is_wrong_usage(options: list[str], said: str, tmp_path: Path):
    empty = tmp_path / "empty"
    empty.mkdir()
    seen = run(tmp_path, *(options or [f"--replay={empty}"]))
    assert seen.code == 4 and said in seen.output
