"""Checks that `identity` gives one number for one gradient, and different numbers for different gradients.

Two leaves whose gradients have the same identity may really share one gradient, which is a fault of the framework. To
find out, the check runs a program in which sharing is impossible: two leaves with different gradients.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations, islice
from typing import Any

from autograd_conformance.frameworks.adapter import Adapter, Target
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.reading import validation
from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.ops.simplest import simplest
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Apply, Backward, Leaf, Literal, Program, Ref, Shape
from autograd_conformance.programs.observations import Gradient, StepObservation
from autograd_conformance.programs.own_numpy import np

NEEDED = frozenset({Capability.IMPERATIVE, Capability.COTANGENTS})
"""Capabilities without which the program that checks identities cannot run."""

_COUNTS: dict[int, tuple[weakref.ref[Any], int]] = {}
"""By the `id` of an adapter or target: a weak reference to it, and the number of programs that it ran in which two
leaves' gradients had the same identity.
"""


def refuse_unstable(adapter: Adapter, one: object, second: object) -> None:
    """Raise the error that one gradient has two identities."""
    shown = f"{validation.shown(one)} and then {validation.shown(second)}"
    raise AdapterError(
        f"{adapter.name}: identity() gave {shown} for the same gradient; "
        "it has to give one number, or None if there is none"
    )


def check_differ(framework: Adapter | Target, observe: Callable[[Program], Iterable[StepObservation]]) -> None:
    """Check that identities of different gradients differ; called after a program in which two leaves' gradients had
    the same identity.

    The check runs after the first, second, fourth, eighth, ... such program. Raises `AdapterError`.
    """
    count = _counted(framework)
    if count & (count - 1) or not frozenset(framework.capabilities) >= NEEDED:
        return
    for program in _programs_with_two_gradients(framework):
        for one, other in _alike(list(observe(program))[-1].gradients):
            if one.value.shape != other.value.shape or not np.array_equal(one.value, other.value):
                refuse_alike(framework.name, one, other)


def _counted(runner: object) -> int:
    """Returns the number of programs so far in which two leaves' gradients had the same identity, including the last
    one.
    """
    of, count = _COUNTS.get(id(runner), (None, 0))
    count = 1 if of is None or of() is not runner else count + 1
    _COUNTS[id(runner)] = weakref.ref(runner), count
    return count


def refuse_alike(name: str, one: Gradient, other: Gradient) -> None:
    """Raise the error that two gradients have one identity."""
    differ = f"{validation.shown(one.value.tolist())} and {validation.shown(other.value.tolist())}"
    raise AdapterError(
        f"{name}: identity() gave {one.identity} for two different gradients, {differ}; "
        "it has to give different numbers, or None"
    )


def alike(gradients: Mapping[Ref, Gradient | None]) -> bool:
    """Whether two of the gradients have the same identity; gradients without elements do not count."""
    known = [each.identity for each in gradients.values() if each is not None and _shows(each)]
    return len(set(known)) < len(known)


def _shows(gradient: Gradient) -> bool:
    """Whether a gradient's identity is meaningful; gradients without elements may share one."""
    return gradient.identity is not None and gradient.value.size > 0


def _alike(gradients: Mapping[Ref, Gradient | None]) -> Iterable[tuple[Gradient, Gradient]]:
    known = [each for each in gradients.values() if each is not None and _shows(each)]
    return ((one, other) for one, other in combinations(known, 2) if one.identity == other.identity)


def _programs_with_two_gradients(framework: Adapter | Target) -> Iterable[Program]:
    """Yields a program in which two leaves receive different gradients from one call each; none if no simple op is
    supported.
    """
    shape: Shape = () if framework.traits.scalars else (2,)

    def literal(*data: float) -> Literal:
        return Literal(data[: size(shape)], shape, framework.dtypes[0])

    for name, count, attrs in islice(simplest(framework.ops, shape), 1):
        leaves = Leaf(literal(1.0, 2.0)), Leaf(literal(3.0, 0.5))
        made = [Apply(name, (Ref(at),) * count, attrs) for at in range(2)]
        calls = Backward((Ref(2),), (literal(1.0, 2.0),)), Backward((Ref(3),), (literal(5.0, 7.0),))
        yield Program((*leaves, *made, *calls))
