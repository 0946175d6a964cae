"""The suites' own tests as probes that run on a framework in this process."""

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
from autograd_conformance.checking.audit import (
    cancellation,
    corners,
    elements,
    failures,
    kinks,
    optimizer_steps,
    shared,
    tails,
    uses,
)
from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.checking.check import Check
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.interactions.recorded import PART, recorded
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.plugin.options import PROFILE, load_profiles
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness.hypothesis_internals import body_of, examples_of
from autograd_conformance.strategies.higher_order import derivatives_of
from autograd_conformance.strategies.situations import gradients
from autograd_conformance.strategies.situations.writes import single_writes
from autograd_conformance.suites import test_write_pairs
from autograd_conformance.suites.test_recorded import supported

QUICK = 60
"""Programs per rule in the quick profile."""

SAMPLED = 5
"""One op in this many is differentiated three times if programs are few, as in the suites."""

DERIVED = 360
"""Smallest number of programs per rule with which derivatives of single ops are drawn too, as in the suites."""

MANY = 40
"""Largest number of parametrized cases of a test; a test with more is left out, since other tests cover its subject."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One of the suites' tests."""

    rule: str
    """The rule that the test is about."""
    name: str
    """The test's family and name, such as "accumulation/test_adds"."""
    body: Callable[..., None]
    """Runs and judges drawn programs; takes a check, and each drawn value as a keyword."""
    strategies: dict[str, Any]
    """Strategies of the drawn values, by name."""
    examples: int = QUICK
    """Number of programs that the test draws."""


@cache
def usual() -> int:
    """Programs per rule in the current profile, or in the suites' own if none is loaded."""
    try:
        settings.get_profile(PROFILE)
    except errors.InvalidArgument:
        load_profiles()
    return settings.default.max_examples if settings.default else QUICK


@cache
def tests() -> tuple[Probe, ...]:
    """Every test of the suites whose only arguments are a check and drawn values."""
    usual()
    found = []
    for module in pkgutil.iter_modules(suites.__path__):
        family = module.name.removeprefix("test_")
        for name, test in vars(importlib.import_module(f"{suites.__name__}.{module.name}")).items():
            marks = {mark.name: mark for mark in getattr(test, "pytestmark", ())}
            if "rule" in marks and hasattr(test, "hypothesis"):
                rule, each = marks["rule"].args[0], marks.get("parametrize")
                found += [
                    Probe(rule, f"{family}/{name}{case}", body, drawn, examples_of(test) or QUICK)
                    for case, body, drawn in _cases(test, each)
                ]
    return tuple(found)


def _cases(
    test: Callable[..., None], each: pytest.Mark | None
) -> Iterator[tuple[str, Callable[..., None], dict[str, Any]]]:
    """The body of a test, or of each of its parametrized cases if they are few, with its strategies."""
    inner, given = body_of(test)
    left = set(inspect.signature(inner).parameters) - {"check", *given}
    if not left:
        yield "", inner, given
    elif each is not None and left == {each.args[0]} and len(each.args[1]) <= MANY:
        for case in each.args[1]:
            yield f"[{case}]", partial(inner, **{each.args[0]: case}), given


def probes(first: tuple[str, ...], ops: tuple[str, ...], examples: int) -> list[Probe]:
    """All tests, those of the rules in `first` before the others, with the tests of each op in `ops` and of each write.

    Each test draws the programs that it draws in a run with `examples` programs per rule, and has the same fixed ones.
    """
    order = {rule: place for place, rule in enumerate(first)}
    found = [replace(probe, examples=max(1, probe.examples * examples // usual())) for probe in tests()]
    found += chain.from_iterable(_of_op(op, examples) for op in ops)
    found += chain.from_iterable(_of_write(write, examples) for write in WRITES)
    found.append(_fixed("memory/dropped", "memory/test_each_op", partial(_releases, ops)))
    found += (_fixed("optimizers/formula", f"optimizers/test_settings[{o}]", partial(_steps, o)) for o in OPTIMIZERS)
    found += (_fixed("optimizers/finite", f"optimizers/test_finite[{o}]", partial(_small_steps, o)) for o in OPTIMIZERS)
    found += (_fixed("errors/recovers", f"errors/test_each_way[{w}]", partial(_failures, w)) for w in failures.WAYS)
    parts = recorded().parts(whole=examples >= 10 * QUICK)
    found += (
        _fixed("sequences/history", f"recorded/test_part[{part}]", partial(_recorded, part)) for part in range(parts)
    )
    return sorted(found, key=lambda probe: order.get(probe.rule, len(order)))


def _of_op(op: str, examples: int) -> Iterator[Probe]:
    """The tests of a single op."""
    single = {"drawn": gradients.single_ops(op)}
    yield Probe("gradients/op", f"op[{op}]", check_drawn, single, max(4, examples // 10))
    yield _fixed("gradients/op", f"op_samples[{op}]", partial(_corners, op))
    yield _fixed("writes/error-or-recorded", f"write_pairs[{op}]", partial(_pairs, op, examples // 10))
    if op in VIEWS:
        yield _fixed("views/history", f"views/test_written[{op}]", partial(_written_views, op))
    if op in tails.FUNCTIONS:
        yield _fixed("gradients/tails", f"tails[{op}]", partial(_tails, op))
    if op in elements.functions():
        yield _fixed("gradients/elements", f"elements[{op}]", partial(_elements, op))
    if op in kinks.functions():
        yield _fixed("gradients/kinks", f"kinks[{op}]", partial(_kinks, op))
    if op in cancellation.functions():
        yield _fixed("gradients/cancellation", f"cancellation[{op}]", partial(_cancelling, op))
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
    """The tests of a single write."""
    yield Probe("writes/value", f"write[{write}]", check_drawn, {"drawn": single_writes(write)}, max(4, examples // 10))
    yield _fixed("writes/error-or-recorded", f"write_pairs[{write}]", partial(_pairs, write, examples // 10))
    yield _fixed("higher/differentiable", f"write_samples[{write}]", partial(_written_curvatures, write))


def _fixed(rule: str, name: str, programs: Callable[[Target], Iterable[Program]]) -> Probe:
    """A test of fixed programs that `programs` makes for a framework."""

    def body(check: Check, _: None) -> None:
        for program in programs(check.target):
            check(program)

    return Probe(rule, name, body, {"_": st.none()}, 1)


def _corners(op: str, target: Target) -> Iterator[Program]:
    dtypes = alphabet.current().dtypes
    works = op in alphabet.current().ops  # such an op has run alone before
    if not works:
        special: Iterable[Program] = audit.programs(op, dtypes)
    else:
        beside = shared.programs(op, dtypes[0])
        special = chain(corners.programs(op, dtypes), uses.programs(op, dtypes), beside)
    return chain(special, audit.under_another_default(op, dtypes))


def _written_views(op: str, target: Target) -> Iterator[Program]:
    return uses.written_views(op, alphabet.current().dtypes[0])


def _steps(name: str, target: Target) -> Iterator[Program]:
    return optimizer_steps.programs(name, alphabet.current().dtypes)


def _small_steps(name: str, target: Target) -> Iterator[Program]:
    return optimizer_steps.small(name, alphabet.current().dtypes)


def _failures(way: str, target: Target) -> Iterator[Program]:
    return failures.programs(way, alphabet.current().dtypes[0])


def _tails(op: str, target: Target) -> Iterator[Program]:
    return tails.programs(op, alphabet.current().dtypes, alphabet.current())


def _elements(op: str, target: Target) -> Iterator[Program]:
    return elements.programs(op, alphabet.current().dtypes, alphabet.current())


def _kinks(op: str, target: Target) -> Iterator[Program]:
    return kinks.programs(op, alphabet.current().dtypes, alphabet.current())


def _cancelling(op: str, target: Target) -> Iterator[Program]:
    return cancellation.programs(op, alphabet.current().dtypes)


def _pairs(name: str, most: int, target: Target) -> Iterator[Program]:
    return test_write_pairs.programs(target, alphabet.current().dtypes, name, most)


def _curvatures(op: str, times: int, seeds: int, target: Target) -> Iterator[Program]:
    dtypes, current = alphabet.current().dtypes, alphabet.current()
    special = times == 2 and op in current.ops and op not in current.first_order_only
    return chain(audit.curvatures(op, dtypes, seeds, times), uses.attributes(op, dtypes[0], 2) if special else ())


def _written_curvatures(write: str, target: Target) -> Iterator[Program]:
    return corners.written_curvatures(write, alphabet.current().dtypes)


def _releases(ops: Sequence[str], target: Target) -> Iterator[Program]:
    for op in ops:
        yield from corners.releases(op, alphabet.current().dtypes[0])


def _recorded(part: int, target: Target) -> Iterator[Program]:
    return supported(target, recorded().part(part), PART)


def check_drawn(check: Check, drawn: Drawn) -> None:
    """Check a drawn program; the body of most tests."""
    check(drawn)
