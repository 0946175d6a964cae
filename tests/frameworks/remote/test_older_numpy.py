"""Frameworks that need an older NumPy than the suite, in separate environments.

CHAINER_PYTHON, DEZERO_PYTHON and MXNET_PYTHON name the interpreters; a test without its interpreter is skipped.
"""

from __future__ import annotations

import os
from functools import cache

import pytest

from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.remote.command import served
from autograd_conformance.frameworks.target import open_target
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.ops.catalogue import APPLIED, VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Returned
from evaluation.pages import frameworks

NAMES = ("chainer", "dezero", "mxnet")
PYTHONS = {name: os.environ.get(f"{name.upper()}_PYTHON") for name in NAMES}
ENTRIES = [(name, entry) for name in NAMES for entry in known(name)]
COMMON = (
    "a = leaf f32 [1, 2]; b = multiply a a; c = sum b dim=(0,) keepdim=False; backward c",
    "a = leaf [1, 2]; no_grad: b = sin a; c = multiply a b; backward c with [1, 10]",
    "a = leaf [1, 2]; b = exp a; backward b with [1, 10]; step a sgd lr=0.125 momentum=0.5; "
    "c = exp a; backward c with [1, 10]; step a sgd lr=0.125 momentum=0.5",
)
"""Float32, a grad mode, and optimizer steps."""
UNFREED = (
    "a = leaf [1, 2]; b = sin a; backward b with [1, 10]; backward b with [1, 10]; zero a; backward b with [1, 10]",
    "a = leaf 2; b = pow_integer a exponent=3; backward b create=True; c = held a; zero a; backward c create=True; "
    "d = held a; zero a; backward d",
    "a = leaf [1, 2]; b = exp a; backward b with [1, 10]; step a adagrad lr=0.125",
    *COMMON,
)
"""Accumulation through a graph that is never freed, derivatives up to the third, and another optimizer's step."""
FREED = (
    "a = leaf [1, 2]; b = sin a; backward b with [1, 10] retain=True; backward b; zero a to zeros; "
    "c = sin a; backward c",
    "a = leaf [1, 2]; b = leaf [3, 4] const; c = multiply a b; d = exp c; backward c, d with [1, 10], none",
    "a = leaf [1, 2]; b = exp a; c = detach b; d = multiply c a; backward d",
    "a = leaf [1, 2]; b = exp a; backward b with [1, 10]; step a sgd lr=0.125 momentum=0.5 nesterov=True",
    "a = leaf [1, 2] const; zero a to zeros; b = leaf [3, 4]; c = multiply a b; backward c with [1, 10]",
    *COMMON,
)
"""Accumulation through a retained graph, several roots, a detached value, Nesterov momentum, and clearing a leaf
without a gradient.
"""
PROGRAMS = {"chainer": UNFREED, "dezero": UNFREED, "mxnet": FREED}
CASES = [(name, text) for name in NAMES for text in PROGRAMS[name]]


@cache
def target_of(name: str) -> Target:
    if PYTHONS[name] is None:
        pytest.skip(f"{name.upper()}_PYTHON names no interpreter")
    return open_target(served(name, PYTHONS[name], None))


@pytest.fixture(params=NAMES)
def target(request):
    return target_of(request.param)


def test_it_is_served(target):
    assert target.version
    assert set(target.ops) <= set(APPLIED)
    assert f"{frameworks.row(target.name, PYTHONS[target.name])}\n" in frameworks.PAGE.read_text()


@pytest.mark.parametrize(("name", "text"), CASES)
def test_calls_modes_and_steps_are_right(name: str, text: str):
    target = target_of(name)
    program = parse(text, VOCABULARY)
    assert not unsupported_by(program, target)
    for seen in (target.observe(program), target.observe_printed(program)):
        assert all(isinstance(each.outcome, Returned) for each in seen)
        assert first_violation(program, seen, target) is None


def test_a_fault_is_seen(target):
    first = PROGRAMS[target.name][0]
    other = first.replace("with [1, 10]", "with [2, 10]", 1)
    violation = first_violation(parse(first, VOCABULARY), target.observe(parse(other, VOCABULARY)), target)
    assert violation is not None
    assert violation.rule.startswith("gradients/")


@pytest.mark.parametrize(("name", "entry"), ENTRIES, ids=lambda each: getattr(each, "rule", each))
def test_each_difference_shows_in_its_witness(name: str, entry):
    violation = violation_of(entry.witness, target_of(name))
    assert violation is not None
    assert is_known(entry, entry.witness, violation)
