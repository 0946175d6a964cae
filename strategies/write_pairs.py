"""Programs that change one operand or result of one op in place: for each op, each operand or result, each way to
change the value, and each time.

A derivative may need an operand or a result. If a framework misses an in-place change of it before the backward call,
it computes a wrong gradient without an error. So nothing is left to chance: every row of the op tables has a program
for each value that its op reads or makes, each way to change the value, and each time to do so. The programs are fixed:
operands come from a generator seeded with the row's name.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import islice, product
from typing import assert_never

from autograd_conformance.ops.catalogue import WRITES, row_of
from autograd_conformance.ops.rows.row import choices_of, rest_of, takes
from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.ops.tables import Op
from autograd_conformance.programs.language import (
    Apply,
    Attrs,
    Backward,
    Detach,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    Modes,
    Program,
    Ref,
    Shape,
    Step,
)
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.derivatives import array, forward_of
from autograd_conformance.strategies.building.tensors import literal

ATTEMPTS = 50
"""Number of draws of operands after which a sample (an op on fixed operands) is given up."""

LARGEST = 1e3
"""Largest magnitude of an op's result; an in-place change of larger ones could cause infinities."""


class Way(Enum):
    """The way in which a value is changed in place."""

    DIRECT = "under no_grad"
    VIEW = "through a view, under no_grad"
    DETACHED = "through a detached alias"
    RECORDED = "in grad mode"
    STEP = "by an optimizer's step"


class Time(Enum):
    """The time of the in-place change."""

    BEFORE = "before the only backward call"
    BETWEEN = "between two backward calls"


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """An operand or a result of an op that a program changes in place."""

    operand: bool
    """Whether the value that the program overwrites in place is an operand of the tested op; otherwise it is a result
    of the op.
    """

    number: int
    """Index of the value among the op's operands or among its results."""

    def __str__(self) -> str:
        return f"{'operand' if self.operand else 'result'} {self.number}"


@dataclass(frozen=True)
class Sample:
    """An op or an in-place op on fixed operands, from which programs with an in-place change of a value are made."""

    row: Op
    """The op's row in the op tables."""

    attrs: Attrs
    """The op's attributes."""

    operands: tuple[Literal, ...]
    """The values of the operands."""

    requires: tuple[bool, ...]
    """For each operand, whether it requires grad."""

    cotangents: tuple[Literal, ...]
    """The cotangent of each result, the same in every backward call."""

    transposed: bool
    """Whether operands of several dimensions are transposed views, of which a framework may save a contiguous copy
    instead of the operand.
    """

    @property
    def targets(self) -> tuple[WrittenValue, ...]:
        """The operands and results that can be changed in place. The target of an in-place op is no operand here,
        because the op overwrites its value. A result whose elements overlap in memory cannot be changed in place.
        """
        first = 1 if self.row.name in WRITES else 0
        operands = tuple(WrittenValue(True, k) for k in range(first, len(self.operands)))
        results = () if self.row.overlaps else tuple(WrittenValue(False, k) for k in range(len(self.cotangents)))
        return tuple(t for t in (*operands, *results) if size(self._shape(t)))

    def _shape(self, target: WrittenValue) -> Shape:
        return (self.operands if target.operand else self.cotangents)[target.number].shape

    def ways(self, target: WrittenValue) -> tuple[Way, ...]:
        """Returns the ways in which a value can be changed in place."""
        ways = [Way.DIRECT, Way.VIEW, Way.DETACHED]
        if target.operand or not self.row.multi:  # one of several views of a value may reject recorded writes
            ways.append(Way.RECORDED)
        if target.operand and self.requires[target.number]:
            ways.append(Way.STEP)
        return tuple(ways)

    @property
    def pairs(self) -> tuple[tuple[WrittenValue, Way, Time], ...]:
        """All combinations of a value to change in place, a way and a time."""
        return tuple((t, way, time) for t in self.targets for way, time in product(self.ways(t), Time))

    def untouched(self, way: Way) -> Program:
        """Returns the program without the in-place change. If this program breaks a rule, the sample's other programs
        of this way show nothing about in-place changes.
        """
        draft = _PairDraft(self, way)
        draft.backward()
        return draft.program()

    def program(self, target: WrittenValue, way: Way, time: Time) -> Program:
        """Returns the program of one value, way and time: the op on its operands, the in-place change, and one or two
        backward calls.
        """
        draft = _PairDraft(self, way)
        if time is Time.BETWEEN:
            draft.backward(retain=True)
        draft.write(target, time)
        draft.backward()
        return draft.program()


class _PairDraft:
    """A program of a sample under construction, in which a value is changed in place in a given way."""

    def __init__(self, sample: Sample, way: Way) -> None:
        self.sample, self.way = sample, way
        self.steps: list[Instruction] = []
        self.modes: list[Modes] = []
        self.leaves = [
            self.add(Leaf(self.leaf_value(x), r)) for x, r in zip(sample.operands, sample.requires, strict=True)
        ]
        self.operands = [self.operand(k, x) for k, x in enumerate(sample.operands)]
        row, count = sample.row, len(sample.cotangents)
        if row.name in WRITES:
            self.add(InPlace(row.name, self.operands[0], tuple(self.operands[1:]), sample.attrs))
            self.results = self.operands[:1]
        else:
            made = self.add(Apply(row.name, tuple(self.operands), sample.attrs, count))
            self.results = [Ref(made.at, k) for k in range(count)]

    def add(self, step: Instruction, *modes: str) -> Ref:
        self.steps.append(step)
        self.modes.append(modes)
        return Ref(len(self.steps) - 1)

    def leaf_value(self, value: Literal) -> Literal:
        """Returns the value of the leaf for an operand: transposed if the operand is to be a transposed view."""
        if not self.is_transposed(value):
            return value
        return Literal(tuple(array(value).swapaxes(-1, -2).ravel().tolist()), _swapped(value.shape), value.dtype)

    def is_transposed(self, value: Literal) -> bool:
        return self.sample.transposed and len(value.shape) > 1

    def operand(self, k: int, value: Literal) -> Ref:
        """Adds operand number `k`: a copy of its leaf, or the leaf itself if an optimizer steps a leaf and no in-place
        op changes this one; transposed if the sample's operands are transposed views.
        """
        written = k == 0 and self.sample.row.name in WRITES
        copied = written or self.way is not Way.STEP
        made = self.add(Apply("clone", (self.leaves[k],))) if copied else self.leaves[k]
        return self.add(Apply("matrix_transpose", (made,))) if self.is_transposed(value) else made

    def backward(self, retain: bool | None = None) -> None:
        self.add(Backward(tuple(self.results), self.sample.cotangents, retain))

    def write(self, target: WrittenValue, time: Time) -> None:
        value = (self.operands if target.operand else self.results)[target.number]
        match self.way:
            case Way.DIRECT:
                self.add(_changed(value), "no_grad")
            case Way.VIEW:
                self.add(_changed(self.add(Apply("expand_dims", (value,), (("dim", 0),)))), "no_grad")
            case Way.DETACHED:
                self.add(_changed(self.add(Detach(value))))
            case Way.RECORDED:
                self.add(_changed(value))
            case Way.STEP:
                leaf = self.leaves[target.number]
                if time is Time.BEFORE:
                    self.add(Backward((leaf,), (_ones(self.leaf_value(self.sample.operands[target.number])),)))
                self.add(Step((leaf,), "sgd", (("lr", 0.5),)))
            case _:
                assert_never(self.way)

    def program(self) -> Program:
        return Program(tuple(self.steps), tuple(self.modes))


def _swapped(shape: Shape) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2])


def _changed(value: Ref) -> InPlace:
    """Makes an in-place op that multiplies a value by -0.5."""
    return InPlace("mul_scalar_", value, (), (("scalar", -0.5),))


def _ones(like: Literal) -> Literal:
    return Literal((1.0,) * len(like.data), like.shape, like.dtype)


# -- samples ----------------------------------------------------------------------------------------------------------


def subsets(count: int) -> tuple[tuple[bool, ...], ...]:
    """Returns choices of the operands that require grad, one flag for each operand: all subsets for up to two operands,
    all or one for more.
    """
    if count <= 2:
        return tuple(r for r in product((True, False), repeat=count) if any(r))
    return ((True,) * count, *(tuple(i == k for i in range(count)) for k in range(count)))


@lru_cache(maxsize=None)
def samples(name: str, dtypes: tuple[str, ...]) -> tuple[Sample, ...]:
    """Returns the samples of the op (or in-place op) called `name`: for each choice of the operands that require grad,
    one with contiguous operands and one with transposed views. Samples take the dtypes in turn.
    """
    row = row_of(name)
    shapes = [
        (first, *rest) for first in row.fresh if size(first) and takes(row, first) for rest in rest_of(row, first)
    ]
    found = []
    for count, transposed in product(sorted(set(map(len, shapes))), (False, True)):
        for k, requires in enumerate(subsets(count)):
            fitting = [s for s in shapes if len(s) == count and (not transposed or any(len(shape) > 1 for shape in s))]
            rng = np.random.default_rng(zlib.crc32(f"{name} {count} {k} {transposed}".encode()))
            dtype = dtypes[(k + transposed) % len(dtypes)]
            sample = _sample(row, fitting, requires, transposed, rng, dtype)
            if sample is not None:
                found.append(sample)
    return tuple(found)


def _sample(
    row: Op,
    options: list[tuple[Shape, ...]],
    requires: tuple[bool, ...],
    transposed: bool,
    rng: np.random.Generator,
    dtype: str,
) -> Sample | None:
    for _ in range(ATTEMPTS if options else 0):
        shapes = options[int(rng.integers(len(options)))]
        choices = choices_of(row, shapes)
        attrs = choices[int(rng.integers(len(choices)))]
        operands = tuple(literal(rng.bytes(size(s)), s, dtype, row.domain(k)) for k, s in enumerate(shapes))
        values = [array(x) for x in operands]
        if row.apart is not None and not row.apart(*values):
            continue
        made = forward_of(row.name, attrs, shapes)(*values)
        if made[0].size and all(np.abs(y).max(initial=0.0) <= LARGEST for y in made):
            cotangents = tuple(literal(rng.bytes(y.size), np.shape(y), row.dtype or dtype) for y in made)
            return Sample(row, attrs, operands, requires, cotangents, transposed)
    return None


# -- counting ---------------------------------------------------------------------------------------------------------


Pair = tuple[Sample, WrittenValue, Way, Time]
"""One program: an op on fixed operands, which operand or result is changed in place, how, and whether before the only
backward call or between two.
"""


def pairs(name: str, dtypes: Sequence[str]) -> Iterator[Pair]:
    """Yields all pairs (a sample, a value to change in place, a way and a time) of the op called `name`."""
    for sample in samples(name, tuple(dtypes)):
        for pair in sample.pairs:
            yield (sample, *pair)


def some_pairs(
    name: str, dtypes: Sequence[str], most: int, allowed: Callable[[Program], bool] = lambda _: True
) -> Sequence[Pair]:
    """Returns at most `most` of an op's pairs (a sample, a value to change in place, a way and a time) whose programs
    are allowed, in order. The selection is seeded with the op's name.
    """
    found = list(pairs(name, dtypes))
    order = np.random.default_rng(zlib.crc32(name.encode())).permutation(len(found))
    chosen = (k for k in order if allowed(found[k][0].program(*found[k][1:])))
    return [found[k] for k in sorted(islice(chosen, most))]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Numbers of ops, values, pairs and programs that a set of programs covers."""

    rows: int
    """Number of ops and in-place ops that have a program."""

    values: int
    """Number of operands and results that are changed in place, each counted once for its op."""

    pairs: int
    """Number of combinations of an op, one of its operands or results, a way and a time, whatever the sample."""

    programs: int
    """Number of programs: one for each sample (an op on fixed operands), value changed in place, way and time."""


def coverage(names: Sequence[str], dtypes: Sequence[str] = ("float64",)) -> Coverage:
    """Counts the ops, the values changed in place, the combinations and the programs that `pairs` yields for these
    ops.
    """
    found = [(name, *rest) for name in names for _, *rest in pairs(name, dtypes)]
    return Coverage(
        len({name for name, *_ in found}),
        len({(name, target) for name, target, *_ in found}),
        len(set(found)),
        len(found),
    )
