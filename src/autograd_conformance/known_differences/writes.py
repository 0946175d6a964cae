"""What programs write into, as entries ask for it: what was computed, memory of several values, an op's operands,
memory in which a leaf overlaps itself.
"""

from __future__ import annotations

from collections import Counter

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Detach,
    InPlace,
    Leaf,
    Program,
    ReadGrad,
    Ref,
    Step,
)
from autograd_conformance.programs.regions import regions


def writes_non_leaf(program: Program, at: int) -> bool:
    """Whether a write into what an op computed, or into a part of it, stands before instruction `at`."""
    targets = (step.target for step in program.instructions[:at] if isinstance(step, InPlace))
    return any(isinstance(program[owner(program, target)], Apply) for target in targets)


def writes_shared_memory(program: Program, at: int) -> bool:
    """Whether a function that begins before instruction `at`, or with it, writes into memory in which several values
    lie that it did not make; a write that stands in no function is one by itself.
    """
    for region in regions(program, lambda *_: True):
        if region.first > at:
            break
        outside = [k for k in range(region.last) if isinstance(program[k], (Leaf, Apply, Detach))]
        owners = Counter(owner(program, Ref(k)) for k in outside if k not in region.steps)
        written = (step.target for k in region.steps if isinstance(step := program[k], InPlace))
        if any(owners[owner(program, target)] > 1 for target in written):
            return True
    return False


def writes_operand(program: Program, at: int, op: str) -> bool:
    """Whether a write into memory in which an operand of an op lies, or a step that moves one, stands behind the op and
    before instruction `at`.
    """
    read: set[int] = set()
    for step in program.instructions[:at]:
        if isinstance(step, Apply) and step.op == op:
            read.update(owner(program, ref) for ref in step.args)
        targets = step.leaves if isinstance(step, Step) else (step.target,) if isinstance(step, InPlace) else ()
        if not read.isdisjoint(owner(program, target) for target in targets):
            return True
    return False


def writes_overlapping_leaf(program: Program, at: int) -> bool:
    """Whether a write into memory in which a leaf overlaps itself stands before instruction `at`, behind a view of that
    leaf: one that was detached from what was broadcast or taken as windows.
    """
    viewed: set[int] = set()
    for step in program.instructions[:at]:
        match step:
            case Apply(op, args) if op in VIEWS and args and _overlaps(program, args[0]):
                viewed.add(owner(program, args[0]))
            case InPlace() if owner(program, step.target) in viewed:
                return True
            case _:
                pass
    return False


def _overlaps(program: Program, ref: Ref, detached: bool = False) -> bool:
    """Whether a value is, or is a view of, one that was detached from a result in which elements may overlap."""
    match program[ref.at]:
        case Detach(source):
            return _overlaps(program, source, True)
        case Apply(op, args) if op in VIEWS and args:
            return (detached and row_of(op).overlaps) or _overlaps(program, args[0], detached)
        case _:
            return False


def owner(program: Program, ref: Ref) -> int:
    """The instruction that made the memory in which a value lies."""
    match program[ref.at]:
        case Detach(source):
            return owner(program, source)
        case Apply(op, args) if op in VIEWS and args:
            return owner(program, args[0])
        case ReadGrad(leaf):
            assigned = _assigned(program, leaf, ref.at)
            return ref.at if assigned is None else owner(program, assigned)
        case _:
            return ref.at


def _assigned(program: Program, leaf: Ref, at: int) -> Ref | None:
    """What was last assigned as a leaf's gradient before instruction `at`, if anything was."""
    steps = (step for step in reversed(program.instructions[:at]) if isinstance(step, AssignGrad) and step.leaf == leaf)
    return next((step.value for step in steps), None)
