"""Corner cases: fixed programs of an op for inputs that implementations treat specially.

These are memory layouts of operands and cotangents, dimensions longer than a tile, the same tensor as every operand,
operands where the op is smooth but a formula divides by zero, other attributes, and the release of saved tensors.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

from autograd_conformance.checking.audit.programs import called, sampling, supported
from autograd_conformance.ops.rows.domains import Array
from autograd_conformance.ops.rows.row import Op, arity, choices_of, rest_of, takes
from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.editing import replaced
from autograd_conformance.programs.language import Apply, BackwardCall, Delete, Leaf, Literal, Program, Ref, Shape
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.layouts import LAYOUTS, Layout, differs_from_contiguous
from autograd_conformance.strategies.building.randomness.choices import Rarity
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.higher_order import applies, differentiate

LONG = (17, 65)
"""Lengths of a dimension that exceed a tile: 16 plus one, and several tiles of 16, 32 and 64 plus one."""

FORMS = 2
"""Largest number of programs of an op for each length in `LONG` of a dimension."""

TURNS = 2
"""Largest number of draws for each shape until a layout has an effect."""

DRAWS = 24
"""Largest number of draws of an op until its operands have the wanted rare property, such as mixed dtypes."""

LARGEST = 512
"""Largest number of elements of a value in a program with a long dimension."""


def laid(op: str, dtype: str) -> Iterator[Program]:
    """Yields, for each memory layout in `LAYOUTS`, one program of an op whose operands have that layout, and one in
    which the cotangents of its results have it.
    """
    for layout in LAYOUTS:
        for place in PLACES:
            program = _laid(op, place, layout, dtype)
            if program is not None:
                yield program


def _on_operands(sampler: Draft, op: str, layout: Layout) -> tuple[Program | None, bool]:
    """Returns a program of an op on operands with a memory layout, and whether the layout has an effect on one of the
    operands.
    """
    sampler.operands.layouts = (layout,)
    made = sampler.ops.draw(op, fresh=True)
    program = called(sampler, made, op)
    steps = sampler.reference.steps
    step = steps[made[0].at]
    operands = step.args if isinstance(step, Apply) else ()
    visible = [
        r for r in operands if isinstance(steps[r.at], Apply) and differs_from_contiguous(sampler.shape(r), layout)
    ]
    return program, any(np.any(sampler.reference.values[r]) for r in visible)


def _behind(sampler: Draft, op: str, layout: Layout) -> tuple[Program | None, bool]:
    """Returns a program of an op whose results get cotangents with a memory layout, and whether the layout has an
    effect on one of the cotangents.
    """
    made = sampler.ops.draw(op, fresh=True)
    visible = any(differs_from_contiguous(sampler.shape(result), layout) for result in made)
    return called(sampler, [sampler.operands.with_cotangent_layout(result, layout) for result in made], op), visible


PLACES = {"on": _on_operands, "behind": _behind}
"""Functions that give a memory layout to operands, or to cotangents. The names are part of the seeds of draws."""


def _laid(op: str, place: str, layout: Layout, dtype: str) -> Program | None:
    """Returns the first drawn program in which the memory layout has an effect; without one, the first drawn
    program.
    """
    first = None
    for sampler in _samplers(op, f"{place} {layout}", dtype, layout):
        program, visible = PLACES[place](sampler, op, layout)
        if program is not None and visible:
            return program
        first = first or program
    return first


def _samplers(op: str, what: str, dtype: str, layout: Layout) -> Iterator[Draft]:
    """Yields drafts (programs under construction) for an op with each shape of its first operand, beginning with the
    shapes on which a memory layout has an effect.
    """
    row = alphabet.current().row(op)
    fitting = [s for s in row.fresh if alphabet.current().admits(s) and takes(row, s) and 0 not in s]
    fitting.sort(key=lambda shape: (not differs_from_contiguous(shape, layout), -len(shape)))
    for draw, first in product(range(TURNS), fitting):
        yield sampling(zlib.crc32(f"{op} {what} {first} {draw}".encode()), dtype, first)


def long(op: str, dtype: str) -> Iterator[Program]:
    """Yields, for each length in `LONG`, up to `FORMS` programs of an op whose first operand has a dimension of that
    length, longer than a tile.
    """
    row = alphabet.current().row(op)
    for count in LONG:
        found = (program for shape in _longer(row, count) if (program := _of_shape(op, shape, dtype)) is not None)
        yield from islice(found, FORMS)


def _longer(row: Op, count: int) -> Iterator[Shape]:
    """Yields shapes of an op's first operand with one dimension lengthened to `count`: each dimension in turn, the last
    one first.
    """
    fresh = [shape for shape in row.fresh if shape and 0 not in shape]
    made = [(*s[:dim], count, *s[dim + 1 :]) for s in fresh for dim in reversed(range(len(s)))]
    return (s for s in dict.fromkeys(made) if alphabet.current().admits(s) and takes(row, s))


def _of_shape(op: str, shape: Shape, dtype: str) -> Program | None:
    sampler = sampling(zlib.crc32(f"{op} {shape}".encode()), dtype, shape)
    sampler.ops.largest = LARGEST
    return called(sampler, sampler.ops.draw(op, fresh=True), op)


def same(op: str, dtype: str) -> Program | None:
    """Returns a program of an op with the same tensor as every operand; None if the op has one operand, or no tensor
    fits all.
    """
    row = alphabet.current().row(op)
    for first in row.fresh:
        if not alphabet.current().admits(first) or not takes(row, first) or 0 in first:
            continue
        rest = next((rest for rest in rest_of(row, first) if rest and set(rest) == {first}), None)
        if rest is None:
            continue
        sampler = sampling(zlib.crc32(f"{op} same".encode()), dtype)
        leaf = sampler.leaf(value=sampler.operands.tensor(first, dtype, row.domain(0)))
        value = sampler.reference.values[leaf]
        if all(row.domain(place).holds(value) for place in range(1 + len(rest))):
            attrs = choices_of(row, (first, *rest))[0]
            return called(sampler, sampler.ops.checked(row, (leaf,) * (1 + len(rest)), attrs), op)
    return None


def beside(op: str, dtype: str) -> Program | None:
    """Returns a program of an op whose second operand is a view of the first; None if no view fits."""

    def found(sampler: Draft, step: Apply) -> bool:
        return any(isinstance(sampler.reference.steps[r.at], Apply) for r in step.args)

    return _rare(op, "beside", dtype, found) if arity(OPS[op]) > 1 else None


def mixed(op: str, dtype: str) -> Program | None:
    """Returns a program of an op whose first operand alone has this dtype. An operand and a cotangent have a number
    that is no multiple of 1/8, which a narrower dtype would round. None if the op does not promote dtypes.
    """

    def found(sampler: Draft, step: Apply) -> bool:
        operands = [sampler.reference.values[r] for r in step.args]
        return len({sampler.dtypes[r] for r in step.args}) > 1 and any(np.any(x * 8 % 1) for x in operands)

    def rounds(program: Program) -> bool:
        calls = [step for step in program if isinstance(step, BackwardCall)]
        return any(c is not None and any(x * 8 % 1 for x in c.data) for call in calls for c in call.cotangents)

    several = OPS[op].promotes and len(alphabet.current().dtypes) > 1
    return _rare(op, "mixed", dtype, found, rounds) if several else None


def _rare(
    op: str,
    rarity: Rarity,
    dtype: str,
    found: Callable[[Draft, Apply], bool],
    suits: Callable[[Program], bool] = lambda program: True,
) -> Program | None:
    """Returns the first drawn program of an op whose operands have a rare property, and that `suits`; the last program
    with this property if none does, and None if no draw has it.
    """
    program = None
    for draw in range(DRAWS):
        sampler = sampling(zlib.crc32(f"{op} {rarity} {dtype} {draw}".encode()), dtype, rarity=rarity)
        made = sampler.ops.draw(op, fresh=True)
        step = sampler.reference.steps[made[0].at]
        if isinstance(step, Apply) and step.op == op and found(sampler, step):
            program = called(sampler, made, op) or program
            if program is not None and suits(program):
                return program
    return program


def again(op: str, dtype: str) -> Program | None:
    """Returns a program that applies an op twice to the same operands with different attributes, and differentiates the
    second result first: tensors saved for one must not affect the other. None if the op has no choice of attributes.
    """
    sampler = sampling(zlib.crc32(f"{op} again".encode()), dtype)
    first = sampler.ops.draw(op, fresh=True)
    step = sampler.reference.steps[first[0].at]
    if not applies(sampler, op) or not isinstance(step, Apply):
        return None
    choices = choices_of(alphabet.current().row(op), tuple(sampler.shape(operand) for operand in step.args))
    other = next((attrs for attrs in reversed(choices) if attrs != step.attrs), None)
    if other is None:
        return None
    second = sampler.ops.checked(OPS[op], step.args, other)
    try:
        for made in (second, first):
            sampler.actions.backward(*made)
    except Unsupported:  # no call can begin at these results
        return None
    return supported(sampler)


def unrecorded(op: str, dtype: str) -> Program | None:
    """Returns a program that applies an op, applies it again under no_grad, and a third time with recording, and
    differentiates the last result: tensors saved for one must not affect another. None without grad modes, or if the
    result cannot be a root.
    """
    for draw in range(DRAWS):
        sampler = sampling(zlib.crc32(f"{op} unrecorded {draw}".encode()), dtype)
        step = sampler.reference.steps[sampler.ops.draw(op, fresh=True)[0].at]
        if not sampler.can(Capability.MODES):
            return None
        if not applies(sampler, op) or not isinstance(step, Apply):
            continue
        with sampler.under("no_grad"):
            sampler.ops.checked(OPS[op], step.args, step.attrs)
        try:
            sampler.actions.backward(*sampler.ops.checked(OPS[op], step.args, step.attrs))
        except Unsupported:  # no call can begin at these results
            return None
        return supported(sampler)
    return None


def edges(op: str, dtype: str) -> Iterator[Program]:
    """Yields a program of an op for each shape, with an operand where the op is smooth but implementations divide by
    zero, such as a singular matrix; none for ops without such places.
    """
    row = alphabet.current().row(op)
    for place, domain in enumerate(row.domains):
        if domain.edge is not None:
            made = (_at_edge(row, place, domain.edge, first, dtype) for first in row.fresh)
            yield from (program for program in made if program is not None)


def _at_edge(row: Op, place: int, edge: Callable[[Array], Array], first: Shape, dtype: str) -> Program | None:
    """Returns a program of an op with the operand at a place moved to an edge; None if the op does not take this shape,
    or `edge` moves nothing.
    """
    if 0 in first or not alphabet.current().admits(first) or not takes(row, first):
        return None
    sampler = sampling(zlib.crc32(f"{row.name} edge {first}".encode()), dtype, first)
    program = called(sampler, sampler.ops.draw(row.name, fresh=True), row.name)
    step = next((step for step in program or () if isinstance(step, Apply) and step.op == row.name), None)
    if program is None or step is None:
        return None
    operand = step.args[place]
    leaf = program[operand.at]
    if not isinstance(leaf, Leaf):
        return None
    moved = edge(sampler.reference.values[operand])
    value = replace(leaf.value, data=tuple(moved.ravel().tolist()))
    return None if value == leaf.value else replaced(program, operand.at, replace(leaf, value=value))


def programs(op: str, dtypes: Sequence[str]) -> Iterator[Program]:
    """Yields all corner cases of an op in the first dtype, and in each dtype the one with mixed dtypes."""
    yield from laid(op, dtypes[0])
    yield from long(op, dtypes[0])
    yield from edges(op, dtypes[0])
    yield from (program for make in (same, again, beside, unrecorded) if (program := make(op, dtypes[0])) is not None)
    yield from (program for dtype in dtypes if (program := mixed(op, dtype)) is not None)


def written_curvatures(write: str, dtypes: Sequence[str]) -> Iterator[Program]:
    """Yields a program for each dtype that writes to a copy of a leaf in place, and differentiates the written value
    twice; none for a write that the framework does not claim, whose gradient is constant, or whose op breaks a rule
    alone that no known difference names.
    """
    current = alphabet.current()
    if not current.can(Capability.WRITES) or write not in current.writes:
        return
    if current.faulty_out_of_place(write, twice=True) is not None:
        return
    row = current.row(write)
    shape = next((each for each in row.fresh if 0 not in each and current.admits(each)), None)
    for dtype in dtypes if shape is not None and "clone" in current.ops else ():
        sampler = sampling(zlib.crc32(f"{write} curvature".encode()), dtype, tracked=True)
        leaf = sampler.operands.leaf(shape, domain=row.domain(0))
        (target,) = sampler.script.apply("clone", (leaf,))
        if sampler.writes.to(target, write) and differentiate(sampler, (target,), False):
            program = supported(sampler)
            if program is not None:
                yield program


def releases(op: str, dtype: str) -> Iterator[Program]:
    """Yields programs that delete the results of an op: without a call, after a call, after a call that retains the
    graph, after a failed call, after a write to a result, after a call with create_graph whose gradients were cleared,
    and with operands that have graphs themselves.
    """
    for end in (_nothing, _walked, _retained, _refused, _written, _created, _computed):
        sampler = sampling(zlib.crc32(f"{op} memory".encode()), dtype)
        made = sampler.ops.draw(op, fresh=True)
        if not applies(sampler, op) or not sampler.requires(made[0]):
            return
        try:
            end(sampler, made)
        except Unsupported:  # the call cannot begin at these results
            continue
        sampler.script.add(Delete(tuple(r for r in sampler.script.live if r not in sampler.script.leaves)))
        program = supported(sampler)
        if program is not None:
            yield program


def _nothing(sampler: Draft, made: Sequence[Ref]) -> None:
    """Makes no backward call before the results are deleted."""


def _walked(sampler: Draft, made: Sequence[Ref]) -> None:
    sampler.actions.backward(*made)


def _retained(sampler: Draft, made: Sequence[Ref]) -> None:
    if not sampler.can(Capability.RETAIN):
        raise Unsupported("retain_graph is not supported")
    sampler.actions.backward(*made, retain=True)


def _refused(sampler: Draft, made: Sequence[Ref]) -> None:
    if not sampler.can(Capability.COTANGENTS, Capability.COTANGENT_CHECK):
        raise Unsupported("the framework does not claim to check cotangents")
    wrong = sampler.operands.tensor((*sampler.shape(made[0]), 2), sampler.dtypes[made[0]])
    sampler.actions.backward(made[0], cotangents=[wrong])


def _written(sampler: Draft, made: Sequence[Ref]) -> None:
    if not sampler.can(Capability.WRITES) or not sampler.writes.to(made[0], "mul_"):
        raise Unsupported("the result cannot be written to")


def _created(sampler: Draft, made: Sequence[Ref]) -> None:
    sampler.require(Capability.CREATE_GRAPH)
    steps = sampler.reference.steps
    if any(isinstance(step, Apply) and step.op in sampler.alphabet.first_order_only for step in steps):
        raise Unsupported("the op has no second derivative")
    sampler.actions.backward(*made, create=True)
    sampler.actions.zero_grad(*(leaf for leaf in sampler.script.leaves if sampler.requires(leaf)))


def _computed(sampler: Draft, made: Sequence[Ref]) -> None:
    """Applies the op again, to products of its operands with ones, which have graphs."""
    if "multiply" not in sampler.alphabet.ops:
        raise Unsupported("the framework has no product")
    step = sampler.reference.steps[made[0].at]
    assert isinstance(step, Apply)
    operands = []
    for ref in step.args:
        shape, dtype = sampler.shape(ref), sampler.dtypes[ref]
        one = sampler.operands.leaf(value=Literal((1.0,) * size(shape), shape, dtype))
        operands += sampler.script.apply("multiply", (ref, one))
    sampler.script.apply(step.op, operands, step.attrs)
