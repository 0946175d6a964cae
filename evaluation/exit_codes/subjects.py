"""What is wrong and has to end a run with a code other than 0: mutants, and adapters and frameworks that misbehave."""

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
from evaluation.mutants.mutant import Mutant
from tests.frameworks.adapters import misbehaving

ABOUT_ONE_OP = frozenset(("gradients/op", "gradients/forward", "higher/op", "higher/op-third"))
"""The rules by which the audit finds an op wrong before any test begins."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A framework that is wrong, and the tests that are about what is wrong."""

    framework: str
    """The framework, as `--framework` takes it."""
    tests: tuple[str, ...]
    """The tests of a quick run that are about its fault."""
    audited: frozenset[str] | None = None
    """The ops that the run audits itself, PyTorch's audit being taken for all others; None: all."""


def by_hand() -> Iterator[Subject]:
    """Every mutant that was made by hand."""
    for mutant in MUTANTS.values():
        about_one = not ABOUT_ONE_OP.isdisjoint(mutant.killed_by)
        yield Subject(_named(mutant), _tests(mutant.killed_by), None if about_one else frozenset())


def generated(number: int, seed: int = 0) -> Iterator[Subject]:
    """So many of the generated mutants, drawn by a seed."""
    for name in random.Random(seed).sample(sorted(GENERATED), number):
        mutant = GENERATED[name]
        yield Subject(_named(mutant), _tests(mutant.killed_by, mutant.op), frozenset((mutant.op,)))


def misbehaviours() -> Iterator[Subject]:
    """Every adapter and framework of the tests that misbehaves; each has a few ops, and is run whole."""
    for name, each in vars(misbehaving).items():
        if inspect.isclass(each) and each.__module__ == misbehaving.__name__ and hasattr(each, "apply"):
            yield Subject(f"{misbehaving.__name__}:{name}", ())


def _named(mutant: type[Mutant]) -> str:
    return f"{mutant.__module__}:{mutant.__name__}"


def _tests(rules: Iterable[str], op: str | None = None) -> tuple[str, ...]:
    """The tests of some rules; those of an op alone where the fault is in one."""
    found = [each for rule in rules for each in _by_rule().get(rule, ())]
    named = (f"{node}[{op}]" if op is not None and takes_op else node for node, takes_op in found)
    return tuple(dict.fromkeys(named))


@cache
def _by_rule() -> dict[str, list[tuple[str, bool]]]:
    """For each rule the tests that are about it, each with whether there is one for each op."""
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
    """The parameters of a test, those of what Hypothesis wraps among them."""
    inner = getattr(getattr(test, "hypothesis", None), "inner_test", test)
    return inspect.signature(inner).parameters
