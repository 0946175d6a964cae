"""The suites' own tests as probes, to be put to a framework in this process."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from hypothesis import strategies as st

import autograd_conformance.suites as suites
from autograd_conformance.harness.audit import corners
from autograd_conformance.harness.check import Check
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.higher_order import derivatives_of
from autograd_conformance.strategies.situations import gradients
from autograd_conformance.strategies.situations.writes import single_writes

QUICK = 60
"""Programs per rule; each op by itself gets a tenth, and ten at least, as in the suites."""

MANY = 40
"""A test with more cases than that is left out: what it is about, others test, too."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One of the suites' tests."""

    rule: str
    """The rule that it is about."""
    name: str
    """Its family and name, as "accumulation/test_adds"."""
    body: Callable[..., None]
    """Runs and judges what was drawn; takes a check, and each drawn value by its name."""
    strategies: dict[str, Any]
    """What is drawn, by name."""
    examples: int = QUICK
    """How many programs it draws."""


@cache
def tests() -> tuple[Probe, ...]:
    """Every test of the suites that needs nothing but what is drawn, and a check."""
    found = []
    for module in pkgutil.iter_modules(suites.__path__):
        family = module.name.removeprefix("test_")
        for name, test in vars(importlib.import_module(f"{suites.__name__}.{module.name}")).items():
            marks = {mark.name: mark for mark in getattr(test, "pytestmark", ())}
            if "rule" in marks and hasattr(test, "hypothesis"):
                rule, each = marks["rule"].args[0], marks.get("parametrize")
                found += [
                    Probe(rule, f"{family}/{name}{case}", body, drawn) for case, body, drawn in _cases(test, each)
                ]
    return tuple(found)


def _cases(
    test: Callable[..., None], each: pytest.Mark | None
) -> Iterator[tuple[str, Callable[..., None], dict[str, Any]]]:
    """A test's body, or those of its cases where they are few, with what is drawn for it."""
    inner, given = test.hypothesis.inner_test, test.hypothesis._given_kwargs  # type: ignore[attr-defined]
    left = set(inspect.signature(inner).parameters) - {"check", *given}
    if not left:
        yield "", inner, given
    elif each is not None and left == {each.args[0]} and len(each.args[1]) <= MANY:
        for case in each.args[1]:
            yield f"[{case}]", functools.partial(inner, **{each.args[0]: case}), given


def probes(first: tuple[str, ...], ops: tuple[str, ...], examples: int) -> list[Probe]:
    """All tests, those of the rules in `first` before the others; `ops` are tested by themselves, and every write."""
    order = {rule: place for place, rule in enumerate(first)}
    few = max(10, examples // 10)
    found = [Probe(probe.rule, probe.name, probe.body, probe.strategies, examples) for probe in tests()]
    for op in ops:
        found.append(Probe("gradients/op", f"op[{op}]", alone, {"drawn": gradients.single_ops(op)}, few))
        found.append(Probe("gradients/op", f"op_samples[{op}]", cornered, {"op": st.just(op)}, 1))
        found.append(Probe("higher/op", f"twice[{op}]", alone, {"drawn": derivatives_of(op)}, few))
        found.append(Probe("higher/op-third", f"thrice[{op}]", alone, {"drawn": derivatives_of(op, 3)}, few))
    for write in WRITES:
        found.append(Probe("writes/value", f"write[{write}]", alone, {"drawn": single_writes(write)}, few))
    return sorted(found, key=lambda probe: order.get(probe.rule, len(order)))


def cornered(check: Check, op: str) -> None:
    """Checks the fixed programs of an op that every run has beside its audit."""
    for program in corners.programs(op, alphabet.current().dtypes):
        check(program)


def alone(check: Check, drawn: Drawn) -> None:
    """The body of a test that checks what it draws."""
    check(drawn)
