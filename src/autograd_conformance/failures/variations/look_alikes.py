"""Separates diagnoses that give the same numbers in the failing program: they give others in a variation of it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from autograd_conformance.failures.case import Case
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.editing import inserted, replaced
from autograd_conformance.programs.language import Apply, Backward, BackwardCall, Leaf, Literal, Program, Ref, ZeroGrad
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.diagnosis.kinds import DiagnosisKind
from autograd_conformance.rules.violations.violation import Violation, diagnosed

OF_EQUAL_LEAVES = frozenset({DiagnosisKind.LEAVES_MERGED, DiagnosisKind.LEAVES_SWAPPED})
"""Diagnoses by which two leaves are confused because their values are equal."""

OF_CALLS = frozenset(
    {
        DiagnosisKind.ADDED_TWICE,
        DiagnosisKind.HELD_TWICE,
        DiagnosisKind.GRADIENTS_KEPT,
        DiagnosisKind.NOTHING_ADDED,
    }
)
"""Diagnoses of what a call adds to a leaf, or of what an earlier call left."""


TIMES = "multiply_scalar"
"""The op that gives a root another cotangent where a call takes none."""


def told_apart(case: Case) -> Violation:
    """Returns the violation with the diagnosis that also holds in variations of the program, or with none."""
    violation, program = case.violation, case.program.upto(case.violation.at + 1)
    for kinds, vary in VARIATIONS:
        if violation.diagnosis is None or violation.diagnosis.kind not in kinds or violation.undiagnosed is None:
            continue
        other = vary(case, program)
        found = None if other is None else _violation(case, other)
        if other is None or found is None or found.diagnosis == violation.diagnosis:
            continue  # it holds: the program passes, or has the same diagnosis
        if found.diagnosis is None or found.diagnosis.kind not in OF_CALLS:
            return violation.undiagnosed
        violation = diagnosed(violation.undiagnosed, found.diagnosis, found.rule, found.op)
        program = other
    return violation


def _violation(case: Case, program: Program) -> Violation | None:
    """Returns the violation of a program's last call in the same place; None if there is none."""
    try:
        found = case.judge(program).violation
    except Exception:  # operands outside of an op's domain
        return None
    is_same = found is not None and (found.at, found.subject) == (len(program) - 1, case.violation.subject)
    return found if is_same else None


def _with_unequal_leaves(_: Case, program: Program) -> Program:
    """Returns the program in which no two leaves are equal. Where such leaves are wrong, too, they are not confused."""
    steps = tuple(
        replace(step, value=replace(step.value, data=tuple(x * (1 + at / 8) for x in step.value.data)))
        if isinstance(step, Leaf)
        else step
        for at, step in enumerate(program)
    )
    return replace(program, instructions=steps)


def _with_other_cotangents(case: Case, program: Program) -> Program | None:
    """Returns the program in which the last call has other cotangents, or begins at three times its only root if the
    framework takes none; None if that is not possible, either. With the cotangent of an earlier call, a contribution
    that is added twice looks like gradients that non-leaf values kept, or like those of another graph.
    """
    at = len(program) - 1
    call = program[at]
    if not isinstance(call, Backward):
        return None
    if Capability.COTANGENTS not in case.target.capabilities:
        if TIMES not in case.target.ops or len(call.roots) > 1:
            return None
        longer = inserted(program, at, Apply(TIMES, call.roots, (("scalar", 3.0),)))
        return replaced(longer, at + 1, replace(call, roots=(Ref(at),)))
    given = zip(call.roots, call.cotangents, strict=True)
    return replaced(program, at, replace(call, cotangents=tuple(tripled(case, *each) for each in given)))


def _with_cleared_leaves(case: Case, program: Program) -> Program | None:
    """Returns the program in which the gradients of leaves are cleared before the last call, which has other
    cotangents; None if the framework does not clear any. After one earlier call, what a leaf held looks like what the
    values of that call kept.
    """
    if Capability.ZERO_TO_NONE not in case.target.capabilities:
        return None
    leaves = tuple(Ref(k) for k, step in enumerate(program) if isinstance(step, Leaf) and step.requires_grad)
    other = _with_other_cotangents(case, program) or program
    return inserted(other, len(other) - 1, ZeroGrad(leaves))


def _with_retained_graphs(case: Case, program: Program) -> Program | None:
    """Returns the program in which all earlier calls retain the graph; None if the framework has no such option. Where
    nothing is freed, nothing is missing because of that.
    """
    if Capability.RETAIN not in case.target.capabilities:
        return None
    *earlier, last = program.instructions
    kept = (replace(step, retain_graph=True) if isinstance(step, BackwardCall) else step for step in earlier)
    return replace(program, instructions=(*kept, last))


VARIATIONS: tuple[tuple[Collection[DiagnosisKind], Callable[[Case, Program], Program | None]], ...] = (
    (OF_EQUAL_LEAVES, _with_unequal_leaves),
    ((DiagnosisKind.ADDED_TWICE,), _with_other_cotangents),
    ((DiagnosisKind.HELD_TWICE,), _with_cleared_leaves),
    ((DiagnosisKind.FREED_PASSES_NOTHING,), _with_retained_graphs),
)
"""The variations that are tried, in this order, and the diagnoses for which they are."""


def tripled(case: Case, root: Ref, cotangent: Literal | None) -> Literal:
    """Returns three times a root's cotangent, which is 1 if none is given."""
    if cotangent is not None:
        return replace(cotangent, data=tuple(3 * x for x in cotangent.data))
    value = np.asarray(case.context.reference.values[root])
    return Literal((3.0,) * value.size, np.shape(value), value.dtype.name)
