"""Ablation: finds the ops without which the same program no longer fails in the same way.

An op with a wrong gradient breaks many rules. Whether it causes a failure is tested by removing it from the program.
"""

from __future__ import annotations

from autograd_conformance.checking.category import category_of
from autograd_conformance.failures.case import Case
from autograd_conformance.programs.editing import bypassed, is_valid, replaced, without
from autograd_conformance.programs.language import Apply, Leaf, Literal, Program, Ref
from autograd_conformance.reference.reference import Reference

MAX_OPS = 6
"""No op is removed from a program with more different ops than this; the op that the violation names does not count."""


def essential_ops(case: Case) -> tuple[str, ...]:
    """Returns the names of the ops without which the failure disappears, in program order. The op that the violation
    names is not tested.
    """
    program = case.program.upto(case.violation.at + 1)
    ops = dict.fromkeys(step.op for step in program if isinstance(step, Apply) and step.op != case.violation.op)
    return tuple(op for op in ops if len(ops) <= MAX_OPS and not case.is_over() and _is_essential(op, program, case))


def _is_essential(op: str, program: Program, case: Case) -> bool:
    changed = _without_op(op, program)
    if changed is None:
        return False
    judged = case.judge(changed)
    if not judged.is_smooth:
        return False  # a program that cannot be judged proves nothing
    return judged.violation is None or category_of(judged.violation) != category_of(case.violation)


def _without_op(op: str, program: Program) -> Program | None:
    """Returns the program without an op: users of its result use an operand of the same shape, or else a leaf with the
    result's values.

    None if there is no such program, or if it would lose more than the op.
    """
    leaves = [step for step in program if isinstance(step, Leaf)]
    dtypes = {leaf.value.dtype for leaf in leaves}
    if program.stateful or len(dtypes) != 1:
        return None
    values = Reference(program).values
    for at, step in reversed(list(enumerate(program))):  # removing an instruction moves the later ones
        if isinstance(step, Apply) and step.op == op:
            if step.results != 1:
                return None
            value = values[Ref(at)]
            like = next((arg for arg in step.args if values[arg].shape == value.shape), None)
            if like is None:
                if not all(isinstance(program[arg.at], Leaf) for arg in step.args):
                    return None  # the ops before it would leave the graph, too
                literal = Literal(tuple(value.ravel().tolist()), value.shape, *dtypes)
                program = replaced(program, at, Leaf(literal, all(leaf.requires_grad for leaf in leaves)))
            else:
                program = without(bypassed(program, at, like), at)
    return program if is_valid(program) else None
