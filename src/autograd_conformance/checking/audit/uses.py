"""Uses: fixed programs of an op where implementations take another path than on new leaves that all require grad.

The op has other attributes, the operands are constants, one operand alone requires grad, a functional call returns its
gradient, the gradient is clipped and added to, or the result is a view that is written to.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import islice

from autograd_conformance.checking.audit.programs import called, sampling, supported
from autograd_conformance.ops.catalogue import MAY_BE_VIEWS
from autograd_conformance.ops.rows.row import arity, choices_of, rest_of, takes
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Apply, Attrs, Program, Ref, Shape
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.layouts import LAYOUTS, Layout, differs_from_contiguous
from autograd_conformance.strategies.building.randomness.choices import Rarity
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.higher_order import applies, differentiate

BOUND = 0.0625
"""The bound to which gradients are clipped, which nearly all exceed."""

STEP = (("lr", 0.125), ("momentum", 0.5), ("weight_decay", 0.25))
"""The settings of the optimizer that takes a step with the gradients of an op."""

DRAWS = 8
"""Number of draws of an op that look for other attributes."""

FORMS = 3
"""Largest number of programs with other attributes."""

COPIED: tuple[Layout, ...] = ("transposed", "expanded")
"""Memory layouts of which an op that returns a view of contiguous memory has to make a copy."""

OF_MATRICES = ("products", "linalg")
"""The families of ops of matrices."""

BASES = 2
"""Largest number of shapes of a base whose views are written to."""


def programs(op: str, dtypes: Sequence[str], joinable: bool = False) -> Iterator[Program]:
    """Yields all uses of an op in the first dtype, and in each dtype those with operands of two dtypes; if `joinable`,
    only those that can be joined into one program, as where compiling is expensive.
    """
    program = None if joinable else constants(op, dtypes[0])
    if program is not None:
        yield program
    yield from alone(op, dtypes[0], joinable)
    yield from () if joinable else gathered(op, dtypes[0])
    yield from attributes(op, dtypes[0])
    for dtype in dtypes if OPS[op].promotes and len(dtypes) > 1 else ():
        yield from alone(op, dtype, joinable, "mixed")


def constants(op: str, dtype: str) -> Program | None:
    """Returns a program that applies an op to constants, which no call differentiates, in each memory layout; None if
    the framework has no constants, or if every draw gave another op.
    """
    sampler = sampling(zlib.crc32(f"{op} constants".encode()), dtype)
    if not sampler.can(Capability.CONSTANTS):
        return None
    sampler.operands.requiring = (False,)
    for layout in LAYOUTS:
        sampler.operands.layouts, sampler.ops.first = (layout,), _fitting(op, layout)
        if sampler.ops.first is not None:
            sampler.ops.draw(op, fresh=True)
    return supported(sampler) if applies(sampler, op) else None


def _fitting(op: str, layout: Layout) -> Shape | None:
    """Returns a shape of an op's first operand on which a memory layout has an effect, that of the most dimensions."""
    row = alphabet.current().row(op)
    shapes = [s for s in row.fresh if alphabet.current().admits(s) and takes(row, s)]
    return max((s for s in shapes if differs_from_contiguous(s, layout)), key=len, default=None)


def alone(op: str, dtype: str, joinable: bool = False, rarity: Rarity | None = None) -> Iterator[Program]:
    """Yields a program for each operand of an op in which this operand alone requires grad, or, in a framework without
    constants, is alone the input of a call: a functional call for it, unless the program has to be `joinable`, and a
    backward call. With the rarity "mixed", the first operand alone has this dtype.
    """
    current = alphabet.current()
    functional = current.can(Capability.FUNCTIONAL) and not joinable
    imperative = current.can(Capability.IMPERATIVE) and (not functional or current.can(Capability.RETAIN))
    for place in range(arity(OPS[op]) if functional or current.can(Capability.CONSTANTS) else 0):
        sampler = sampling(zlib.crc32(f"{op} alone {place} {dtype} {rarity}".encode()), dtype, rarity=rarity)
        sampler.operands.only = place if current.can(Capability.CONSTANTS) else None
        made = [root for root in sampler.ops.draw(op, fresh=True) if sampler.requires(root)]
        step = _step(sampler, made, op)
        if step is None:
            continue
        try:
            if functional:
                sampler.actions.grad(made, [step.args[place]], retain=True if imperative else None)
        except Unsupported:  # the call cannot begin at these results
            continue
        program = called(sampler, made, op) if imperative or not functional else supported(sampler)
        if program is not None:
            yield program


def gathered(op: str, dtype: str) -> Iterator[Program]:
    """Yields programs that clip the gradients of an op by their norm, add those of a second call, clip them by value,
    and take a step with them: up to `FORMS` choices of attributes. Yields none if the framework has no clipping.
    """
    seen: set[Attrs] = set()
    for draw in range(DRAWS):
        sampler = sampling(zlib.crc32(f"{op} gathered {draw}".encode()), dtype)
        if len(seen) == FORMS or not sampler.can(Capability.CLIPS, Capability.RETAIN, Capability.IMPERATIVE):
            return
        made = sampler.ops.draw(op, fresh=True)
        step = _step(sampler, made, op)
        if step is not None and step.attrs not in seen:
            seen.add(step.attrs)
            program = _gathered(sampler, made, list(dict.fromkeys(step.args)))
            if program is not None:
                yield program


def _gathered(sampler: Draft, made: Sequence[Ref], leaves: Sequence[Ref]) -> Program | None:
    try:
        sampler.actions.backward(*made, retain=True)
        sampler.actions.clip(leaves, "norm", BOUND)
        sampler.actions.backward(*made)
    except Unsupported:  # the call cannot begin at these results
        return None
    sampler.actions.clip(leaves, "value", BOUND)
    if {"momentum", "weight_decay"} <= {*sampler.alphabet.optimizers.get("sgd", ())}:
        sampler.actions.step(leaves, "sgd", STEP)
    return supported(sampler)


def attributes(op: str, dtype: str, times: int = 1) -> Iterator[Program]:
    """Yields a program for each choice of an op's attributes, and for square matrices, that differentiates the op this
    many times; none for an op with one choice, which every program of the op has. An op that may return a view has
    operands in further memory layouts.
    """
    forms = _forms(op)
    layouts = (None, *COPIED) if op in MAY_BE_VIEWS and times == 1 else (None,)
    for (attrs, _), shapes, layout in ((*each, way) for each in forms.items() if len(forms) > 1 for way in layouts):
        for draw in range(DRAWS):
            sampler = sampling(zlib.crc32(f"{op} {attrs} {shapes} {layout} {draw}".encode()), dtype)
            sampler.operands.layouts = (layout,)
            program = _differentiated(sampler, sampler.ops.form(OPS[op], shapes, attrs), op, times)
            if program is not None:
                yield program
                break


def _forms(op: str) -> dict[tuple[Attrs, bool], tuple[Shape, ...]]:
    """Returns the choices of an op's attributes, each with the first shapes of operands that have it and elements; for
    ops of matrices, those of square ones beside those of others.
    """
    row, current = alphabet.current().row(op), alphabet.current()
    found: dict[tuple[Attrs, bool], tuple[Shape, ...]] = {}
    for first in row.fresh:
        for rest in rest_of(row, first) if takes(row, first) else ():
            shapes = (first, *rest)
            if all(0 not in shape and current.admits(shape) for shape in shapes):
                is_square = row.family in OF_MATRICES and all(s[-1] == s[-2] > 1 for s in shapes if len(s) > 1)
                found = {**{(attrs, is_square): shapes for attrs in choices_of(row, shapes)}, **found}
    return found


def _differentiated(sampler: Draft, made: Sequence[Ref], op: str, times: int) -> Program | None:
    if times == 1:
        return called(sampler, made, op)
    return supported(sampler) if applies(sampler, op) and differentiate(sampler, made, False, times) else None


def written_views(op: str, dtype: str) -> Iterator[Program]:
    """Yields a program for each choice of attributes of a view op that writes a new value into the view, multiplies the
    view by another, and calls backward on the base, which retains its gradient, and on the view.
    """
    row, current = OPS[op], alphabet.current()
    able = current.can(Capability.WRITES, Capability.VIEWS) and {"clone", op} <= {*current.ops}
    if row.overlaps or not able:  # a faulty op is not in the alphabet
        return
    bases = (shape for shape in row.fresh if 0 not in shape and current.admits(shape) and takes(row, shape))
    for shape in islice(bases, BASES):
        for number, attrs in enumerate(choices_of(row, (shape,)) if arity(row) == 1 else ()):
            sampler = sampling(zlib.crc32(f"{op} written {shape} {number}".encode()), dtype, tracked=True)
            (base,) = sampler.apply("clone", (sampler.operands.leaf(shape, domain=row.domain(0)),))
            if sampler.can(Capability.RETAINS_GRAD):
                sampler.actions.retain_grad(base)
            made = sampler.ops.checked(row, (base,), attrs)
            program = _written(sampler, base, made[0]) if len(made) == 1 else None  # else writes are refused
            if program is not None:
                yield program


def _written(sampler: Draft, base: Ref, view: Ref) -> Program | None:
    for write in ("copy_", "mul_"):
        source = sampler.leaf(sampler.shape(view))
        if not sampler.writes.to(view, write, source):
            return None
    if not sampler.reference.values[view].size:
        return None
    sampler.actions.backward(base, retain=True if sampler.can(Capability.RETAIN) else None)
    if sampler.can(Capability.RETAIN):
        sampler.actions.backward(view)
    return supported(sampler)


def _step(sampler: Draft, made: Sequence[Ref], op: str) -> Apply | None:
    """Returns the drawn instruction; None if the draft drew another op, or has no result to begin a call at."""
    step = sampler.reference.steps[made[0].at] if made and applies(sampler, op) else None
    return step if isinstance(step, Apply) and step.op == op else None
