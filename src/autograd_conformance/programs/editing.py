"""Edits of programs: instructions are removed, inserted or replaced, and all others keep their grad modes."""

from __future__ import annotations

from dataclasses import replace

from autograd_conformance.programs.language import (
    Apply,
    Clip,
    Detach,
    Instruction,
    Leaf,
    Modes,
    Optimizer,
    Program,
    Ref,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.operands import operands, refer, results, with_operands
from autograd_conformance.programs.validation import MalformedProgram, validate


def is_valid(program: Program) -> bool:
    """Whether an edited program is well formed."""
    try:
        validate(program)
    except MalformedProgram:  # such as a value that is now used after it was dropped
        return False
    return True


def replaced(program: Program, at: int, step: Instruction) -> Program:
    """Returns the program with instruction `at` replaced by `step`."""
    return replace(program, instructions=(*program.instructions[:at], step, *program.instructions[at + 1 :]))


def with_modes(program: Program, at: int, modes: Modes) -> Program:
    """Returns the program with the grad modes of instruction `at` replaced."""
    return replace(program, modes=(*program.modes[:at], modes, *program.modes[at + 1 :]))


def without(program: Program, at: int) -> Program:
    """Returns the program without instruction `at`, whose results are unused."""
    new: dict[Ref, Ref] = {}
    steps: list[Instruction] = []
    for n, step in enumerate(program):
        if n != at:
            new.update({Ref(n, k): Ref(len(steps), k) for k in range(results(step))})
            steps.append(refer(step, new))
    return Program(tuple(steps), (*program.modes[:at], *program.modes[at + 1 :]))


def inserted(program: Program, at: int, step: Instruction) -> Program:
    """Returns the program with `step`, whose results no instruction uses yet, inserted before instruction `at`, outside
    of all grad modes.
    """
    new = {Ref(n, k): Ref(n + (n >= at), k) for n, each in enumerate(program) for k in range(results(each))}
    later = tuple(refer(each, new) for each in program.instructions[at:])
    modes = (*program.modes[:at], (), *program.modes[at:]) if program.modes else ()
    return Program((*program.instructions[:at], step, *later), modes)


def redirected(program: Program, at: int, old: Ref, new: Ref) -> Program:
    """Returns the program in which `new` replaces `old` as operand of all instructions from `at` on."""
    later = (
        with_operands(step, [new if ref == old else ref for ref in operands(step)])
        for step in program.instructions[at:]
    )
    return replace(program, instructions=(*program.instructions[:at], *later))


def cloned(program: Program, at: int, target: Ref) -> Program:
    """Returns the program in which a copy of `target`, made before instruction `at`, replaces `target` as operand from
    there on.
    """
    return redirected(inserted(program, at, Apply("clone", (target,))), at + 1, target, Ref(at))


def bypassed(program: Program, at: int, source: Ref) -> Program:
    """Returns the program in which `source` replaces the result of instruction `at` as operand."""
    return redirected(program, at + 1, Ref(at), source)


def without_leaf(program: Program, leaf: Ref) -> Program:
    """Returns the program in which optimizers, clearing and clipping no longer act on a leaf, wherever they act on
    another one, too.
    """
    steps = tuple(
        _spared(step, leaf)
        if isinstance(step, (Optimizer, Step, ZeroGrad, Clip)) and any(ref != leaf for ref in step.leaves)
        else step
        for step in program
    )
    return replace(program, instructions=steps)


def _spared(step: Optimizer | Step | ZeroGrad | Clip, leaf: Ref) -> Instruction:
    leaves = tuple(ref for ref in step.leaves if ref != leaf)
    if not isinstance(step, (Optimizer, Step)) or not step.groups:
        return replace(step, leaves=leaves)
    groups, first = [], 0
    for count, own in step.groups:
        left = sum(ref != leaf for ref in step.leaves[first : first + count])
        groups += [(left, own)] if left else []
        first += count
    return replace(step, leaves=leaves, groups=tuple(groups))


def pruned(program: Program, at: int) -> Program:
    """Returns the program without instruction `at` and without all instructions that depend on its results."""
    gone = {at}
    for n, step in enumerate(program):
        if any(ref.at in gone for ref in operands(step)):
            gone.add(n)
    for n in sorted(gone, reverse=True):
        program = without(program, n)
    return program


def computation(program: Program) -> Program:
    """Returns the program without its calls and other actions: its leaves, ops and detached values are left."""
    for at in reversed(range(len(program))):
        if not isinstance(program[at], Leaf | Apply | Detach):
            program = pruned(program, at)
    return program
