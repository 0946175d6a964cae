"""A test that the budget cut short runs again if other tests leave enough of it."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path

from autograd_conformance.checking.budget import CutTest, Share
from autograd_conformance.plugin.recording.run_state import merged
from tests.plugin.test_cli import run
from tests.reporting.miniatures import PASSES

PLANNED = 60
"""Number of programs of a test in the quick profile."""

TESTS = (
    "suites/test_accumulation.py::test_adds",
    "suites/test_accumulation.py::test_first",
    "suites/test_writes.py::test_nothing_else",
    "suites/test_writes.py::test_error_or_recorded",
    "suites/test_relations.py::test_orders",
)
"""The tests of writes do not apply to a framework without writes, which is known only when they begin."""


def test_a_test_that_was_cut_short_runs_again(tmp_path: Path) -> None:
    seen = run(tmp_path, *TESTS, "--programs=330", "--hypothesis-seed=1", "-n0", framework="examples.tiny_adapter:Tiny")
    results = {each.test: each for each in seen.report.results}
    assert list(results) == [*TESTS] and len(seen.report.results) == len(TESTS)
    first = results[TESTS[0]]
    assert first.programs > PLANNED >= first.exercised["accumulation/adds"], "more than one run of it may have"
    assert seen.report.footer is not None
    assert sum(each.programs for each in seen.report.results) == seen.report.footer.programs <= 330


def test_two_runs_of_a_test_have_one_result() -> None:
    old = replace(PASSES[0], verdict="cut short", programs=5, exercised={"a": 3, "b": 1}, judged=8, seconds=2.0)
    new = replace(old, verdict="pass", programs=9, exercised={"a": 6}, judged=20, seconds=3.0)
    both = merged(old, new)
    assert (both.verdict, both.programs, both.judged, both.seconds) == ("pass", 14, 28, 5.0)
    assert both.exercised == {"a": 6, "b": 1}


def test_a_test_runs_again_only_if_it_comes_farther() -> None:
    cut, now = CutTest(exercised=3, programs=10, seconds=4.0), time.monotonic()
    assert cut.comes_farther(Share(15, math.inf)) and not cut.comes_farther(Share(14, math.inf))
    assert cut.comes_farther(Share(math.inf, now + 7)) and not cut.comes_farther(Share(math.inf, now + 5))
