"""Completeness of rules: each is exercised by an instruction, checked, explained, tested by a suite, and broken by a
mutant.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from functools import cache

import pytest

import autograd_conformance.suites as suites
from autograd_conformance.checking.other_runs import other_runs
from autograd_conformance.failures.related import WHY
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.package.places import PACKAGE
from autograd_conformance.programs import slugs
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reporting.records.renamed_rules import RENAMED
from autograd_conformance.rules.catalogue import FAMILIES, RULES, Level
from autograd_conformance.rules.explanation.context import context_of
from autograd_conformance.rules.explanation.explain import explain
from autograd_conformance.rules.judge.judge import judge
from evaluation.mutants import MUTANTS
from evaluation.mutants.kill import TORCH
from tests.rules.violations import VIOLATIONS

ROOMS = sorted(path for path in PACKAGE.iterdir() if path.is_dir())
SLUG = re.compile(rf"(?:{'|'.join(FAMILIES)})/[a-z-]+")


@cache
def trees() -> tuple[tuple[str, ast.Module], ...]:
    """The syntax tree of each file of the product, with the file's path."""
    files = (path for room in ROOMS for path in sorted(room.rglob("*.py")))
    return tuple((path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in files)


@cache
def literals() -> tuple[tuple[str, str], ...]:
    """Every text in the product's code that looks like a rule's slug, with the file that contains it."""
    found = ((node, path) for path, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return tuple((n.value, path) for n, path in found if isinstance(n.value, str) and SLUG.fullmatch(n.value))


@cache
def constants() -> tuple[tuple[str, str], ...]:
    """Every use of a constant of `programs.slugs` in the product's code: its value, and the file that contains it."""
    found = ((node, path) for path, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    named = ((n.attr, path) for n, path in found if isinstance(n.value, ast.Name) and n.value.id == "slugs")
    return tuple((str(getattr(slugs, name)), path) for name, path in named)


def named_in(*places: str) -> set[str]:
    """The rules that are named in these folders or files."""
    return {slug for slug, path in (*literals(), *constants()) if path.startswith(places)}


def suite_rules() -> set[str]:
    """The rules that the suites' tests are about."""
    modules = (
        importlib.import_module(f"{suites.__name__}.{each.name}") for each in pkgutil.iter_modules(suites.__path__)
    )
    tests = (test for module in modules for test in vars(module).values())
    return {mark.args[0] for test in tests for mark in getattr(test, "pytestmark", ()) if mark.name == "rule"}


RELATIONS = "strategies/relations/", "rules/relations/casts.py"
"""Where pairs of programs that must agree are made; such a pair exercises its rule."""

KNOWN = {entry.rule for entry in TORCH}
"""Rules that PyTorch breaks as a known difference, which has a witness; no mutant is needed."""

UNNAMED = {
    "lifetime/default-frees": "it is freed like any other graph: lifetime/same-root-raises or freed-subgraph-raises",
    "sequences/history": "an error in a long program breaks the rule about that kind of error",
}
"""Rules that are exercised but never reported, because a more specific rule always is."""


def test_every_rule_is_complete() -> None:
    has = {
        "exercised": named_in("tape/", "rules/judge/", *RELATIONS),
        "checked": {*VIOLATIONS, *named_in(*RELATIONS), *KNOWN, *UNNAMED},
        "explained": {*VIOLATIONS, *WHY, *KNOWN, *UNNAMED},
        "tested in suites/": suite_rules(),
        "broken by a mutant": {rule for mutant in MUTANTS.values() for rule in mutant.killed_by} | KNOWN,
    }
    judged = {slug for slug, rule in RULES.items() if rule.level is not Level.INFO}
    missing = {what: sorted(judged - rules) for what, rules in has.items() if judged - rules}
    assert not missing


def test_rules_that_are_only_reported_are_exercised() -> None:
    reported = {slug for slug, rule in RULES.items() if rule.level is Level.INFO}
    assert reported <= named_in("tape/", "rules/judge/", "suites/")


def test_the_rules_that_code_names_are_in_the_catalogue() -> None:
    old = {(slug, "reporting/records/renamed_rules.py") for slug in RENAMED}
    assert {(slug, path) for slug, path in literals() if slug not in RULES} <= old


def test_each_slug_has_a_row_in_the_catalogue_and_each_family_a_rule() -> None:
    named = {name: value for name, value in vars(slugs).items() if name.isupper()}
    assert sorted(named.values()) == sorted((*RULES, *FAMILIES))
    assert all(name == re.sub("[/-]", "_", value).upper() for name, value in named.items())


def test_code_names_rules_by_their_constants() -> None:
    spelt = {path for _, path in literals() if not path.startswith("suites/")}
    analysis = {f"reporting/analysis/{name}.py" for name in ("grouping", "signature_keys", "widespread")}
    reports = {"reporting/records/renamed_rules.py", *analysis}  # which import no constants
    assert spelt == {"programs/slugs.py", *reports}


@pytest.mark.parametrize(("rule", "mutant", "text"), [(rule, *row) for rule, row in VIOLATIONS.items()])
def test_a_violation_names_its_rule_and_is_explained(rule: str, mutant: str, text: str) -> None:
    program, framework = parse(text, VOCABULARY), MUTANTS[f"mutants/{mutant}"]()
    observation = run(program, framework)
    others = other_runs(InProcess(framework))
    found = judge(program, observation, Reference(program), framework.capabilities, others=others).violation
    assert found is not None
    assert found.rule == rule
    notes = explain(context_of(program, observation, Reference(program), framework.capabilities, found))
    assert notes[-1][0] == found.at + 1
    assert notes[-1][1]
