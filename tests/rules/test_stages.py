"""Stages: each rule and each test belongs to exactly one, and what needs a broken one waits."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from autograd_conformance.package.places import SUITES
from autograd_conformance.plugin.demands import turn
from autograd_conformance.programs.slugs import family
from autograd_conformance.rules.catalogue import FAMILIES, RULES
from autograd_conformance.rules.stages import NUMBER, STAGES, place_in_stage, stage_of, stage_of_test, waiting_for

ROOT = Path(__file__).parents[2]


@cache
def collected() -> tuple[str, ...]:
    """The names of the files of all tests of the suites, in the order in which the tests run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", "suites"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return tuple(line.partition("::")[0].rpartition("/")[2] for line in lines if "::" in line)


def test_each_rule_has_exactly_one_stage() -> None:
    for rule in RULES:
        named = [stage for stage in STAGES if rule in stage.rules]
        of_family = [stage for stage in STAGES if family(RULES[rule].slug) in stage.families]
        assert len(named) <= 1 and len(of_family) == 1, rule
        assert stage_of(rule) is (named or of_family)[0], rule


def test_a_stage_has_rules_and_needs_earlier_stages_only() -> None:
    assert {stage.name for stage in STAGES} == {stage_of(rule).name for rule in RULES}
    assert sorted(each for stage in STAGES for each in stage.families) == sorted(FAMILIES)
    assert len(NUMBER) == len(STAGES)
    for stage in STAGES:
        assert all(NUMBER[name] < NUMBER[stage.name] for name in stage.needs)


def test_each_suite_that_a_stage_names_is_there() -> None:
    named = [suite for stage in STAGES for suite in stage.suites]
    assert len(named) == len(set(named))
    assert all((SUITES / f"test_{suite}.py").exists() for suite in named)


def test_the_corpus_is_one_of_the_sequences_and_articles_are_last() -> None:
    assert stage_of_test("gradients/graph", "corpus").name == "sequences"
    assert stage_of_test("gradients/graph", "recurrent").name == "first gradients"
    assert STAGES[-1].name == "articles"


def test_all_collected_tests_are_in_the_order_of_their_stages() -> None:
    files = collected()
    assert len(files) > 1_500
    assert files[0] == "test_gradients.py" and files[-1] == "test_articles.py"
    ends = {name: len(files) - 1 - files[::-1].index(name) for name in files}
    assert ends["test_gradients.py"] < files.index("test_lifetime.py") < files.index("test_hooks.py")
    assert ends["test_hooks.py"] < files.index("test_higher_ops.py") < files.index("test_optimizers.py")
    assert ends["test_training.py"] < files.index("test_corpus.py") < files.index("test_sequences.py")


def test_a_test_that_is_not_the_suites_comes_first() -> None:
    config = SimpleNamespace(stash={})
    rule = SimpleNamespace(args=("gradients/forward",))
    own = SimpleNamespace(config=config, path=Path("test_own.py"), get_closest_marker=lambda _: None)
    ours = SimpleNamespace(config=config, path=SUITES / "test_gradients.py", get_closest_marker=lambda _: rule)
    assert turn(own) < turn(ours)  # type: ignore[arg-type]


def test_what_needs_a_broken_stage_waits_for_the_first_one() -> None:
    assert waiting_for(frozenset()) == {}
    assert waiting_for(frozenset({"hooks"})) == {"hooks": "hooks", "sequences": "hooks"}
    found = waiting_for(frozenset({"accumulation and clearing"}))
    assert set(found.values()) == {"accumulation and clearing"}
    assert {*found} == {
        "accumulation and clearing",
        "lifetime and retain_graph",
        "optimizers and networks",
        "sequences",
        "articles",
    }
    assert {*waiting_for(frozenset({"forward values"}))} == {*NUMBER}
    both = waiting_for(frozenset({"first gradients", "hooks"}))
    assert both["hooks"] == "first gradients", "hooks could not work without gradients"


def test_the_documentation_lists_the_stages() -> None:
    page = (ROOT / "docs" / "reading_a_report.md").read_text()
    for number, stage in enumerate(STAGES, 1):
        needs = ", ".join(f"{NUMBER[name] + 1}" for name in stage.needs)
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {number} | {stage.name} |"))
        assert row.endswith(f"| {needs} |")
        assert all(name in row for name in (*stage.rules, *stage.families, *stage.suites))


def test_a_stage_begins_with_its_first_family() -> None:
    """Otherwise the first failure of a cause would come from a test whose programs are longer."""
    found = [place_in_stage(rule) for rule in ("lifetime/same-root-raises", "errors/recovers", "memory/freed")]
    assert found == [0, 1, 2]
    assert place_in_stage("gradients/forward") == 0
