"""Faulty frameworks on which a run must not end with exit code 0: mutants, and misbehaving adapters."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import autograd_conformance.suites as suites
from autograd_conformance.plugin.options import load_profiles
from evaluation.mutants import MUTANTS
from evaluation.mutants.generated import GENERATED
from evaluation.mutants.mutant import Faulty
from tests.frameworks.adapters import misbehaving

ABOUT_ONE_OP = frozenset(("gradients/op", "gradients/forward", "higher/op", "higher/op-third"))
"""The rules whose violations by an op the audit finds before any test begins."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A faulty framework, with the tests that cover its fault."""

    framework: str
    """The framework, as `--framework` takes it."""
    tests: tuple[str, ...]
    """The tests of a quick run that cover the fault; none: all tests."""
    audited: frozenset[str] | None = None
    """The ops that the run has to audit; PyTorch's audit is used for the others. None means all ops."""


def by_hand() -> Iterator[Subject]:
    """All handmade mutants."""
    for mutant in MUTANTS.values():
        about_one = not ABOUT_ONE_OP.isdisjoint(mutant.killed_by)
        yield Subject(_named(mutant), _tests(mutant.killed_by), None if about_one else frozenset())


def generated(number: int, seed: int = 0) -> Iterator[Subject]:
    """A random sample of `number` generated mutants."""
    for name in random.Random(seed).sample(sorted(GENERATED), number):
        mutant = GENERATED[name]
        yield Subject(_named(mutant), _tests(mutant.killed_by, mutant.op), frozenset((mutant.op,)))


def misbehaviours() -> Iterator[Subject]:
    """All misbehaving adapters and frameworks of `tests`; each has few ops, and all tests run on it."""
    for name, each in vars(misbehaving).items():
        if inspect.isclass(each) and each.__module__ == misbehaving.__name__ and hasattr(each, "apply"):
            yield Subject(f"{misbehaving.__name__}:{name}", ())


def _named(mutant: type[Faulty]) -> str:
    return f"{mutant.__module__}:{mutant.__name__}"


def _tests(rules: Iterable[str], op: str | None = None) -> tuple[str, ...]:
    """The tests of some rules; if the fault is in one op, only the cases of that op."""
    found = [each for rule in rules for each in _by_rule().get(rule, ())]
    named = (f"{node}[{op}]" if op is not None and takes_op else node for node, takes_op in found)
    return tuple(dict.fromkeys(named))


@cache
def _by_rule() -> dict[str, list[tuple[str, bool]]]:
    """The tests of each rule, each with True if the test is parametrized by op."""
    load_profiles()
    found: dict[str, list[tuple[str, bool]]] = {}
    for module in pkgutil.iter_modules(suites.__path__):
        for name, test in vars(importlib.import_module(f"{suites.__name__}.{module.name}")).items():
            for mark in getattr(test, "pytestmark", ()) if name.startswith("test_") else ():
                if mark.name == "rule":
                    node = f"suites/{module.name}.py::{name}"
                    found.setdefault(mark.args[0], []).append((node, "op" in _parameters(test)))
    return found


def _parameters(test: Callable[..., Any]) -> Iterable[str]:
    """The parameters of a test; for a Hypothesis test, those of the wrapped function."""
    inner = getattr(getattr(test, "hypothesis", None), "inner_test", test)
    return inspect.signature(inner).parameters
