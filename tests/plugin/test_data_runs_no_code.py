"""Files are data: code instead of an attribute is refused in every kind of file with programs, and never runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autograd_conformance.adapters.jax.adapter import Jax
from autograd_conformance.campaigns.bisect.finding import UnusableFinding, findings
from autograd_conformance.checking import corpus
from autograd_conformance.frameworks.remote.worker import Worker
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import MalformedKnownDifferences, read
from autograd_conformance.plugin.replay import replay
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reporting.records.stream import InvalidReport, load
from examples.tiny_adapter import Tiny
from tests.reporting.miniatures import FAILURE, HEADER, RULES, invalid

GOOD = codec.to_json(parse("a = leaf [1, 2]; b = sin a; g = grad b wrt a with [1, 1]"))


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file that exists if code has run."""
    return tmp_path / "PWNED"


def hostile(mark: Path, **attrs: Any) -> dict[str, Any]:
    """A program with code instead of an attribute."""
    code = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    leaf = {"do": "leaf", "shape": [2], "dtype": "float64", "data": [1.0, 2.0]}
    select = {"do": "apply", "op": "select", "args": ["%0"], "attrs": {"dim": 0, "index": code, **attrs}}
    return {"version": codec.VERSION, "instructions": [leaf, select]}


def index(bad: dict[str, Any]) -> Any:
    """The code in a program."""
    return bad["instructions"][1]["attrs"]["index"]


def witness(mark: Path) -> str:
    return f"a = leaf [1, 2]; b = select a dim=0 index=\\\"__import__('pathlib').Path({str(mark)!r}).touch()\\\""


def related(first: Any, second: Any) -> dict[str, Any]:
    """Two related programs."""
    return {
        "relation": "relations/sum", "first": first, "second": second, "alike": [["%1", ["%1"], 1.0]], "same": [],
        "exact": False, "torn": False,
    }  # fmt: skip


PLACES = {
    "alone": lambda bad: bad,
    "before": lambda bad: GOOD | {"before": [bad]},
    "before, the last": lambda bad: GOOD | {"before": [GOOD, bad]},
    "the first of two": lambda bad: related(bad, GOOD),
    "the second of two": lambda bad: related(GOOD, bad),
    "a failure record": lambda bad: {"record": "failure", "program": bad},
    "a failure record, before": lambda bad: {"record": "failure", "program": GOOD, "before": [bad]},
}


@pytest.mark.parametrize("place", PLACES)
def test_a_replay_file_with_code_in_it_cannot_run(place: str, mark: Path, tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(PLACES[place](hostile(mark))))
    outcome = replay(path, InProcess(Jax()))
    assert outcome.verdict == "cannot run"
    assert "is not a valid attribute value" in str(outcome.reason)
    assert not mark.exists()


@pytest.mark.parametrize("place", ["alone", "before", "the first of two"])
def test_a_bisection_refuses_it(place: str, mark: Path, tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(PLACES[place](hostile(mark))))
    with pytest.raises(UnusableFinding, match="is not a valid attribute value"):
        findings(path)
    assert not mark.exists()


def test_a_known_difference_with_code_in_its_witness_is_refused(mark: Path, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(f'[[known]]\nrule = "gradients/op"\nop = "select"\nreason = "-"\nwitness = "{witness(mark)}"\n')
    with pytest.raises(MalformedKnownDifferences, match="is not a valid attribute value"):
        read(path)
    assert not mark.exists()


def test_a_file_of_the_corpus_with_code_in_it_is_refused(mark: Path, tmp_path: Path) -> None:
    path = tmp_path / "find.toml"
    program = f'program = "{witness(mark)}"'
    path.write_text(f'rule = "gradients/op"\nfound_in = "Some 1.0"\nsays = "It was lost."\n{program}\n')
    with pytest.raises(corpus.MalformedCorpusFile, match="is not a valid attribute value"):
        corpus.read(path)
    assert not mark.exists()


@pytest.mark.parametrize("program", [
    lambda mark: hostile(mark),
    lambda mark: GOOD | {"before": [hostile(mark)]},
    lambda mark: related(GOOD, hostile(mark)),
    lambda mark: GOOD | {"a b": 1},
])  # fmt: skip
def test_a_record_file_with_code_in_a_program_is_refused(program: Any, mark: Path, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(invalid(HEADER) + b"".join(map(invalid, RULES)) + invalid(FAILURE, program=program(mark)))
    with pytest.raises(InvalidReport, match=r"\$\.program"):
        load(path, allow_truncated=True)


@pytest.mark.parametrize("asked", [
    lambda bad: {"do": "run", "id": 1, "program": bad},
    lambda bad: {"do": "run", "id": 1, "program": bad, "printed": True},
    lambda bad: {"do": "print", "id": 1, "op": "select", "operands": ["x"], "attrs": bad["instructions"][1]["attrs"]},
    lambda bad: {"do": "print", "id": 1, "op": "sin", "operands": [index(bad)], "attrs": {}},
])  # fmt: skip
def test_a_worker_refuses_it(asked: Any, mark: Path) -> None:
    worker = Worker("autograd_conformance.adapters.jax.adapter:Jax")
    hello = {"do": "hello", "protocol": 1, "device": "cpu", "counts_saved": False, "plainer": None}
    assert "error" not in worker.reply(hello)
    answer = worker.reply(asked(hostile(mark)))
    assert "is no" in answer["error"] or "attribute index of select is a whole number" in answer["error"]
    assert not mark.exists()


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ({"version": 3, "instructions": []}, "the program has no instructions"),
        (codec.to_json(parse("a = leaf [1, 2]; b = cholesky_solve_that_is_missing a")), "unknown op"),
        (codec.to_json(parse("a = leaf [1, 2]; b = leaf [1, 2, 3]; c = add a b")), "the program is not well-formed"),
        (codec.to_json(parse("a = leaf [1, 2]; b = scatter_add a a dim=0 index=(0, 0)")), "jax lacks the op scatter"),
        (codec.to_json(parse("a = leaf [1, 2]; b = sin a; backward b with [1, 1]")), "jax lacks"),
    ],
)  # fmt: skip
def test_what_has_to_run_before_and_cannot_is_not_passed_over(before: Any, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(GOOD | {"before": [before]}))
    outcome = replay(path, InProcess(Jax()))
    assert outcome.verdict == "cannot run"
    assert reason in str(outcome.reason)


def test_what_has_to_run_before_and_can_is_run(tmp_path: Path) -> None:
    path, ran = tmp_path / "replay.json", []
    good = codec.to_json(parse("a = leaf [1, 2]; b = sin a; backward b with [1, 1]"))
    path.write_text(json.dumps(good | {"before": [good, good]}))
    assert replay(path, InProcess(Tiny(), ran.append)).verdict == "fixed"
    assert len(ran) == 3
