"""Drawn programs with loops have the same effects as their lines."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograd_conformance.printing.loops import loop
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Leaf, Program, Ref
from autograd_conformance.programs.operands import operands, refer
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.random_programs import programs
from tests.printing.looping import DIALECT, alike, repeated

KINDS = (
    "unary",
    "unary",
    "binary",
    "binary",
    "leaf",
    "detach",
    "walk",
    "walk",
    "zero",
    "step",
    "hook",
    "write",
    "mode",
)


@st.composite
def unrolled(draw: st.DrawFn) -> Program:
    """A drawn body, repeated and cut off at any line; a value may be carried between iterations, and be read after the
    loop.
    """
    statements: list[str] = []
    made: list[str] = []
    for k in range(draw(st.integers(2, 7))):
        pick = st.sampled_from([*made, "w", "u", "h^"])
        here = f"v@_{k}"
        match draw(st.sampled_from(KINDS)):
            case "unary":
                statements.append(f"{here} = {draw(st.sampled_from(['tanh', 'square', 'clone']))} {draw(pick)}")
                made.append(here)
            case "binary":
                statements.append(f"{here} = {draw(st.sampled_from(['add', 'multiply']))} {draw(pick)} {draw(pick)}")
                made.append(here)
            case "leaf":
                data, kind = draw(st.sampled_from(["1", "@"])), draw(st.sampled_from(["", " const"]))
                statements.append(f"{here} = leaf [{data}, {k}]{kind}")
                made.append(here)
            case "detach":
                statements.append(f"{here} = detach {draw(pick)}")
                made.append(here)
            case "walk":
                statements.append(f"{here} = sum {draw(pick)} dim=(0,) keepdim=False")
                statements.append(f"backward {here} retain={draw(st.booleans())}")
            case "zero":
                statements.append(f"zero {draw(st.sampled_from(['w', 'w, u', 'w, u to zeros']))}")
            case "step":
                leaves, optimizer = draw(st.sampled_from(["w", "w, u"])), draw(st.sampled_from(["sgd", "adam"]))
                statements.append(f"step {leaves} {optimizer} lr=0.5")
            case "hook":
                statements.append(f"{here} = hook {draw(pick)} scale 2.0")
            case "write":
                statements.append(f"no_grad: write {draw(pick)} mul_ w")
            case _:
                statements.append(f"no_grad: {here} = square {draw(pick)}")
                made.append(here)
    carried = draw(st.sampled_from([*made, "w", "h^"]))
    statements.append(f"h@ = {draw(st.sampled_from(['clone', 'detach']))} {carried}")
    made.append("h@")
    body = "; ".join(statements)
    times = draw(st.integers(2, 4))
    text = repeated(body, times, "w = leaf [1, 2]; u = leaf [3, 4]; h-1 = leaf [1, 1] const")
    program = parse(text)
    cut = draw(st.integers(0, len(statements)))
    if not cut:
        last = [draw(st.sampled_from(made)).replace("@", str(draw(st.integers(0, times - 1)))) for _ in "ab"]
        return parse(f"{text}; e = multiply {' '.join(last)}; s = sum e dim=(0,) keepdim=False; backward s")
    return program.upto(len(program) - cut + 1)


@given(unrolled())
@settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
def test_drawn_loops_do_what_the_lines_do(program: Program) -> None:
    if loop(program, DIALECT) is not None:
        alike(program)


@given(programs(12), st.data())
@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
def test_programs_of_every_kind_twice(drawn: Drawn, data: st.DataObject) -> None:
    """Any drawn program, when repeated, is a loop."""
    program, size = drawn.program, len(drawn.program)
    times = data.draw(st.integers(2, 3))
    steps = [
        refer(step, {r: Ref(r.at + turn * size, r.output) for r in operands(step)})
        for turn in range(times)
        for step in program
    ]
    modes = tuple(program.mode(at) for at in range(size)) * times
    several = Program(tuple(steps), modes)
    written = loop(several, DIALECT)
    if sum(not isinstance(step, Leaf) for step in program) >= 3:
        assert written is not None
    if written is not None:
        alike(several)
