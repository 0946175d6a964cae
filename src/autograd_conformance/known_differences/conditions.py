"""One function for each key of an entry that is a condition: whether a violation of a program fulfils it.

The other keys limit how far values may be off, or say where the framework runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from autograd_conformance.known_differences.calls import (
    CALLS,
    grad_is_none,
    may_have_grad,
    operands_share_leaf,
    partly_reuses_graph,
    reaches_several_leaves,
    reuses_graph,
    reuses_root,
    upstream_of_call,
)
from autograd_conformance.known_differences.entry import Known
from autograd_conformance.known_differences.regions import (
    derives_through_region,
    returns_detached,
    returns_op,
    writes_in_region,
)
from autograd_conformance.known_differences.subject import dimensions, dtypes, elements, wrong_elements
from autograd_conformance.known_differences.writes import (
    writes_non_leaf,
    writes_operand,
    writes_overlapping_leaf,
    writes_shared_memory,
)
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.programs.language import (
    INSTRUCTIONS,
    Apply,
    DetachInPlace,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Program,
    Ref,
    SetRequiresGrad,
    Step,
)
from autograd_conformance.programs.operands import grouped, operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.violations.observed import RaisedError, ReturnedUnexpectedly
from autograd_conformance.rules.violations.violation import Violation

Condition = Callable[[Known, Program, Violation], bool]
"""A function that decides whether a violation of a program fulfils one key of an entry."""


def holds(entry: Known, program: Program, violation: Violation) -> bool:
    """Whether a violation fulfils every condition of an entry."""
    return all(CONDITIONS[key](entry, program, violation) for key in named(entry))


def named(entry: Known) -> list[str]:
    """The keys of an entry that are conditions, the cheap ones first."""
    return [key for key in CONDITIONS if getattr(entry, key) is not None and getattr(entry, key) is not False]


def ops_of(program: Program, violation: Violation) -> set[str]:
    """The op that a violation names; without one, all ops that the program applies or writes with."""
    if violation.op:
        return {violation.op}
    return {step.op for step in program if isinstance(step, (Apply, InPlace))}


@lru_cache(maxsize=64)
def values(program: Program) -> Mapping[Ref, np.ndarray]:
    """The reference values of a program, cached because several entries need them."""
    return MappingProxyType(dict(Reference(program).values))


def _error(violation: Violation) -> RaisedError | None:
    return violation.observed if isinstance(violation.observed, RaisedError) else None


def subject_of(program: Program, violation: Violation) -> Ref | None:
    """The value or leaf that a violation is about. If the violation names none, it is the target of a failing write, or
    the only root of a failing call.
    """
    failing = program[violation.at]
    if violation.subject is not None:
        return violation.subject
    if isinstance(failing, InPlace):
        return failing.target
    return failing.roots[0] if isinstance(failing, CALLS) and len(failing.roots) == 1 else None


def _may_be_zero(program: Program, op: str | None, operand: int) -> bool:
    """Whether this operand of an op may contain a zero, in at least one use of the op: it is a leaf with a zero, or any
    computed value.
    """
    uses = [step.args[operand : operand + 1] for step in program if isinstance(step, Apply) and step.op == op]
    made = (program[ref.at] for refs in uses for ref in refs)
    return any(not isinstance(step, Leaf) or 0 in step.value.data for step in made)


def _occurs_before(program: Program, at: int, what: str) -> bool:
    """Whether an instruction before instruction `at` matches `what`: an op, an optimizer step as `_is_step` reads it, a
    hook with its effect, or the word of an instruction.
    """
    before = program.instructions[:at]
    return any(
        INSTRUCTIONS[type(step)].notation == what
        or (isinstance(step, Hook) and f"hook {step.effect}" == what)
        or (isinstance(step, Apply) and step.op == what)
        or _is_step(step, what)
        for step in before
    )


def _has_duplicate_root(program: Program, at: int) -> bool:
    """Whether instruction `at`, or a call before it, has the same root twice, two roots that may be views of the same
    value, or a root that is also one of its inputs.
    """
    calls = [step for step in program.instructions[: at + 1] if isinstance(step, CALLS) and len(step.roots) > 1]
    if not calls:
        return False
    made = values(program)
    return any(
        not {*call.roots}.isdisjoint(call.inputs or ())
        or len({_base(program, root, made) for root in call.roots}) < len(call.roots)
        for call in calls
    )


def _base(program: Program, ref: Ref, made: Mapping[Ref, np.ndarray]) -> Ref:
    """The value that this value may be a view of, or identical to. An op with one operand may return its operand if it
    has nothing to do, such as a sum over one element.
    """
    step = program[ref.at]
    if not isinstance(step, Apply) or not step.args:
        return ref
    operand = step.args[0]
    alone = len(step.args) == 1 and np.array_equal(np.ravel(made[ref]), np.ravel(made[operand]))
    return _base(program, operand, made) if alone or step.op in VIEWS else ref


def _is_step(step: Instruction, described: str) -> bool:
    """Whether an instruction is a step of this optimizer, and one of its leaves has all these settings. `own:lr` means
    that the leaf's parameter group sets lr itself.
    """
    optimizer, *settings = described.split()
    if not isinstance(step, Step) or step.optimizer != optimizer:
        return False
    owned = {f"own:{key}" for _, own in step.groups for key, _ in own}
    return any(owned.union(f"{key}={value!r}" for key, value in all_).issuperset(settings) for _, all_ in grouped(step))


def _views(program: Program, violation: Violation) -> bool:
    """Whether the failing instruction makes a view, or, if the failing instruction applies no op, whether any op of the
    program makes one.

    For a failing region, the instruction is the one that made the value in question; if the region raised, any of its
    instructions.
    """
    subject, region = violation.subject, violation.regions.get(violation.at, ())
    failing = program[violation.at if subject is None or subject.at not in region else subject.at]
    inside = [program[at] for at in region] if subject is None else []
    steps = inside or ((failing,) if isinstance(failing, Apply) else program)
    return any(isinstance(step, Apply) and step.op in VIEWS for step in steps)


def _is_repeated(program: Program, violation: Violation) -> bool:
    """Whether the value in question was computed by an op that an earlier instruction applied to the same operands with
    the same attributes.
    """
    if violation.subject is None:
        return False
    made = program[violation.subject.at]
    return isinstance(made, Apply) and made in program.instructions[: violation.subject.at]


def _toggles_requires_grad(program: Program, at: int) -> bool:
    """Whether a write to `requires_grad`, or a detach in place, changes a leaf before instruction `at`, after an op has
    used this leaf.
    """
    used: set[Ref] = set()
    for step in program.instructions[:at]:
        if isinstance(step, (SetRequiresGrad, DetachInPlace)) and step.target in used & {*program.leaves}:
            return True
        used.update(operands(step) if isinstance(step, (Apply, InPlace)) else ())
    return False


def _has_root_without_inputs(program: Program, call: Instruction) -> bool:
    """Whether a call has a root that was computed from none of its inputs."""
    if not isinstance(call, CALLS):
        return False
    inputs = {*(call.inputs or program.leaves)}
    return any(inputs.isdisjoint(upstream_of_call(program, replace(call, roots=(root,)))) for root in call.roots)


CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {
        "op": lambda entry, program, it: entry.op in ops_of(program, it),
        "returned": lambda entry, program, it: isinstance(it.observed, ReturnedUnexpectedly),
        "raised": lambda entry, program, it: (error := _error(it)) is not None and error.kind.value == entry.raised,
        "message": lambda entry, program, it: (error := _error(it)) is not None and str(entry.message) in error.message,
        "elements": lambda entry, program, it: entry.elements == elements(program, subject_of(program, it), it),
        "dimensions": lambda entry, program, it: entry.dimensions == dimensions(program, subject_of(program, it), it),
        "dtype": lambda entry, program, it: entry.dtype in dtypes(program, subject_of(program, it)),
        "wrong_elements": lambda entry, program, it: wrong_elements(it) <= int(entry.wrong_elements or 0),
        "zero_operand": lambda entry, program, it: _may_be_zero(program, entry.op, int(entry.zero_operand or 0)),
        "after": lambda entry, program, it: _occurs_before(program, it.at, str(entry.after)),
        "call": lambda entry, program, it: entry.call == INSTRUCTIONS[type(program[it.at])].notation,
        "step": lambda entry, program, it: _is_step(program[it.at], str(entry.step)),
        "makes_view": lambda entry, program, it: _views(program, it),
        "op_repeated": lambda entry, program, it: _is_repeated(program, it),
        "graph_reused": lambda entry, program, it: reuses_graph(program, it.at),
        "graph_partly_reused": lambda entry, program, it: partly_reuses_graph(program, it.at),
        "root_reused": lambda entry, program, it: reuses_root(program, it.at),
        "grad_already_set": lambda entry, program, it: (
            it.subject is not None and may_have_grad(program, it.at, it.subject, entry.op)
        ),
        "grad_is_none": lambda entry, program, it: it.subject is not None and grad_is_none(program, it.at, it.subject),
        "reaches_several_leaves": lambda entry, program, it: (
            it.subject is not None and reaches_several_leaves(program, it.at, it.subject)
        ),
        "operands_share_leaf": lambda entry, program, it: operands_share_leaf(program, it.at),
        "writes_non_leaf": lambda entry, program, it: writes_non_leaf(program, it.at),
        "requires_grad_toggled": lambda entry, program, it: _toggles_requires_grad(program, it.at),
        "writes_shared_memory": lambda entry, program, it: writes_shared_memory(program, it.at),
        "operand_written": lambda entry, program, it: entry.op is not None and writes_operand(program, it.at, entry.op),
        "writes_overlapping_leaf": lambda entry, program, it: writes_overlapping_leaf(program, it.at),
        "root_without_inputs": lambda entry, program, it: _has_root_without_inputs(program, program[it.at]),
        "region_returns_op": lambda entry, program, it: entry.op is not None and returns_op(program, it, entry.op),
        "in_region": lambda entry, program, it: writes_in_region(program, it),
        "through_region": lambda entry, program, it: derives_through_region(program, it),
        "region_returns_detached": lambda entry, program, it: returns_detached(program, it),
        "duplicate_root": lambda entry, program, it: _has_duplicate_root(program, it.at),
        "empty_value": lambda entry, program, it: not all(value.size for value in values(program).values()),
    }
)
"""The condition of each key, the cheap ones first."""
