"""Record files of an earlier version are read, and their totals are unchanged, with the current slugs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.reporting.records.encoding import encode
from autograd_conformance.reporting.records.renamed_rules import RENAMED, with_current_slugs
from autograd_conformance.reporting.records.stream import read
from autograd_conformance.reporting.render import markdown
from autograd_conformance.rules.catalogue import RULES

FOLDER = Path(__file__).with_name("records")

FILES = (
    #  file, conclusion, rules passed and applicable, programs, rules that are broken
    ("torch", "no verdict", (44, 126), 1271, set()),
    ("faulty", "not conformant", (27, 126), 563, {"errors/atomic"}),
    ("example", "no verdict", (25, 51), 600, set()),
)
"""PyTorch on two suites, including the one for articles; a faulty framework; and the example's adapter."""


NEWER = {"autocast"}
"""Families of rules that are younger than the files."""


def path(name: str) -> Path:
    """Path of a file."""
    return FOLDER / f"{name}.jsonl"


@pytest.mark.parametrize(("name", "conclusion", "rules", "programs", "broken"), FILES)
def test_a_file_comes_to_what_it_came_to(
    name: str, conclusion: str, rules: tuple[int, int], programs: int, broken: set[str]
) -> None:
    report = read(path(name))
    summary = summarize(report)
    assert (summary.conclusion, summary.programs) == (conclusion, programs)
    assert (summary.total.passed, summary.total.applicable) == rules
    assert {failure.rule for failure in report.failures} == broken
    assert markdown.render(report)


@pytest.mark.parametrize("name", [name for name, *_ in FILES])
def test_a_file_names_rules_by_todays_slugs(name: str) -> None:
    report = read(path(name))
    named = {rule.rule for rule in report.rules}
    assert named <= set(RULES)
    assert [rule.rule for rule in report.rules] == [slug for slug in RULES if slug in named]
    assert {rule.family for rule in report.rules} == {rule.family for rule in RULES.values()} - NEWER
    assert {result.rule for result in report.results} <= set(RULES)
    assert {slug for result in report.results for slug in result.exercised} <= set(RULES)
    assert {each.rule for failure in report.failures for each in failure.allowed} <= set(RULES)
    assert {entry.rule for entry in report.known} <= set(RULES)


@pytest.mark.parametrize("name", [name for name, *_ in FILES])
def test_a_file_is_written_back_as_it_was(name: str) -> None:
    report, lines = read(path(name)), path(name).read_text(encoding="utf-8").splitlines()
    header, *_, footer = (with_current_slugs(json.loads(line)) for line in lines)
    assert (encode(report.header), encode(report.footer)) == (header, footer)  # type: ignore[arg-type]
    records = [with_current_slugs(json.loads(line)) for line in lines]
    for kind, held in (("rule", report.rules), ("result", report.results), ("failure", report.failures)):
        assert [encode(each) for each in held] == [each for each in records if each["record"] == kind]


def test_old_slugs_are_in_the_files() -> None:
    text = "".join(path(name).read_text(encoding="utf-8") for name, *_ in FILES)
    assert all(f'"{old}"' in text for old in RENAMED)
