"""The functions that functional frameworks differentiate: for a `Grad` call, the instructions that compute its roots
from its inputs. The function closes over all other values.
"""

from __future__ import annotations

from autograd_conformance.programs.language import Apply, Detach, Grad, Instruction, Program, Ref
from autograd_conformance.programs.operands import operands, results


def body(program: Program, call: Grad) -> tuple[int, ...]:
    """Returns the numbers of the instructions that compute a call's roots from its inputs, in order. Inner `Grad` calls
    are included if they set `create_graph`.
    """
    depends, steps = set(call.inputs), []
    for at, step in enumerate(program.instructions[: max(root.at for root in call.roots) + 1]):
        if _passes(step) and not depends.isdisjoint(reads(program, step)):
            steps.append(at)
            depends.update(made(program, at))
    needed, kept = set(call.roots), []
    for at in reversed(steps):
        if not needed.isdisjoint(made(program, at)):
            kept.append(at)
            needed.update(reads(program, program[at]))
    return tuple(reversed(kept))


def reads(program: Program, step: Instruction) -> frozenset[Ref]:
    """Returns the values that an instruction reads; for a `Grad` call, the inputs and the closed-over values of its
    function.
    """
    if not isinstance(step, Grad):
        return frozenset(operands(step))
    inner = body(program, step)
    within = {ref for at in inner for ref in made(program, at)}
    used = {ref for at in inner for ref in reads(program, program[at])}
    return frozenset({*step.inputs, *((used | {*step.roots}) - within)})


def made(program: Program, at: int) -> tuple[Ref, ...]:
    """Returns the values that instruction `at` makes."""
    return tuple(Ref(at, k) for k in range(results(program[at])))


def _passes(step: Instruction) -> bool:
    """Whether an instruction can be a part of a differentiated function: an op, a detach, or a `Grad` call with
    `create_graph`.
    """
    return isinstance(step, (Apply, Detach)) or (isinstance(step, Grad) and step.create_graph)
