"""Makes program variants that may pass, and that locate the fault if they do: another implementation, another operand,
a copy instead of a view, another op.

A variant still compares what failed. If it passes with a copy instead of a view, the view is at fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.optimizers import IMPLEMENTATION, OPTIMIZERS
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.editing import bypassed, cloned, inserted, replaced
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import (
    Apply,
    Attrs,
    Backward,
    BackwardCall,
    Detach,
    Grad,
    Groups,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    Optimizer,
    Program,
    Ref,
    Shape,
    Step,
)
from autograd_conformance.programs.operands import operands, same_optimizer, with_operands

Variations = Iterator[tuple[str, Program]]
"""Changed programs, each with a description of the change that completes "passes ...": "with a clone of x as operand 2
on line 3"."""

STAND_INS: Mapping[int, tuple[str, ...]] = {1: ("exp", "negative"), 2: ("multiply", "add")}
"""The ops to put in the place of another op, by its number of operands: the first one that the framework has and that
is not the replaced op is used."""


def candidates(program: Program, shapes: Mapping[Ref, Shape], has: Collection[str]) -> Variations:
    """Yields all variants, the most informative first.

    `shapes` holds the shapes of the program's values; `has` holds the names of the framework's ops.
    """
    yield from _optimizers(program)
    yield from _numbers(program)
    yield from _views(program)
    yield from _operands(program)
    yield from _calls(program)
    yield from _writes(program)
    yield from _shapes(program, shapes)
    yield from _ops(program, shapes, has)


# -- optimizers -------------------------------------------------------------------------------------------------------


def _optimizers(program: Program) -> Variations:
    """Yields programs with another implementation of an optimizer, without one of its settings, or without settings of
    single groups.
    """
    done: list[Optimizer | Step] = []
    for at, step in enumerate(program):
        if not isinstance(step, (Optimizer, Step)) or any(same_optimizer(step, other) for other in done):
            continue
        done.append(step)
        given, defaults = dict(step.settings), dict(OPTIMIZERS[step.optimizer].defaults)
        for name in given:
            if name in IMPLEMENTATION and given[name]:
                settings = {**given, name: False}
                yield f"with {name}=False on line {at + 1}", _set(program, step, tuple(settings.items()), step.groups)
        for name, value in sorted(given.items(), key=lambda each: not isinstance(each[1], bool)):
            if name in defaults and name != "lr" and value != defaults[name]:
                settings = {k: v for k, v in given.items() if k != name}
                yield f"without {name} on line {at + 1}", _set(program, step, tuple(settings.items()), step.groups)
        if any(own for _, own in step.groups):
            text = f"without settings of single parameter groups on line {at + 1}"
            yield text, _set(program, step, step.settings, tuple((count, ()) for count, _ in step.groups))


def _set(program: Program, one: Optimizer | Step, settings: Attrs, groups: Groups) -> Program:
    """Returns the program with other settings of one optimizer, in each instruction that uses it."""
    steps: list[Instruction] = []
    for step in program:
        if isinstance(step, (Optimizer, Step)) and same_optimizer(step, one):
            step = replace(step, settings=settings, groups=groups)
        steps.append(step)
    return replace(program, instructions=tuple(steps))


# -- numbers ----------------------------------------------------------------------------------------------------------


def _numbers(program: Program) -> Variations:
    """Yields programs with other numbers where the present ones may be special: zeros, values equal to another leaf's,
    and float32.
    """
    literals: set[Literal] = set()
    for at, step in enumerate(program):
        if isinstance(step, Leaf):
            if 0.0 in step.value.data:
                nonzero = tuple(x or 1.0 for x in step.value.data)
                yield f"with ones for the zeros on line {at + 1}", replaced(program, at, _holding(step, nonzero))
            if step.value in literals and step.value.data:
                others = tuple(x + 0.25 for x in step.value.data)
                yield f"with other numbers on line {at + 1}", replaced(program, at, _holding(step, others))
            literals.add(step.value)
    if any(isinstance(s, Leaf) and s.value.dtype == "float32" for s in program):
        yield "in float64", Program(tuple(map(_widened, program)), program.modes)


def _holding(step: Leaf, data: tuple[float, ...]) -> Leaf:
    return replace(step, value=replace(step.value, data=data))


def _widened(step: Instruction) -> Instruction:
    if isinstance(step, Leaf):
        return replace(step, value=replace(step.value, dtype="float64"))
    if isinstance(step, (Backward, Grad)):
        given = tuple(None if c is None else replace(c, dtype="float64") for c in step.cotangents)
        return replace(step, cotangents=given)
    return step


# -- views and operands -----------------------------------------------------------------------------------------------


def _views(program: Program) -> Variations:
    """Yields programs with the base in place of its view, or with a copy of the view."""
    name = names(program)
    for at, step in enumerate(program):
        if isinstance(step, Apply) and step.results == 1 and row_of(step.op).aliases is not Certainty.NEVER:
            view, base = Ref(at), step.args[0]
            yield f"with {name[base]} in the place of its view {name[view]}", bypassed(program, at, base)
            if at + 1 < len(program):
                yield f"with a clone of the view after line {at + 1}", cloned(program, at + 1, view)


def _operands(program: Program) -> Variations:
    """Yields programs with another operand in place of one that was used before: a copy, or another leaf with the same
    values.
    """
    name, used = names(program), set[Ref]()
    for at, step in enumerate(program):
        if not isinstance(step, Apply):
            continue
        for k, ref in enumerate(step.args):
            leaf, twice = program[ref.at], step.args.count(ref) > 1
            where = f"{f'as operand {k + 1}' if twice else 'in its place'} on line {at + 1}"
            if ref in used and isinstance(leaf, Leaf):
                yield f"with another leaf like {name[ref]} {where}", _given(inserted(program, at, leaf), at, k)
            if ref in step.args[:k]:
                copy = inserted(program, at, Apply("clone", (ref,)))
                yield f"with a clone of {name[ref]} {where}", _given(copy, at, k)
            used.add(ref)


def _given(program: Program, at: int, k: int) -> Program:
    """Returns the program in which operand `k` of the instruction after `at` is the result of the instruction at
    `at`.
    """
    step = program[at + 1]
    given = [Ref(at) if n == k else ref for n, ref in enumerate(operands(step))]
    return replaced(program, at + 1, with_operands(step, given))


def _writes(program: Program) -> Variations:
    """Yields programs in which an in-place write changes a copy instead of the value itself."""
    for at, step in enumerate(program):
        if isinstance(step, InPlace):
            yield f"with a clone before the write on line {at + 1}", cloned(program, at, step.target)


# -- calls ------------------------------------------------------------------------------------------------------------


def _calls(program: Program) -> Variations:
    """Yields programs in which a call has repeated roots or inputs listed once, a single root, no inputs, or cotangents
    of ones.
    """
    for at, step in enumerate(program):
        if not isinstance(step, BackwardCall):
            continue
        roots = dict(zip(step.roots, step.cotangents, strict=True))
        if len(roots) < len(step.roots):
            once = replace(step, roots=tuple(roots), cotangents=tuple(roots.values()))
            yield f"with each root listed once on line {at + 1}", replaced(program, at, once)
        if isinstance(step, Grad) and at == len(program) - 1 and len(set(step.inputs)) < len(step.inputs):
            inputs = tuple(dict.fromkeys(step.inputs))
            yield f"with each input listed once on line {at + 1}", replaced(program, at, replace(step, inputs=inputs))
        if len(roots) > 1:
            name = names(program)
            for root, cotangent in roots.items():
                alone = replace(step, roots=(root,), cotangents=(cotangent,))
                yield f"with {name[root]} as the only root on line {at + 1}", replaced(program, at, alone)
        if isinstance(step, Backward) and step.inputs is not None:
            yield f"without inputs on line {at + 1}", replaced(program, at, replace(step, inputs=None))
        ones = tuple(c and replace(c, data=(1.0,) * len(c.data)) for c in step.cotangents)
        if ones != step.cotangents:
            changed = replace(step, cotangents=ones)
            yield f"with a cotangent of ones on line {at + 1}", replaced(program, at, changed)


# -- shapes and ops ------------------------------------------------------------------------------------------------


def _shapes(program: Program, shapes: Mapping[Ref, Shape]) -> Variations:
    """Yields programs in which a leaf with one element is expanded to the result's shape, so that nothing is
    broadcast.
    """
    name = names(program)
    for at, step in enumerate(program):
        if not isinstance(step, Apply) or len(step.args) < 2 or step.results != 1:
            continue
        shape = shapes.get(Ref(at), ())
        for ref in dict.fromkeys(step.args):
            leaf = program[ref.at]
            if isinstance(leaf, Leaf) and len(leaf.value.data) == 1 and leaf.value.shape != shape and 0 not in shape:
                data = leaf.value.data * _size(shape)
                expanded = replace(leaf, value=replace(leaf.value, data=data, shape=shape))
                yield f"with {name[ref]} of shape {shape} on line {ref.at + 1}", replaced(program, ref.at, expanded)


def _size(shape: Shape) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def _ops(program: Program, shapes: Mapping[Ref, Shape], has: Collection[str]) -> Variations:
    """Yields programs with another op in place of one that keeps its operands' shape, without such an op if it has only
    one operand, or without a detach. The only op of a program stays: that others are right says nothing about it.
    """
    is_only = sum(isinstance(step, Apply) for step in program) == 1
    for at, step in enumerate(program):
        if isinstance(step, Detach):
            yield f"without the detach on line {at + 1}", bypassed(program, at, step.source)
        if not isinstance(step, Apply) or step.results != 1 or is_only:
            continue
        if any(shapes.get(ref) != shapes.get(Ref(at)) for ref in step.args) or Ref(at) not in shapes:
            continue
        other = next((op for op in STAND_INS.get(len(step.args), ()) if op != step.op and op in has), None)
        if other is not None:
            changed = Apply(other, step.args)
            yield f"with {other} in the place of {step.op} on line {at + 1}", replaced(program, at, changed)
        if len(set(step.args)) == 1:
            yield f"if the op on line {at + 1} is left out", bypassed(program, at, step.args[0])
