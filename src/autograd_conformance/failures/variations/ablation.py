"""The ops that a failure hangs on: those without which the same program does not differ in the same way.

An op that is wrong by itself shows in the programs of many rules; that it is to blame there is tried, not guessed.
"""

from __future__ import annotations

from autograd_conformance.checking.category import category_of
from autograd_conformance.checking.check import first_violation
from autograd_conformance.failures.case import Case
from autograd_conformance.programs.editing import bypassed, is_valid, replaced, without
from autograd_conformance.programs.language import Apply, Leaf, Literal, Program, Ref
from autograd_conformance.reference.reference import Reference
from autograd_conformance.tape.trace import is_smooth_throughout

MAX_OPS = 6
"""In programs of more ops than this nothing is tried."""


def essential_ops(case: Case) -> tuple[str, ...]:
    """The names of these ops, in their order in the program; the one that the violation blames is not tried."""
    program = case.program.upto(case.violation.at + 1)
    ops = dict.fromkeys(step.op for step in program if isinstance(step, Apply) and step.op != case.violation.op)
    return tuple(op for op in ops if len(ops) <= MAX_OPS and _is_essential(op, program, case))


def _is_essential(op: str, program: Program, case: Case) -> bool:
    changed = _without_op(op, program)
    if changed is None:
        return False
    observation = case.target.observe(changed)
    if not is_smooth_throughout(changed, observation, case.target.traits):
        return False  # what is not judged is not right
    violation = first_violation(changed, observation, case.target)
    return violation is None or category_of(violation) != category_of(case.violation)


def _without_op(op: str, program: Program) -> Program | None:
    """The program in which what uses the op's result uses an operand of the same shape instead, or, where it has none,
    a leaf with the result's values; None where that cannot be made, or would take away more than the op.
    """
    leaves = [step for step in program if isinstance(step, Leaf)]
    dtypes = {leaf.value.dtype for leaf in leaves}
    if program.stateful or len(dtypes) != 1:
        return None
    values = Reference(program).values
    for at, step in reversed(list(enumerate(program))):  # what is taken out moves what is behind it
        if isinstance(step, Apply) and step.op == op:
            if step.results != 1:
                return None
            value = values[Ref(at)]
            like = next((arg for arg in step.args if values[arg].shape == value.shape), None)
            if like is None:
                if not all(isinstance(program[arg.at], Leaf) for arg in step.args):
                    return None  # what is before it would be out of the graph, too
                literal = Literal(tuple(value.ravel().tolist()), value.shape, *dtypes)
                program = replaced(program, at, Leaf(literal, all(leaf.requires_grad for leaf in leaves)))
            else:
                program = without(bypassed(program, at, like), at)
    return program if is_valid(program) else None
