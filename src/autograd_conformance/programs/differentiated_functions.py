"""What of a program computes a call's roots from its inputs: the body of the function that a functional framework
differentiates, which closes over all else.
"""

from __future__ import annotations

from autograd_conformance.programs.language import Apply, Detach, Grad, Instruction, Program, Ref
from autograd_conformance.programs.operands import operands, results


def body(program: Program, call: Grad) -> tuple[int, ...]:
    """The numbers of the instructions on the way from a call's inputs to its roots, in order; a gradient is on it where
    it was made to be differentiated.
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
    """The values that an instruction reads: of a call for gradients, what its function is given and closes over."""
    if not isinstance(step, Grad):
        return frozenset(operands(step))
    inner = body(program, step)
    within = {ref for at in inner for ref in made(program, at)}
    used = {ref for at in inner for ref in reads(program, program[at])}
    return frozenset({*step.inputs, *((used | {*step.roots}) - within)})


def made(program: Program, at: int) -> tuple[Ref, ...]:
    """The values that an instruction makes."""
    return tuple(Ref(at, k) for k in range(results(program[at])))


def _passes(step: Instruction) -> bool:
    """Whether an instruction computes something that can be differentiated."""
    return isinstance(step, (Apply, Detach)) or (isinstance(step, Grad) and step.create_graph)
