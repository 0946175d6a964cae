"""The ops that run alone before selected tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from autograd_conformance.checking.audit import cancellation, corners, elements, tails, uses
from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.tables import OPS, VIEWS
from autograd_conformance.plugin.selection import HELPERS, Function, functions, needed_ops
from autograd_conformance.programs.language import Apply
from autograd_conformance.strategies import write_pairs
from autograd_conformance.strategies.building import alphabet

ROOT = Path(__file__).parents[2]
GRADIENTS = "suites/test_gradients.py"
TEST = re.compile(r"suites/(test_\w+\.py)::(test_\w+)(?:\[(.+)\])?")


def test_tests_that_are_named_with_their_ops_need_only_these() -> None:
    named = (f"{GRADIENTS}::test_op[sin]", "suites/test_higher_ops.py::test_third_samples[exp]")
    assert needed_ops(named) == {"sin", "exp", *HELPERS}
    assert {*HELPERS} <= {*OPS}


@pytest.mark.parametrize("function", [each for each in functions() if each.of_each_op])
def test_each_test_of_one_op_needs_only_that(function: Function) -> None:
    assert needed_ops((f"suites/{function.file}::{function.name}[sin]",)) == {"sin", *HELPERS}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (GRADIENTS,),
        (f"{GRADIENTS}::test_op[sin]", "suites/test_hooks.py"),
        (f"{GRADIENTS}::test_op[nothing]",),
        (f"{GRADIENTS}::test_digits[sin]",),
    ],
)
def test_other_tests_need_all_ops(arguments: tuple[str, ...]) -> None:
    assert needed_ops(arguments) == OPS


@pytest.mark.parametrize(
    ("keywords", "ops"),
    [
        ("test_op[sin]", {"sin"}),
        ("Test_Op[SIN]", {"sin"}),
        ("test_op[sin] or test_third_samples[exp]", {"sin", "exp"}),
        ("test_op[sin] and not test_write_pairs", {"sin"}),
        ("test_gradients and cosine_similarity", {"cosine_similarity"}),
        ("hypothesis and test_op[sin]", {"sin"}),
    ],
)
def test_an_expression_that_selects_tests_of_ops_needs_only_these(keywords: str, ops: set[str]) -> None:
    assert needed_ops((), keywords) == {*ops, *HELPERS}


@pytest.mark.parametrize(
    "keywords",
    [
        "accumulation",
        "not test_op[sin]",
        "test_op[sin] or accumulation",
        "test_op[sin] or rule",  # every test has this marker
        "test_op[sin] or adam",  # a test of an optimizer has this name
        "test_op[sin] or not hypothesis",
        "test_op[nothing]",
        "test_op[sin] or",
        "(test_op[sin]",
        " or ".join(f"test_op[{op}]" for op in list(OPS)[:20]),
    ],
)
def test_any_other_expression_needs_all_ops(keywords: str) -> None:
    assert needed_ops((), keywords) == OPS


@pytest.mark.parametrize("op", ["sin", "atan2", "conv1d", "cumulative_sum", "lgamma", "var", "transpose"])
def test_programs_of_an_op_have_no_others(op: str) -> None:
    dtypes = ("float64", "float32")
    with alphabet.using(alphabet_of(InProcess(Torch()), dtypes)):
        found = [
            *audit.programs(op, dtypes),
            *audit.curvatures(op, dtypes),
            *audit.curvatures(op, dtypes, times=3),
            *corners.programs(op, dtypes),
            *elements.programs(op, dtypes, alphabet.current()),
            *(tails.programs(op, dtypes, alphabet.current()) if op in tails.FUNCTIONS else ()),
            *(cancellation.programs(op, dtypes) if op in cancellation.functions() else ()),
            *(uses.written_views(op, "float64") if op in VIEWS else ()),
            *(sample.program(*pair) for sample, *pair in write_pairs.some_pairs(op, dtypes, 50)),
        ]
    used = {step.op for program in found for step in program if isinstance(step, Apply)}
    assert op in used
    assert used - {op} <= HELPERS


def test_functions_are_those_that_pytest_collects() -> None:
    """The names of tests that only pytest knows do not hide a test from an expression."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "suites"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    collected = [match.groups() for line in lines if (match := TEST.fullmatch(line))]
    known = {(each.file, each.name): each for each in functions()}
    assert len(collected) > len(OPS)
    for file, name, parameter in collected:
        function = known[file, name]
        assert function.of_each_op or function.of_others or parameter is None
        assert not function.of_each_op or parameter in OPS
        assert "test_" not in (parameter or "")
