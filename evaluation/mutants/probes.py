"""The suites' own tests as probes, to be put to a framework in this process."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from typing import Any
from zlib import crc32

import pytest
from hypothesis import errors, settings
from hypothesis import strategies as st

import autograd_conformance.suites as suites
from autograd_conformance.checking.audit import corners
from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.checking.check import Check
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.plugin.options import PROFILE, load_profiles
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.higher_order import derivatives_of
from autograd_conformance.strategies.situations import gradients
from autograd_conformance.strategies.situations.writes import single_writes
from autograd_conformance.suites import test_write_pairs

QUICK = 60
"""Programs per rule, in the profile of that name."""

SAMPLED = 5
"""One in so many ops is differentiated three times with few programs, as in the suites."""

DERIVED = 360
"""Programs per rule from which on derivatives of single ops are drawn, too, as in the suites."""

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
def usual() -> int:
    """Programs per rule in the profile that is in use, which is that of the suites where there is no other."""
    try:
        settings.get_profile(PROFILE)
    except errors.InvalidArgument:
        load_profiles()
    return settings.default.max_examples if settings.default else QUICK


@cache
def tests() -> tuple[Probe, ...]:
    """Every test of the suites that needs nothing but what is drawn, and a check."""
    usual()
    found = []
    for module in pkgutil.iter_modules(suites.__path__):
        family = module.name.removeprefix("test_")
        for name, test in vars(importlib.import_module(f"{suites.__name__}.{module.name}")).items():
            marks = {mark.name: mark for mark in getattr(test, "pytestmark", ())}
            if "rule" in marks and hasattr(test, "hypothesis"):
                rule, each = marks["rule"].args[0], marks.get("parametrize")
                found += [
                    Probe(rule, f"{family}/{name}{case}", body, drawn, _examples(test))
                    for case, body, drawn in _cases(test, each)
                ]
    return tuple(found)


def _examples(test: Callable[..., None]) -> int:
    """How many programs a test draws, in the profile that is in use."""
    return test._hypothesis_internal_use_settings.max_examples  # type: ignore[attr-defined]


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
            yield f"[{case}]", partial(inner, **{each.args[0]: case}), given


def probes(first: tuple[str, ...], ops: tuple[str, ...], examples: int) -> list[Probe]:
    """All tests, those of the rules in `first` before the others; `ops` are tested by themselves, and every write. Each
    draws what it draws in a run of the suites whose rules get so many programs, and has the same fixed ones.
    """
    order = {rule: place for place, rule in enumerate(first)}
    found = [replace(probe, examples=max(1, probe.examples * examples // usual())) for probe in tests()]
    found += chain.from_iterable(_of_op(op, examples) for op in ops)
    found += chain.from_iterable(_of_write(write, examples) for write in WRITES)
    found.append(_fixed("memory/dropped", "memory/test_each_op", partial(_releases, ops)))
    return sorted(found, key=lambda probe: order.get(probe.rule, len(order)))


def _of_op(op: str, examples: int) -> Iterator[Probe]:
    """The tests of an op by itself."""
    single = {"drawn": gradients.single_ops(op)}
    yield Probe("gradients/op", f"op[{op}]", check_drawn, single, max(4, examples // 10))
    yield _fixed("gradients/op", f"op_samples[{op}]", partial(_corners, op))
    yield _fixed("writes/error-or-recorded", f"write_pairs[{op}]", partial(_pairs, op, examples // 10))
    seeds = 1 if examples < 500 else 4
    yield _fixed("higher/op", f"twice_samples[{op}]", partial(_curvatures, op, 2, seeds))
    third = not audit.is_long(op) and (seeds > 1 or crc32(op.encode()) % SAMPLED == 0)
    if third:
        yield _fixed("higher/op-third", f"thrice_samples[{op}]", partial(_curvatures, op, 3, 1))
    if examples >= DERIVED:
        yield Probe("higher/op", f"twice[{op}]", check_drawn, {"drawn": derivatives_of(op)}, examples // 120)
    if examples >= DERIVED and third:
        yield Probe("higher/op-third", f"thrice[{op}]", check_drawn, {"drawn": derivatives_of(op, 3)}, examples // 360)


def _of_write(write: str, examples: int) -> Iterator[Probe]:
    """The tests of a write by itself."""
    yield Probe("writes/value", f"write[{write}]", check_drawn, {"drawn": single_writes(write)}, max(4, examples // 10))
    yield _fixed("writes/error-or-recorded", f"write_pairs[{write}]", partial(_pairs, write, examples // 10))


def _fixed(rule: str, name: str, programs: Callable[[Target], Iterable[Program]]) -> Probe:
    """A test of fixed programs, which are made for a framework."""

    def body(check: Check, _: None) -> None:
        for program in programs(check.target):
            check(program)

    return Probe(rule, name, body, {"_": st.none()}, 1)


def _corners(op: str, target: Target) -> Iterator[Program]:
    return corners.programs(op, alphabet.current().dtypes)


def _pairs(name: str, most: int, target: Target) -> Iterator[Program]:
    return test_write_pairs.programs(target, alphabet.current().dtypes, name, most)


def _curvatures(op: str, times: int, seeds: int, target: Target) -> Iterator[Program]:
    return audit.curvatures(op, alphabet.current().dtypes, seeds, times)


def _releases(ops: Sequence[str], target: Target) -> Iterator[Program]:
    for op in ops:
        yield from corners.releases(op, alphabet.current().dtypes[0])


def check_drawn(check: Check, drawn: Drawn) -> None:
    """The body of a test that checks what it draws."""
    check(drawn)
