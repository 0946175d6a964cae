"""Operands and results of instructions, values that may have a gradient, and instructions that share an optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace

from autograd_conformance.programs.language import (
    INSTRUCTIONS,
    Apply,
    Attrs,
    Backward,
    BackwardCall,
    Detach,
    Grad,
    Instruction,
    Leaf,
    Optimizer,
    Program,
    Ref,
    Step,
    ZeroGrad,
)

_ONE, _MANY = ("Ref", "Ref | None"), ("tuple[Ref, ...]", "tuple[Ref, ...] | None")
_REFS = {
    kind: tuple((f.name, f.type in _MANY) for f in fields(kind) if f.type in (*_ONE, *_MANY)) for kind in INSTRUCTIONS
}


def results(step: Instruction) -> int:
    """Returns the number of values that an instruction makes; a `Hook` makes one, the handle that removes the hook."""
    match step:
        case Apply():
            return step.results
        case Grad():
            return len(step.inputs)
        case _:
            return INSTRUCTIONS[type(step)].results


def operands(step: Instruction) -> tuple[Ref, ...]:
    """Returns the values that an instruction reads, in the order of its fields, with repetitions."""
    found: list[Ref] = []
    for name, many in _REFS[type(step)]:
        value = getattr(step, name)
        if many:
            found.extend(value or ())
        elif value is not None:
            found.append(value)
    return tuple(found)


def with_operands(step: Instruction, given: Iterable[Ref]) -> Instruction:
    """Returns the same instruction with other operands, given in the order of `operands`."""
    rest = iter(given)
    changed: dict[str, Ref | tuple[Ref, ...]] = {}
    for name, many in _REFS[type(step)]:
        value = getattr(step, name)
        if value is not None:
            changed[name] = tuple(next(rest) for _ in value) if many else next(rest)
    return replace(step, **changed) if changed else step  # type: ignore[arg-type]


def refer(step: Instruction, new: Mapping[Ref, Ref]) -> Instruction:
    """Returns the same instruction with its operands replaced through the mapping `new`."""
    return with_operands(step, [new[ref] for ref in operands(step)])


def computed_from(program: Program, call: BackwardCall) -> set[Ref]:
    """Returns the roots of a call and all values from which they were computed, including those before a detach."""
    found: set[Ref] = set()
    waiting = list(call.roots)
    while waiting:
        ref = waiting.pop()
        step = program[ref.at]
        waiting += operands(step) if isinstance(step, (Apply, Detach)) and ref not in found else ()
        found.add(ref)
    return found


def holders(program: Program) -> frozenset[Ref]:
    """Returns the values that may have a `.grad`: leaves, and other values to which some instruction may give a
    `.grad`.
    """
    found: set[Ref] = set()
    for at, step in enumerate(program):
        match step:
            case Leaf():
                found.add(Ref(at))
            case Backward(inputs=inputs):
                found.update(inputs or ())
            case _ if INSTRUCTIONS[type(step)].gives_grad:
                name, many = _REFS[type(step)][0]
                value = getattr(step, name)
                found.update(value if many else (value,))
    return frozenset(found)


# -- optimizers -------------------------------------------------------------------------------------------------------


def same_optimizer(one: Optimizer | Step, other: Optimizer | Step) -> bool:
    """Whether two instructions refer to the same optimizer."""
    return all(getattr(one, f.name) == getattr(other, f.name) for f in fields(Optimizer))


def clearing_optimizer(clearing: ZeroGrad, before: Sequence[Instruction]) -> Optimizer | None:
    """Returns the optimizer whose method a `ZeroGrad` calls: the latest one that an earlier instruction made with
    exactly the leaves that are cleared; None if there is none.
    """
    made = (step for step in reversed(before) if isinstance(step, Optimizer))
    return next((step for step in made if step.leaves == clearing.leaves), None)


def grouped(step: Optimizer | Step) -> Iterator[tuple[Ref, Attrs]]:
    """Yields each leaf of an optimizer with its settings, those of its parameter group included."""
    sizes = [(count, {**dict(step.settings), **dict(own)}) for count, own in step.groups]
    settings = [tuple(own.items()) for count, own in sizes for _ in range(count)]
    yield from zip(step.leaves, settings or [step.settings] * len(step.leaves), strict=True)
