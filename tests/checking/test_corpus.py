"""Each program of the corpus is valid, exercises its rule, and violates no rule except for PyTorch's known
differences.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.corpus import MalformedCorpusFile, corpus, main
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import known
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.reference.reference import Reference
from examples.tiny_adapter import Tiny

FINDS = corpus()
GOOD = {
    "rule": '"accumulation/adds"',
    "found_in": '"Some 1.0"',
    "says": '"It was lost."',
    "program": '"a = leaf 1; b = sin a; backward b"',
}


@pytest.mark.parametrize("find", FINDS, ids=lambda find: find.name)
def test_each_is_a_sound_program(find) -> None:
    assert Reference(find.program).values
    check = Check(InProcess(Torch()).saved_tensor_counter or InProcess(Torch()), known=known("torch", device="cpu"))
    check(find.program)
    assert check.programs == 1 and not unsupported_by(find.program, InProcess(Torch()))


def test_what_was_found_once_is_found_again_where_nobody_knows_of_it() -> None:
    (find,) = (each for each in FINDS if each.name == "stacked-leaves-share-a-gradient")
    with pytest.raises(RuleViolated) as caught:
        Check(InProcess(Torch()))(find.program)
    assert caught.value.violation.rule == find.rule
    assert unsupported_by(find.program, InProcess(Tiny())) == {"the op stack"}


@pytest.mark.parametrize(
    ("steps", "missing"),
    [
        ("step a sgd lr=0.125 momentum=0.5", set()),
        ("step a sgd lr=0.125 foreach=True", {Capability.FOREACH.value}),
        ("step a sgd lr=0.125 fused=True", {Capability.FUSED.value}),
        ("step a adam lr=0.125 amsgrad=True", {"adam's amsgrad"}),
        ("step a rmsprop lr=0.125", {"the optimizer rmsprop"}),
    ],
)
def test_settings_and_optimizers_that_a_framework_does_not_know_are_lacking(steps: str, missing: set[str]) -> None:
    class Usual(Tiny):
        capabilities = Tiny.capabilities | {Capability.OPTIMIZERS}
        step = optimizer = None  # nothing is run

    assert unsupported_by(parse(f"a = leaf [1]; {steps}", VOCABULARY), InProcess(Usual())) == missing


def test_no_program_is_there_twice() -> None:
    assert len({render(find.program) for find in FINDS}) == len(FINDS) > 50


def written(folder: Path, **changed: str | None) -> Path:
    form = {name: text for name, text in {**GOOD, **changed}.items() if text is not None}
    (folder / "it.toml").write_text("".join(f"{name} = {text}\n" for name, text in form.items()))
    return folder


def test_one_file_is_one_program(tmp_path: Path) -> None:
    (find,) = corpus(written(tmp_path, link='"https://example.org"'))
    assert (find.name, find.rule, len(find.program), find.link) == (
        "it",
        "accumulation/adds",
        3,
        "https://example.org",
    )


def test_a_replay_file_becomes_a_file_of_the_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = parse("a = leaf [1, 2]; no_grad: b = sin a; c = multiply a a; backward c with [1, 1]", VOCABULARY)
    about = {"rule": "accumulation/adds", "framework": {"name": 'so"me', "version": "1.0"}, "seed": 3}
    (tmp_path / "replay.json").write_text(json.dumps(about | codec.to_json(program)))
    assert main([str(tmp_path / "replay.json")]) == 0
    (tmp_path / "it.toml").write_text(capsys.readouterr().out.replace('says = ""', 'says = "It was lost."'))
    (find,) = corpus(tmp_path)
    assert (find.rule, find.found_in, find.program) == ("accumulation/adds", 'so"me 1.0', program)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"rule": '"no/such"'}, "no rule 'no/such'"),
        ({"program": '"a = leaf 1; b = nosuch a"'}, "nosuch"),
        ({"program": "3"}, "it.toml"),
        ({"says": None}, "check says"),
        ({"found_in": '" "'}, "check found_in"),
        ({"more": '"x"'}, "check more"),
        ({"rule": "accumulation"}, "it.toml"),
    ],
)
def test_what_is_no_program_of_the_corpus_is_named(tmp_path: Path, changed: dict[str, str | None], what: str) -> None:
    with pytest.raises(MalformedCorpusFile, match=what):
        corpus(written(tmp_path, **changed))
