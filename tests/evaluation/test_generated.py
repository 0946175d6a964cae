"""Generated mutants are made on first use, each has only its fault, and the tests of its op kill it."""

from __future__ import annotations

import subprocess
import sys
import zlib

import pytest

from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.ops.tables import OPS
from autograd_conformance.rules.catalogue import RULES
from evaluation.kill_matrix.kills import generated
from evaluation.mutants import equivalence
from evaluation.mutants.generated import EQUIVALENT, GENERATED, KINDS, candidates
from evaluation.mutants.mutant import Mutant

IMPORT = """
from evaluation.mutants import generated
assert not generated.candidates.cache_info().currsize and not generated._made.cache_info().currsize
"""


KILLED = (
    "sin_sign", "exp_slight", "divide_first_lost", "matmul_last_lost", "tanh_element", "matmul_transposed",
    "add_averaged", "multiply_first_copy", "sin_at_zero", "sigmoid_at_large", "sum_size_one", "concat_size_zero",
    "conv2d_rank_four", "tanh_single", "exp_bent", "exp_strided", "multiply_expanded", "tanh_shifted", "matmul_turned",
    "add_short", "sin_tile", "sum_remembered",
)  # fmt: skip
"""A mutant of each kind that a quick run kills; `python -m evaluation.kill_matrix` counts the kills of all mutants."""


def one_of_each_kind() -> list[str]:
    """The mutant of each kind whose name has the smallest checksum."""
    names = sorted(GENERATED, key=lambda name: zlib.crc32(name.encode()))
    return [next(name for name in names if candidates()[name][1] == kind) for kind in KINDS]


@pytest.mark.slow
def test_an_import_makes_none_of_them() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def test_is_a_framework_by_its_name() -> None:
    framework = load("evaluation.mutants.generated:sin_sign")
    assert isinstance(framework, Mutant)
    assert framework.name == "mutants/sin_sign"
    assert type(framework) is GENERATED["sin_sign"]
    assert framework.fault == "The gradient of sin has the wrong sign."


def test_refuses_unknown_names() -> None:
    assert "sin_frobnicated" not in GENERATED
    with pytest.raises(KeyError):
        GENERATED["sin_frobnicated"]


def test_equivalent_mutants_are_left_out() -> None:
    assert "floor_sign" in EQUIVALENT  # its gradient is zero
    assert "floor_sign" not in GENERATED
    assert equivalence.is_equivalent("floor_sign")
    assert set(candidates()) >= EQUIVALENT
    assert len(GENERATED) == len(list(GENERATED)) == len(candidates()) - len(EQUIVALENT)


def test_every_op_has_mutants_but_those_that_torch_gets_wrong_and_those_without_gradients() -> None:
    having = {candidates()[name][0] for name in GENERATED}
    assert len(having) > 0.9 * len(OPS)
    assert {"sign", "floor", "ceil", "round"}.isdisjoint(having)


@pytest.mark.parametrize("name", one_of_each_kind())
def test_has_its_fault_and_computes_what_torch_computes(name: str) -> None:
    op, kind = candidates()[name]
    program = equivalence.witness(name, equivalence.programs(op, kind))
    assert program is not None
    others = [other for other in ("sin", "multiply", "matmul") if other != op]
    for other in others:
        sample = audit.sample(other, 1, "float64")
        assert sample is not None
        assert not equivalence.differ(sample, GENERATED[name](), Torch())


@pytest.mark.parametrize("name", KILLED)
def test_killed_by_the_tests_of_its_op(name: str) -> None:
    row = generated(name)
    assert row.own_cell.killed
    assert row.right, (row.own_cell.rule, row.own_cell.op)
    assert row.own_cell.size is not None and row.own_cell.size <= 14
    assert row.group != "single" or row.own_cell.dtype == "float32"
    assert row.group != "slight" or row.own_cell.dtype == "float64"


def test_kinds_name_rules() -> None:
    assert {candidates()[name][1] for name in KILLED} == set(KINDS)
    assert {rule for kind in KINDS.values() for rule in kind.killed_by} <= set(RULES)
    assert all(kind.fault.endswith(".") and "{op}" in kind.fault for kind in KINDS.values())
