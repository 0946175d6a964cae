"""Pair coverage: the pairs of an op and a later action (an instruction other than an op, such as backward) in a
program, by dtype and grad mode. Only the programs are read, never what was observed.

That an action follows an op does not mean that it involves the op. But a pair that never occurs was certainly not
tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from autograd_conformance.programs.language import (
    INSTRUCTIONS,
    Apply,
    Backward,
    Grad,
    InPlace,
    Instruction,
    Leaf,
    Program,
    Ref,
    is_recorded,
)
from autograd_conformance.programs.operands import operands, results

ACTIONS = (
    "backward", "backward retaining", "backward creating", "backward into inputs", "grad", "grad creating",
    *(row.action for row in INSTRUCTIONS.values() if row.action is not None),
)  # fmt: skip
"""Names of the actions, instructions other than ops, that may follow an op."""


class Pair(NamedTuple):
    """An op in a dtype and grad mode, and a later action (an instruction other than an op) in the program."""

    op: str
    """Name of the op, such as `matmul`, or of an in-place op."""
    dtype: str
    """Dtype of the op's first operand, such as `float32`."""
    recorded: bool
    """Whether the grad mode records the op."""
    action: str
    """Name of the later action, a word of `ACTIONS`."""


def actions(step: Instruction) -> Iterator[str]:
    """Yields the words of `ACTIONS` for an instruction: several for a backward call with options, none for an op that
    is not in place.
    """
    match step:
        case Backward():
            yield "backward"
            if step.retain_graph:
                yield "backward retaining"
            if step.create_graph:
                yield "backward creating"
            if step.inputs is not None:
                yield "backward into inputs"
        case Grad(create_graph=create):
            yield "grad creating" if create else "grad"
        case _:
            word = INSTRUCTIONS[type(step)].action
            if word is not None:
                yield word


def pairs(program: Program) -> set[Pair]:
    """Returns all pairs of an op and a later action (an instruction other than an op) in a program."""
    dtypes: dict[Ref, str] = {}
    for at, step in enumerate(program):
        if isinstance(step, Leaf):
            dtypes[Ref(at)] = step.value.dtype
        elif (count := results(step)) and (read := operands(step)):
            dtype = dtypes.get(read[0], "float64")
            dtypes.update((Ref(at, k), dtype) for k in range(count))
    found: set[Pair] = set()
    after: set[str] = set()
    before: dict[tuple[str, str, bool], set[str]] = {}
    for at in range(len(program) - 1, -1, -1):
        step = program[at]
        if isinstance(step, (Apply, InPlace)) and after:
            first = step.args[0] if isinstance(step, Apply) else step.target
            dtype, recorded = dtypes.get(first, "float64"), is_recorded(program.mode(at))
            done = before.setdefault((step.op, dtype, recorded), set())
            if len(done) < len(after):  # every action after a later op is also after an earlier one
                found.update([Pair(step.op, dtype, recorded, action) for action in after - done])
                done |= after
        after.update(actions(step))
    return found
