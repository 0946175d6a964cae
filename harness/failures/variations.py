"""The nearest variation that passes: one change to a failing program, the smallest first, that breaks no rule.

What has to change for a failure to go away is often the shortest description of the bug.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import assert_never

from autograd_conformance.harness.check import passes
from autograd_conformance.harness.failures.case import Case
from autograd_conformance.programs.editing import bypassed, cloned, replaced, sound, under, without
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    BackwardCall,
    Clip,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    Optimizer,
    Program,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.operands import operands, results

MOST = 40
"""How many variations are tried."""

Variations = Iterator[tuple[str, Program]]


def nearest(case: Case) -> str | None:
    """A phrase for the first variation that passes ("passes with retain_graph=True on line 3"), or None."""
    for text, changed in islice(variations(case.program.upto(case.violation.at + 1)), MOST):
        if passes(changed, case.target):
            return f"passes {text}"
    return None


def variations(program: Program) -> Variations:
    """Every variation that is another program, and sound, with what it is, the smallest changes first."""
    for text, changed in _changes(program):
        if changed.instructions and changed != program and sound(changed):
            yield text, changed


def _changes(program: Program) -> Variations:
    yield from _retained(program)
    yield from _less(program)
    yield from _moved(program)
    yield from _calls(program)
    yield from _values(program)
    for at, step in enumerate(program):
        if isinstance(step, Detach):
            yield f"without the detach on line {at + 1}", bypassed(program, at, step.source)
        elif isinstance(step, Apply) and len(step.args) == 1 and step.results == 1:
            yield f"without the op on line {at + 1}", bypassed(program, at, step.args[0])


def _retained(program: Program) -> Variations:
    last = len(program) - 1
    for at, step in enumerate(program):
        if isinstance(step, BackwardCall):
            for keep in (True, False):
                if at != last and bool(step.retain_graph) != keep:
                    changed = replace(step, retain_graph=keep)
                    yield f"with retain_graph={keep} on line {at + 1}", replaced(program, at, changed)


def _less(program: Program) -> Variations:
    """Without an instruction whose results, if it makes any, nobody uses; without a grad mode."""
    used = {ref for step in program for ref in operands(step)}
    for at, step in enumerate(program.instructions[:-1]):
        makes = range(results(step))
        idle = isinstance(step, (Grad, Hook)) and not any(Ref(at, k) in used for k in makes)
        if idle or not makes:
            yield f"without line {at + 1}", without(program, at)
    for at, modes in enumerate(program.modes):
        if modes:
            yield f"without the grad mode on line {at + 1}", under(program, at, ())


def _moved(program: Program) -> Variations:
    """With a write to a copy."""
    for at, step in enumerate(program):
        if isinstance(step, InPlace):
            yield f"with a clone before the write on line {at + 1}", cloned(program, at, step.target)


def _calls(program: Program) -> Variations:
    for at, step in enumerate(program):
        if isinstance(step, BackwardCall):
            if step.retain_graph is not None:
                changed = replace(step, retain_graph=None)
                yield f"with retain_graph left out on line {at + 1}", replaced(program, at, changed)
            if step.create_graph and not any(ref.at == at for later in program for ref in operands(later)):
                changed = replace(step, create_graph=False, retain_graph=step.retains)
                yield f"without create_graph on line {at + 1}", replaced(program, at, changed)
            if isinstance(step, Backward) and step.inputs is not None:
                yield f"without inputs on line {at + 1}", replaced(program, at, replace(step, inputs=None))
            ones = tuple(c and replace(c, data=(1.0,) * len(c.data)) for c in step.cotangents)
            if ones != step.cotangents:
                changed = replace(step, cotangents=ones)
                yield f"with a cotangent of ones on line {at + 1}", replaced(program, at, changed)


def _values(program: Program) -> Variations:
    for at, step in enumerate(program):
        if isinstance(step, Leaf):
            if 0.0 in step.value.data:
                nonzero = tuple(x or 1.0 for x in step.value.data)
                yield f"with ones for the zeros on line {at + 1}", replaced(program, at, _leaf(step, nonzero))
            if not step.requires_grad:
                yield f"with requires_grad on line {at + 1}", replaced(program, at, replace(step, requires_grad=True))
    if any(isinstance(s, Leaf) and s.value.dtype == "float32" for s in program):
        yield "in float64", Program(tuple(_widened(s) for s in program), program.modes)


def _leaf(step: Leaf, data: tuple[float, ...]) -> Leaf:
    return replace(step, value=replace(step.value, data=data))


def _widened(step: Instruction) -> Instruction:
    match step:
        case Leaf(value):
            return replace(step, value=replace(value, dtype="float64"))
        case Backward(cotangents=cotangents) | Grad(cotangents=cotangents):
            return replace(step, cotangents=tuple(_wide(c) for c in cotangents))
        case (
            Apply() | Detach() | InPlace() | DetachInPlace() | SetRequiresGrad() | RetainGrad() | Hook() | RemoveHook()
            | ZeroGrad() | ReadGrad() | AssignGrad() | Optimizer() | Step() | Clip() | Delete()
        ):  # fmt: skip
            return step
        case _:
            assert_never(step)


def _wide(cotangent: Literal | None) -> Literal | None:
    return None if cotangent is None else replace(cotangent, dtype="float64")
