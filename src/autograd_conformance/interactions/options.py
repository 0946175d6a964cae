"""The facts of an instruction: its kind, its options, and the class of its op.

They are derived from the fields of the instruction's class, so that a new instruction or option brings its facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache

from autograd_conformance.ops.catalogue import MAY_BE_VIEWS, ROWS
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.optimizers import IMPLEMENTATION
from autograd_conformance.ops.rows.row import Certainty, arity
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.programs.language import INSTRUCTIONS, Apply, InPlace, Instruction, Leaf, Ref

NUMBERS = ("no", "one", "two", "three or more")
"""Words for the length of a list."""

NAMED_BY_CLASS = frozenset({"op", "results", "attrs"})
"""Fields that facts do not contain: an op counts by its class, and attributes by the rows of the op tables."""


OPTIONS = {
    kind: tuple((each.name, each.default) for each in fields(kind) if each.name not in NAMED_BY_CLASS)
    for kind in INSTRUCTIONS
}
"""For each class of instructions, the names and defaults of the fields that facts are derived from."""


def facts_of(step: Instruction) -> tuple[str, ...]:
    """Returns the facts of an instruction alone: ``("backward", "backward: create_graph", "backward: two roots")``."""
    match step:
        case Apply(op, args):
            return _of_op(op, len(args), len({*args}) < len(args), False)
        case Leaf(value, requires_grad):
            return _of_leaf(value.dtype, requires_grad)
        case InPlace(op, _, args):
            return _of_op(op, len(args), len({*args}) < len(args), True)
        case _:
            return _of_fields(step)


@lru_cache(maxsize=None)
def _of_leaf(dtype: str, requires_grad: bool) -> tuple[str, ...]:
    return ("leaf", f"leaf: {dtype}", *(() if requires_grad else ("leaf: constant",)))


@lru_cache(maxsize=None)
def _of_op(op: str, count: int, is_twice: bool, is_write: bool) -> tuple[str, ...]:
    """Returns the facts of an op with a number of operands, one of which may be there twice."""
    args = tuple(Ref(0 if is_twice else at) for at in range(count))
    return _of_fields(InPlace(op, Ref(0), args) if is_write else Apply(op, args))


def _of_fields(step: Instruction) -> tuple[str, ...]:
    word = INSTRUCTIONS[type(step)].word
    return (word, *dict.fromkeys(f"{word}: {each}" for each in _options(step)))


def _options(step: Instruction) -> Iterator[str]:
    if isinstance(step, (Apply, InPlace)):
        yield from class_of(step.op)
    for name, default in OPTIONS[type(step)]:
        value = getattr(step, name)
        if value != default:
            yield from _of_field(name, value)


def _of_field(name: str, value: object) -> Iterator[str]:
    """Yields the facts of one field that has another value than its default. Numbers are no facts, and neither are
    single operands.
    """
    match value:
        case bool():
            yield name if value else f"no {name}"
        case None:
            yield f"{name} None"
        case str():
            yield f"{name} {value}"
        case Ref():
            return
        case tuple() if name in ("settings", "groups"):
            yield from _of_settings(name, value)
        case tuple():
            if len(value) != 1:
                yield f"{NUMBERS[min(len(value), 3)]} {name}"
            elif name == "inputs":
                yield name
            if len(set(value)) < len(value) and None not in value:
                yield f"one of {name} twice"
            if any(each is None for each in value):
                yield f"{name} implicit"


def _of_settings(name: str, value: tuple[object, ...]) -> Iterator[str]:
    if name == "groups":
        yield from ("groups",) if value else ()
        return
    for each in value:
        match each:
            case (str(setting), bool(on)):
                if on or setting in IMPLEMENTATION:
                    yield setting if on else f"no {setting}"
            case (str(setting), number) if setting != "lr" and number:
                yield setting


@lru_cache(maxsize=None)
def class_of(op: str) -> tuple[str, ...]:
    """Returns the facts of an op: its number of operands, whether it makes views or saves tensors, and the like."""
    if op in MODULES:
        return ("module",)
    row = ROWS[op]
    count = arity(row)
    found = [f"{NUMBERS[min(count, 3)]} operands"] if count > 1 else []
    if op in MAY_BE_VIEWS:
        found.append("view" if op in VIEWS else "perhaps a view")
    if row.multi or row.sequence:
        found.append("several results")
    if row.overlaps:
        found.append("overlapping result")
    found.append({Certainty.ALWAYS: "saves", Certainty.MAYBE: "may save", Certainty.NEVER: "saves nothing"}[row.saves])
    if row.draws is not None:
        found.append("random")
    if row.dtype is not None:
        found.append("casts")
    return tuple(found)
