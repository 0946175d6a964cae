"""Conditions about in-place writes: into computed values, shared memory, operands of an op, and leaves that overlap
themselves in memory.
"""

from __future__ import annotations

from collections import Counter

from autograd_conformance.known_differences.condition import ProgramFlag
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
from autograd_conformance.rules.violations.violation import Violation


class WritesNonLeaf(ProgramFlag):
    """An earlier instruction writes into a computed value, or into a view of one."""

    key, old_key = "writes_non_leaf", "computed"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        targets = (step.target for step in program.instructions[: violation.at] if isinstance(step, InPlace))
        return any(isinstance(program[owner(program, target)], Apply) for target in targets)


class WritesSharedMemory(ProgramFlag):
    """A region (instructions that run as one compiled or checkpointed function) that begins at or before the failing
    instruction writes into memory that the region did not allocate and that several values share. A write outside all
    regions counts as a region of one instruction.
    """

    key, old_key = "writes_shared_memory", "aliased"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        for region in regions(program, lambda *_: True):
            if region.first > violation.at:
                break
            outside = [k for k in range(region.last) if isinstance(program[k], (Leaf, Apply, Detach))]
            owners = Counter(owner(program, Ref(k)) for k in outside if k not in region.steps)
            written = (step.target for k in region.steps if isinstance(step := program[k], InPlace))
            if any(owners[owner(program, target)] > 1 for target in written):
                return True
        return False


class OperandWritten(ProgramFlag):
    """After the entry's op was applied and before the failing instruction, a write or an optimizer step changes the
    memory of one of the op's operands.
    """

    key, old_key, about_op = "operand_written", "written", "it is about the operands of the op"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        read: set[int] = set()
        for step in program.instructions[: violation.at]:
            if isinstance(step, Apply) and step.op == op:
                read.update(owner(program, ref) for ref in step.args)
            targets = step.leaves if isinstance(step, Step) else (step.target,) if isinstance(step, InPlace) else ()
            if not read.isdisjoint(owner(program, target) for target in targets):
                return True
        return False


class WritesOverlappingLeaf(ProgramFlag):
    """Before the failing instruction, a write changes a leaf that overlaps itself in memory, after a view of this leaf
    was taken. Such a leaf is a detached result of a broadcast or of sliding windows.
    """

    key, old_key, covers_gradients = "writes_overlapping_leaf", "overlapped", True

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        viewed: set[int] = set()
        for step in program.instructions[: violation.at]:
            match step:
                case Apply(made, args) if made in VIEWS and args and _overlaps(program, args[0]):
                    viewed.add(owner(program, args[0]))
                case InPlace() if owner(program, step.target) in viewed:
                    return True
                case _:
                    pass
        return False


def _overlaps(program: Program, ref: Ref, detached: bool = False) -> bool:
    """Returns whether a value is, or is a view of, a detached result whose elements may share memory."""
    match program[ref.at]:
        case Detach(source):
            return _overlaps(program, source, True)
        case Apply(op, args) if op in VIEWS and args:
            return (detached and row_of(op).overlaps) or _overlaps(program, args[0], detached)
        case _:
            return False


def owner(program: Program, ref: Ref) -> int:
    """Returns the number of the instruction that allocated the memory of a value."""
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
    """Returns the value that was last assigned to the `.grad` of a leaf before instruction `at`; None without an
    assignment.
    """
    steps = (step for step in reversed(program.instructions[:at]) if isinstance(step, AssignGrad) and step.leaf == leaf)
    return next((step.value for step in steps), None)
