"""The nearest variation that passes: one change to a failing program, the smallest first, that breaks no rule.

What has to change for a failure to go away is often the shortest description of the bug.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from frameworks.base import Framework
from harness.checking import passes
from rules.catalogue import Needs
from rules.language import Apply, Backward, Detach, Instruction, Leaf, Literal, Program, Ref, ZeroGrad, refer, results

MOST = 40
"""How many variations are tried."""


def nearest(program: Program, at: int, framework: Framework, claims: Collection[Needs]) -> str | None:
    """A phrase for the first variation that passes ("passes with retain_graph=True on line 3"), or None."""
    for number, (text, changed) in enumerate(_variations(Program(program.instructions[: at + 1]))):
        if number >= MOST:
            return None
        if changed.instructions[-1:] and passes(changed, framework, claims):
            return f"passes {text}"
    return None


def _variations(program: Program) -> Iterator[tuple[str, Program]]:
    last = len(program) - 1
    for at, step in enumerate(program):
        if isinstance(step, Backward):
            for keep in (True, False):
                if at != last and bool(step.retain_graph) != keep:
                    yield (
                        f"with retain_graph={keep} on line {at + 1}",
                        _with(program, at, replace(step, retain_graph=keep)),
                    )
    for at, step in enumerate(program):
        if isinstance(step, (Backward, ZeroGrad)) and at != last:
            yield f"without line {at + 1}", _without(program, at)
    for at, step in enumerate(program):
        if isinstance(step, Backward):
            if step.retain_graph is not None:
                yield (
                    f"with retain_graph left out on line {at + 1}",
                    _with(program, at, replace(step, retain_graph=None)),
                )
            ones = tuple(c and replace(c, data=(1.0,) * len(c.data)) for c in step.cotangents)
            if ones != step.cotangents:
                yield f"with a cotangent of ones on line {at + 1}", _with(program, at, replace(step, cotangents=ones))
    yield from _values(program)
    for at, step in enumerate(program):
        if isinstance(step, Detach):
            yield f"without the detach on line {at + 1}", _bypassed(program, at, step.source)
        elif isinstance(step, Apply) and len(step.args) == 1 and step.results == 1:
            yield f"without the op on line {at + 1}", _bypassed(program, at, step.args[0])


def _values(program: Program) -> Iterator[tuple[str, Program]]:
    for at, step in enumerate(program):
        if isinstance(step, Leaf):
            if 0.0 in step.value.data:
                nonzero = tuple(x or 1.0 for x in step.value.data)
                yield f"with ones for the zeros on line {at + 1}", _with(program, at, _leaf(step, nonzero))
            if not step.requires_grad:
                yield f"with requires_grad on line {at + 1}", _with(program, at, replace(step, requires_grad=True))
    if any(isinstance(s, Leaf) and s.value.dtype == "float32" for s in program):
        yield "in float64", Program(tuple(_widened(s) for s in program))


def _leaf(step: Leaf, data: tuple[float, ...]) -> Leaf:
    return replace(step, value=replace(step.value, data=data))


def _widened(step: Instruction) -> Instruction:
    match step:
        case Leaf(value):
            return replace(step, value=replace(value, dtype="float64"))
        case Backward(_, cotangents):
            return replace(step, cotangents=tuple(_wide(c) for c in cotangents))
        case _:
            return step


def _wide(cotangent: Literal | None) -> Literal | None:
    return None if cotangent is None else replace(cotangent, dtype="float64")


def _with(program: Program, at: int, step: Instruction) -> Program:
    return Program((*program.instructions[:at], step, *program.instructions[at + 1 :]))


def _without(program: Program, at: int) -> Program:
    """The program without an instruction that makes no value."""
    new: dict[Ref, Ref] = {}
    steps: list[Instruction] = []
    for n, step in enumerate(program):
        if n == at:
            continue
        new.update({Ref(n, k): Ref(len(steps), k) for k in range(results(step))})
        steps.append(refer(step, new))
    return Program(tuple(steps))


def _bypassed(program: Program, at: int, source: Ref) -> Program:
    """The program in which the users of instruction `at` use `source` instead."""
    steps = list(program.instructions)
    for n in range(at + 1, len(steps)):
        step = steps[n]
        refs = {Ref(m, k): Ref(m, k) for m in range(n) for k in range(results(program[m]))}
        steps[n] = refer(step, {**refs, Ref(at): source})
    return Program(tuple(steps))
