"""Fixed programs of an op or a write: they have the situations that they are for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograd_conformance.checking.audit import corners
from autograd_conformance.programs.language import Apply, BackwardCall, Delete, InPlace, Program
from autograd_conformance.strategies.building import alphabet


def written(write: str) -> list[Program]:
    return list(corners.written_curvatures(write, ("float64", "float32")))


@pytest.mark.parametrize("write", ["exp_", "elu_", "mul_", "sin_"])
def test_a_write_is_differentiated_twice(write: str) -> None:
    programs = written(write)
    assert {program[0].value.dtype for program in programs} == {"float64", "float32"}  # type: ignore[union-attr]
    for program in programs:
        assert [step.op for step in program if isinstance(step, InPlace)] == [write]
        assert sum(isinstance(step, BackwardCall) for step in program) == 2


@pytest.mark.parametrize("write", ["neg_", "zero_", "round_"])
def test_a_write_with_a_constant_gradient_is_not(write: str) -> None:
    assert written(write) == []


MULTIPLY = frozenset({"multiply"})


@pytest.mark.parametrize("faulty", [{"excluded": MULTIPLY}, {"first_order_only": MULTIPLY}], ids=["once", "twice"])
def test_a_write_whose_op_is_faulty_out_of_place_is_not(faulty: dict[str, frozenset[str]]) -> None:
    with alphabet.using(replace(alphabet.EVERYTHING, **faulty)):  # type: ignore[arg-type]
        assert written("mul_") == []


@pytest.mark.parametrize(
    "faulty",
    [{"excluded": MULTIPLY, "listed": MULTIPLY}, {"first_order_only": MULTIPLY, "listed_twice": MULTIPLY}],
    ids=["once", "twice"],
)
def test_a_write_whose_op_has_a_known_difference_out_of_place_is(faulty: dict[str, frozenset[str]]) -> None:
    with alphabet.using(replace(alphabet.EVERYTHING, **faulty)):  # type: ignore[arg-type]
        assert written("mul_")


def test_an_op_is_dropped_in_each_way() -> None:
    programs = list(corners.releases("multiply", "float64"))
    assert len(programs) == 7 and all(isinstance(program.instructions[-1], Delete) for program in programs)
    created = [program for program in programs if any(isinstance(s, BackwardCall) and s.create_graph for s in program)]
    write = [program for program in programs if any(isinstance(step, InPlace) for step in program)]
    again = [program for program in programs if [s.op for s in program if isinstance(s, Apply)] == ["multiply"] * 4]
    assert len(created) == len(write) == len(again) == 1
