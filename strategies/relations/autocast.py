"""Pairs of a program with blocks of autocast and the same program with its casts written out."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import reject
from hypothesis import strategies as st

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import COARSE, OF_OPERANDS
from autograd_conformance.programs.language import Apply, InPlace, Leaf, Program, Ref
from autograd_conformance.rules.relations.casts import NotDocumented, with_casts
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.randomness.choices import Choices, Draw
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.relations.interleaving import arranged

WORKING = "float32"
"""The dtype of the leaves, which autocast casts."""

KINDS = ("lowered", "plain", "lowered", "raised")
"""Kinds of ops: with operands cast to fewer digits, with operands as they are, with operands cast to float32."""

BLOCKS = ("autocast", "autocast", "autocast_uncached")
"""The modes of blocks."""

Pairs = st.SearchStrategy[Related]


def pairs(write: Callable[[Draft], None]) -> Callable[[], Pairs]:
    """Makes a strategy of pairs from a function that writes the program with blocks."""

    @st.composite
    def drawn(draw: Draw) -> Related:
        a = Draft(Choices(draw), WORKING)
        a.require(Capability.AUTOCAST)
        if WORKING not in a.alphabet.dtypes or not _ops(a, "lowered"):
            raise Unsupported("autocast needs float32 and an op that it casts for")
        write(a)
        try:
            return with_casts(_leaves_first(a), a.alphabet.autocast)
        except NotDocumented:  # an op that stands in for another one
            reject()

    drawn.__name__, drawn.__doc__ = write.__name__, write.__doc__
    return drawn


def _leaves_first(a: Draft) -> Program:
    """Returns the program with its leaves first, outside of all blocks."""
    steps = a.reference.steps
    order = sorted(range(len(steps)), key=lambda at: not isinstance(steps[at], Leaf))
    modes = [() if isinstance(step, Leaf) else mode for step, mode in zip(steps, a.script.under_modes, strict=True)]
    program = Program(tuple(steps), tuple(modes))
    return arranged([(program, at) for at in order])[0]


def _ops(a: Draft, kind: str) -> list[str]:
    """Returns the framework's ops of a kind, in the order of its table."""
    dtypes = {"lowered": COARSE, "plain": {OF_OPERANDS}, "raised": {WORKING}}[kind]
    there = {*a.alphabet.ops}
    return [op for op, dtype in a.alphabet.autocast.items() if dtype in dtypes and op in there]


def _draw(a: Draft, kinds: tuple[str, ...] = KINDS, fresh: bool = False) -> list[Ref]:
    """Appends an op of one of some kinds, and returns its results."""
    names = _ops(a, a.pick(kinds))
    return a.ops.draw(a.pick(names or _ops(a, "lowered")), fresh=fresh)


def _block(a: Draft, *modes: str) -> list[Ref]:
    """Appends a block of one to four ops, the first of which casts its operands; returns the results of the last."""
    with a.under(*modes or (a.pick(BLOCKS),)):
        made = _draw(a, ("lowered",))
        for _ in range(a.below(4)):
            made = _draw(a)
    return made


def _call(a: Draft, made: list[Ref]) -> None:
    """Appends one or two calls, after all blocks, at a float32 copy of one of some results."""
    roots = [ref for ref in made if a.requires(ref)] or [ref for ref in a.script.live if a.requires(ref)]
    if not roots:
        reject()
    root = roots[-1 - a.below(len(roots))]
    (root,) = a.apply("astype_float32", (root,))
    if a.can(Capability.RETAIN) and a.below(3) == 2:
        a.actions.backward(root, retain=True)
    a.actions.backward(root)


@pairs
def blocks(a: Draft) -> None:
    """Draws one or two blocks, with or without ops before, between and after them."""
    for _ in range(a.below(2)):
        _draw(a, ("plain",))
    made = _block(a)
    if a.below(2):
        _draw(a, ("plain",))
        made = _block(a)
    _call(a, made)


@pairs
def nested(a: Draft) -> None:
    """Draws a block with an inner block in which autocast is switched off, or on again, and ops after the block."""
    outer = a.pick(BLOCKS)
    made = _block(a, outer) if a.below(2) else []
    with a.under(outer, "autocast_off"):
        inner = _draw(a, ("lowered",), fresh=True)
        if a.below(3) == 2:
            with a.under("autocast"):
                _draw(a, ("lowered",), fresh=True)
    if a.below(2):
        inner = _block(a, outer)
    after = _draw(a, ("lowered",), fresh=True)
    _call(a, [*made, *inner, *after])


@pairs
def unrecorded(a: Draft) -> None:
    """Draws a block that applies an op to leaves under no_grad, and again, recorded."""
    a.require(Capability.MODES)
    with a.under(a.pick(BLOCKS)):
        with a.under("no_grad"):
            step = _lowered(a)
        if a.below(2):
            _draw(a, ("plain",))
        made = a.apply(step.op, step.args, step.attrs)
    _call(a, list(made))


@pairs
def penalised(a: Draft) -> None:
    """Draws a block, a differentiable gradient outside of it, and a block with that gradient."""
    a.require(Capability.CREATE_GRAPH, Capability.FUNCTIONAL)
    made = [ref for ref in _block(a) if a.requires(ref)]
    if not made:
        reject()
    (root,) = a.apply("astype_float32", (made[-1],))
    leaves = [ref for ref in a.script.leaves if a.requires(ref)]
    found = a.actions.grad([root], leaves, create=True, unused=True)
    if not found:
        reject()
    with a.under(a.pick(BLOCKS)):
        result = a.ops.draw(a.pick(_ops(a, a.pick(("plain", "lowered")))), on=found[0])
    _call(a, [ref for ref in result if a.requires(ref)] or found)


@pairs
def written(a: Draft) -> None:
    """Draws a block that applies an op to leaves, writes to one of them, and applies the op again."""
    a.require(Capability.MODES, Capability.WRITES)
    a.writes.require("mul_scalar_")
    with a.under(a.pick(BLOCKS)):
        step = _lowered(a)
        target = a.pick(step.args)
        with a.under("no_grad"):
            a.script.add(InPlace("mul_scalar_", target, (), (("scalar", a.pick((-0.5, 2.0))),)))
        made = a.apply(step.op, step.args, step.attrs)
    _call(a, list(made))


def _lowered(a: Draft) -> Apply:
    """Appends an op that casts its operands, on fresh leaves, and returns it."""
    _draw(a, ("lowered",), fresh=True)
    step = a.reference.steps[-1]
    if not isinstance(step, Apply) or not all(isinstance(a.reference.steps[ref.at], Leaf) for ref in step.args):
        reject()
    return step
