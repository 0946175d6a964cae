"""Findings in files: each kind of file that holds a program, and messages about files that hold none."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.campaigns.bisect.finding import UnusableFinding, finding
from autograd_conformance.checking.corpus import FOLDER as CORPUS
from autograd_conformance.known_differences.file import shipped
from autograd_conformance.programs.formats import codec
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.stream import write
from tests.campaigns.bisect.versions import PROGRAM, program
from tests.reporting.miniatures import FAILURE, FOOTER, HEADER, RULES

FORM = {name: value for name, value in PROGRAM.items() if name != "rule"}


def test_a_replay_file_names_its_rule_and_a_bare_program_may_be_given_one(tmp_path: Path) -> None:
    found = finding(program(tmp_path))
    assert (found.rule, codec.to_json(found.program)) == ("gradients/op", FORM)
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps(FORM))
    assert finding(bare).title == "any rule"
    assert finding(bare, "gradients/op").rule == "gradients/op"
    with pytest.raises(UnusableFinding, match=r"it holds no such finding, only:\n  1: gradients/op"):
        finding(program(tmp_path), "gradients/forward")


def test_programs_that_run_before_come_along(tmp_path: Path) -> None:
    path = tmp_path / "after.json"
    path.write_text(json.dumps({**PROGRAM, "before": [FORM]}))
    assert [codec.to_json(each) for each in finding(path).before] == [FORM]


def test_a_file_of_the_corpus_and_one_of_known_differences_hold_findings() -> None:
    found = finding(CORPUS / "digamma-digits.toml")
    assert (found.rule, found.entry) == ("gradients/op", None)
    found = finding(shipped("autograd"), "higher/op")
    assert (found.title, found.entry and found.entry.op) == ("higher/op, op pow", "pow")
    with pytest.raises(UnusableFinding, match="it holds 6 findings; choose one with --number"):
        finding(shipped("mygrad"), "errors/legal-returns")
    assert finding(shipped("mygrad"), number=4).op is None


@pytest.mark.parametrize("name", ["records.jsonl", "records.jsonl.gz"])
def test_a_failure_of_records_is_a_finding(name: str, tmp_path: Path) -> None:
    failures = tuple(replace(FAILURE, rule=rule.rule, program=FORM) for rule in RULES[:2])
    write(Report(HEADER, RULES, (), failures, FOOTER), tmp_path / "records.jsonl")
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress((tmp_path / "records.jsonl").read_bytes()))
    found = finding(tmp_path / name, RULES[1].rule)
    assert (found.rule, codec.to_json(found.program)) == (RULES[1].rule, FORM)
    assert finding(tmp_path / name, number=1).rule == RULES[0].rule


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", "{", "Expecting property name"),
        ("a.json", "[1]", "a program is a JSON object"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.toml", "program = 'a = leaf 1'", "check found_in, rule, says"),
        ("a.toml", "[[known]]\nrule = 'no/rule'", "no/rule"),
        ("a.jsonl", "{}", "a.jsonl"),
    ],
)
def test_what_holds_none_is_reported(name: str, content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UnusableFinding, match=said):
        finding(tmp_path / name)


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UnusableFinding, match=r"nowhere\.json: No such file"):
        finding(tmp_path / "nowhere.json")
