"""Write pairs: no pair is missing, and a framework that misses a write is detected."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import pytest
import torch

from autograd_conformance.checking.check import violation_of
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY, WRITES
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import InPlace, Program, Step
from autograd_conformance.strategies import write_pairs
from autograd_conformance.strategies.write_pairs import Time, Way, WrittenValue, coverage
from autograd_conformance.suites import test_write_pairs as suite

ROWS = (*OPS, *WRITES)


def of(name: str, dtypes: tuple[str, ...] = ("float64",)) -> list[Program]:
    return [sample.program(*pair) for sample, *pair in write_pairs.pairs(name, dtypes)]


def test_every_row_has_pairs_but_those_of_overlapping_results():
    found = coverage(ROWS)
    assert found.rows == len(ROWS)
    assert found.values >= 770
    assert found.pairs >= 6_900
    assert found.programs >= 25_000


@pytest.mark.parametrize("name", OPS)
def test_every_operand_and_result_is_written_in_every_way_at_every_time(name: str):
    row, found = OPS[name], {(t, way, time) for _, t, way, time in write_pairs.pairs(name, ("float64",))}
    operands = max(len(sample.operands) for sample in write_pairs.samples(name, ("float64",)))
    assert {(WrittenValue(True, k), way, time) for k in range(operands) for way in Way for time in Time} <= found
    kinds = [way for way in Way if way is not Way.STEP and not (row.multi and way is Way.RECORDED)]
    results = set() if row.overlaps else {(WrittenValue(False, 0), way, time) for way in kinds for time in Time}
    assert results <= found


def test_the_target_of_a_write_is_no_operand_of_a_pair():
    assert {t for _, t, *_ in write_pairs.pairs("mul_", ("float64",))} == {
        WrittenValue(True, 1),
        WrittenValue(False, 0),
    }


def test_programs_are_the_same_every_time():
    before = of("multiply")
    write_pairs.samples.cache_clear()
    assert of("multiply") == before


def test_a_few_of_each_row_are_of_every_way_and_time():
    rows = ROWS[::4]
    found = [pair for name in rows for pair in write_pairs.some_pairs(name, ("float64",), 1)]
    assert len(found) == len(rows)
    assert {(way, time) for *_, way, time in found} == set(product(Way, Time))


def test_where_only_steps_are_allowed_each_op_is_stepped():
    for name in ("relu", "multiply", "batch_norm"):
        steps = write_pairs.some_pairs(name, ("float64",), 2, lambda program: any(isinstance(s, Step) for s in program))
        assert [way for *_, way, _ in steps] == [Way.STEP] * 2


def test_rows_alike_have_other_pairs():
    (one,), (other,) = (write_pairs.some_pairs(name, ("float64",), 1) for name in ("sin", "cos"))
    assert one[1:] != other[1:]


@pytest.mark.parametrize(("programs_each", "most"), [(0, suite.MOST), (16, max(1, suite.MOST // 16)), (10**6, 1)])
def test_fewer_programs_run_where_regions_take_long(programs_each: int, most: int):
    assert suite.program_limit(SimpleNamespace(programs_each=programs_each)) == most


@pytest.mark.parametrize("name", ["multiply", "unstack", "kron", "set_slice_", "linear"])
def test_programs_can_be_written_down(name: str):
    for program in of(name):
        assert parse(render(program), VOCABULARY) == program


def test_how_a_value_is_written():
    sample = next(
        s for s in write_pairs.samples("multiply", ("float64",)) if s.requires == (True, True) and not s.transposed
    )
    text = {way: render(sample.program(WrittenValue(True, 1), way, Time.BEFORE)).splitlines()[-3:] for way in Way}
    assert text[Way.DIRECT][-2].startswith("no_grad: write d mul_scalar_")
    assert text[Way.VIEW][-3:-1] == ["f = expand_dims d dim=0", "no_grad: write f mul_scalar_ scalar=-0.5"]
    assert text[Way.DETACHED][-3:-1] == ["f = detach d", "write f mul_scalar_ scalar=-0.5"]
    assert text[Way.RECORDED][-2] == "write d mul_scalar_ scalar=-0.5"
    assert text[Way.STEP][-2] == "step b sgd lr=0.5"


def test_between_means_that_the_graph_is_walked_before_and_after():
    sample = write_pairs.samples("exp", ("float64",))[0]
    kinds = [type(step).__name__ for step in sample.program(WrittenValue(False, 0), Way.DIRECT, Time.BETWEEN)]
    assert kinds[-3:] == ["Backward", "InPlace", "Backward"]


class Untracked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = x  # not by save_for_backward, so its version is not checked
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.kept.cos()


class LosesSight(Torch):
    """Sin whose derivative uses the operand's current values, not the saved ones."""

    def apply(self, op, operands, attrs):
        return (Untracked.apply(operands[0]),) if op == "sin" else super().apply(op, operands, attrs)


def test_a_framework_that_loses_sight_of_a_write_is_caught():
    framework = LosesSight()
    found = {}
    for sample, target, way, time in write_pairs.pairs("sin", ("float64",)):
        program = sample.program(target, way, time)
        violation = violation_of(program, InProcess(framework))
        found[target, way, time] = violation and violation.rule
        assert any(isinstance(step, InPlace) for step in program) or way is Way.STEP
    for (target, *_), rule in found.items():
        assert rule == ("writes/error-or-recorded" if target.operand else None)


def test_torch_detects_every_write_except_to_tensors_saved_by_kron():
    framework = Torch()
    broken = [
        target
        for sample, target, way, time in write_pairs.pairs("kron", ("float64",))
        if not sample.transposed and violation_of(sample.program(target, way, time), InProcess(framework))
    ]
    assert set(broken) == {WrittenValue(True, 0), WrittenValue(True, 1)}
