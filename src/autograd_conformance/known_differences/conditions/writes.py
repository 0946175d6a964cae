"""Conditions about in-place writes: into computed values, shared memory, operands of an op, and leaves that were made
of views.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator

from autograd_conformance.known_differences.condition import ProgramFlag
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Detach,
    InPlace,
    Instruction,
    Leaf,
    Program,
    ReadGrad,
    Ref,
    SetRequiresGrad,
    Step,
)
from autograd_conformance.programs.regions import regions
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.violations.violation import Violation


class WritesNonLeaf(ProgramFlag):
    """An earlier instruction writes into a computed value, or into a view of one."""

    key, old_key = "writes_non_leaf", "computed"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        targets = (step.target for step in program.instructions[: violation.at] if isinstance(step, InPlace))
        return any(isinstance(program[owner(program, target)], Apply) for target in targets)


class WritesConstant(ProgramFlag):
    """The failing instruction writes into a value that requires no grad."""

    key = "writes_constant"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        failing = program[violation.at]
        if not isinstance(failing, InPlace):
            return False
        return not Reference(program.upto(violation.at)).requires_grad[failing.target]


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


class WritesDetachedMemory(ProgramFlag):
    """Up to and including the failing instruction, a write or an optimizer step changes memory that a value shares with
    a detached one.
    """

    key = "writes_detached_memory"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        shared: set[int] = set()
        for at, step in enumerate(program.instructions[: violation.at + 1]):
            if isinstance(step, Detach):
                shared.add(owner(program, Ref(at)))
            if not shared.isdisjoint(_written(program, step)):
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
            if not read.isdisjoint(_written(program, step)):
                return True
        return False


class _WritesViewedLeaf(ProgramFlag):
    """The base class of conditions on a write into the memory of a leaf of one kind, after a view of it was taken."""

    covers_gradients = True

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        viewed: set[int] = set()
        for at, step in enumerate(program.instructions[: violation.at]):
            if isinstance(step, Apply) and step.op in VIEWS and step.args and self.is_such(program, step.args[0], at):
                viewed.add(owner(program, step.args[0]))
            elif not viewed.isdisjoint(_written(program, step)):
                return True
        return False

    @staticmethod
    @abstractmethod
    def is_such(program: Program, ref: Ref, at: int) -> bool:
        """Whether a value is, or is a view of, a leaf of that kind at instruction `at`."""


class WritesOverlappingLeaf(_WritesViewedLeaf):
    """Before the failing instruction, a write or an optimizer step changes a leaf that overlaps itself in memory, after
    a view of this leaf was taken. Such a leaf is a detached result of a broadcast or of sliding windows.
    """

    key, old_key = "writes_overlapping_leaf", "overlapped"

    @staticmethod
    def is_such(program: Program, ref: Ref, at: int) -> bool:
        return _overlaps(program, ref)


class WritesViewLeaf(_WritesViewedLeaf):
    """Before the failing instruction, a write or an optimizer step changes the memory of a leaf that is a view of a
    value without gradient, after a view of this leaf was taken.
    """

    key = "writes_view_leaf"

    @staticmethod
    def is_such(program: Program, ref: Ref, at: int) -> bool:
        leaves = {step.target for step in program.instructions[:at] if isinstance(step, SetRequiresGrad) and step.on}
        found = False
        while isinstance(step := program[ref.at], Apply) and step.op in VIEWS and step.args:
            found = found or ref in leaves
            ref = step.args[0]
        return found and not Reference(program).requires_grad[ref]


def _overlaps(program: Program, ref: Ref, detached: bool = False) -> bool:
    """Returns whether a value is, or is a view of, a detached result whose elements may share memory."""
    match program[ref.at]:
        case Detach(source):
            return _overlaps(program, source, True)
        case Apply(op, args) if op in VIEWS and args:
            return (detached and row_of(op).overlaps) or _overlaps(program, args[0], detached)
        case _:
            return False


def _written(program: Program, step: Instruction) -> Iterator[int]:
    """Yields the numbers of the instructions that allocated the memory into which an instruction writes."""
    match step:
        case InPlace(target=target):
            yield owner(program, target)
        case Step(leaves=leaves):
            yield from (owner(program, leaf) for leaf in leaves)
        case _:
            pass


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
