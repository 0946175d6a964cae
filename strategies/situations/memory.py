"""Saved tensors and what keeps them: graphs traversed, retained, deleted, tied to their gradients, built again.

A program keeps every value until it deletes it, whether an instruction names the value later or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Backward, Instruction, Modes, Program, Ref
from autograd_conformance.programs.operands import refer, results
from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.building.choices import Draw
from autograd_conformance.strategies.building.optimizers import plain_optimizer
from autograd_conformance.strategies.situations.base import FREEING, LEAF_SHAPES, action_situation, joined

SMOOTH = ("multiply", "sin", "square", "sigmoid", "tanh")
"""Ops that save and may be differentiated twice."""

TIMES = (2, 3, 4, 5, 100)
"""How often something is done again."""


# -- pieces ------------------------------------------------------------------------------------------------------------


def _backward(a: ActionBuilder, root: Ref, retain: bool | None, create: bool = False) -> None:
    """A call by either form: over the whole graph, or restricted to a leaf or to a value on the way."""
    due = a.reference.pullback(Backward((root,), (a.cotangent(root),)))
    inputs = [r for r in a.live if a.requires(r) and a.reference.edge(r) in due and r != root]
    form = a.below(4) if inputs else 0
    if form == 3 and a.can(Capability.FUNCTIONAL):
        a.grad([root], [a.recent(inputs)], retain, create, unused=True)
    elif form == 2 and a.can(Capability.INPUTS):
        a.call(root, retain=retain, create=create, inputs=[a.recent(inputs)])
    else:
        a.call(root, retain=retain, create=create)


def _smooth(a: ActionBuilder, value: Ref) -> Ref:
    """One to three ops that save and may be differentiated twice."""
    for _ in range(1 + a.below(3)):
        value = a.nonlinear(value, a.pick(a.available(*SMOOTH)))
    return value


def _delete(a: ActionBuilder, values: Sequence[Ref]) -> None:
    """Delete values, all at once or in two parts."""
    first = a.below(len(values)) if a.below(2) else 0
    for part in (values[:first], values[first:]):
        if part:
            a.delete(*part)
    a.totals.clear()


def _values_since(a: ActionBuilder, start: int = 0) -> list[Ref]:
    """The values made since instruction `start`; since the beginning, those that are no leaves."""
    return [r for r in a.live if r.at >= start and (start or r not in a.leaves)]


def _clear(a: ActionBuilder) -> None:
    """Make every leaf hold no gradient."""
    leaves = [r for r in a.leaves if a.requires(r)]
    if a.can(Capability.ASSIGNS) and a.below(3) == 2:
        for leaf in leaves:
            a.assign_grad(leaf, None)
    elif leaves:
        a.zero_grad(*leaves)


# -- one graph ---------------------------------------------------------------------------------------------------------


@action_situation
def freed(a: ActionBuilder) -> None:
    """A graph traversed without retaining it, beside one that is not, or that has a part which is not."""
    root = a.root()
    if a.below(2):
        other = a.nonlinear(a.required())
        if a.below(2):
            joined(a, [root, other])
    _backward(a, root, a.pick(FREEING))
    if a.below(2):
        other = a.nonlinear(a.leaf(a.pick(a.shapes(LEAF_SHAPES))))
        _backward(a, other, a.pick(FREEING))


@action_situation
def retained(a: ActionBuilder) -> None:
    """A graph traversed two to four times, retained each time but perhaps the last; values come and go between."""
    root = a.root()
    for _ in range(1 + a.below(3)):
        _backward(a, root, True)
        if a.below(3) == 2:
            a.grow(0, 1)
        if a.below(3) == 2 and a.can(Capability.DETACH):
            a.detach(root)
        inner = [r for r in _values_since(a) if r != root]
        if inner and a.below(3) == 2:
            a.delete(a.pick(inner))
            a.totals.clear()
    _backward(a, root, a.pick((True, None, False)))


@action_situation
def deleted(a: ActionBuilder) -> None:
    """A graph that is deleted, never traversed, or traversed and retained, or in part; detached values may stay, and
    values may have hooks.
    """
    root = a.root()
    if a.can(Capability.HOOKS) and a.below(4) == 3:
        handle = a.hook(a.recent(a.made()))
        if a.below(2):
            a.remove_hook(handle)
    stays: list[Ref] = []
    for _ in range(a.below(3)):
        _backward(a, a.pick((root, a.recent(a.made()))), a.pick((True, None)))
        if a.fails:
            break
    if a.can(Capability.DETACH) and a.below(2):
        stays.append(a.detach(root))
    _delete(a, [r for r in _values_since(a) if r not in stays])
    if a.below(2):
        a.nonlinear(a.required())
        _delete(a, [r for r in _values_since(a) if r not in stays])


@action_situation
def failed(a: ActionBuilder) -> None:
    """A call that meets a freed part on its way, or a hook that raises, beside parts that it has yet to reach; then all
    values are deleted; perhaps another call returns before it, or behind it.
    """
    first = a.nonlinear(a.leaf(a.pick(a.shapes(LEAF_SHAPES))))
    parts = [a.nonlinear(a.required()) for _ in range(1 + a.below(2))]
    root = joined(a, [*parts, first] if a.below(2) else [first, *parts])
    if a.can(Capability.HOOKS) and a.below(2):
        a.hook(first, "raise")
    elif a.can(Capability.FREES):
        a.call(first, retain=a.pick(FREEING))
    for _ in range(1 + a.below(2)):
        a.call(root, retain=a.pick((None, True)))
    returns = a.below(12)
    if returns == 11:
        _backward(a, a.nonlinear(a.required()), None)
    _delete(a, _values_since(a))
    if returns in (9, 10):
        _backward(a, a.nonlinear(a.required()), None)
        _delete(a, _values_since(a))


@action_situation
def cycles(a: ActionBuilder) -> None:
    """Gradients that are differentiable, perhaps differentiated, then cleared; all values deleted before or after, but
    for a gradient's detached value, perhaps.
    """
    a.require(Capability.CREATE_GRAPH)
    stays: list[Ref] = []
    leaf = a.leaf(a.pick(a.shapes(LEAF_SHAPES)))
    other = a.leaf(a.shape(leaf)) if a.below(2) else leaf
    root = _smooth(a, joined(a, [_smooth(a, leaf), other]))
    for _ in range(1 + a.below(2)):
        _backward(a, root, a.pick((None, True)), create=True)
    if a.can(Capability.ASSIGNS) and a.holds_grad(leaf) and a.below(2):
        gradient = a.read_grad(leaf)
        if a.requires(gradient) and a.below(2):
            a.call(_smooth(a, gradient), retain=a.pick((None, True)), create=not a.below(3))
        if a.can(Capability.DETACH) and a.below(3) == 2:
            stays.append(a.detach(gradient))
    if a.below(2):
        _clear(a)
        _delete(a, [r for r in _values_since(a) if r not in stays])
    else:
        _delete(a, [r for r in _values_since(a) if r not in stays])
        _clear(a)


# -- again and again ---------------------------------------------------------------------------------------------------


def _plain(a: ActionBuilder, leaf: Ref) -> None:
    a.grow(0, 2)
    a.call(a.nonlinear(leaf), retain=a.pick(FREEING))


def _retained(a: ActionBuilder, leaf: Ref) -> None:
    root = a.successor(a.nonlinear(leaf))
    for _ in range(1 + a.below(2)):
        _backward(a, root, True)


def _created(a: ActionBuilder, leaf: Ref) -> None:
    a.require(Capability.CREATE_GRAPH)
    _backward(a, _smooth(a, leaf), None, create=True)
    if a.can(Capability.ASSIGNS) and a.holds_grad(leaf) and a.below(2):
        gradient = a.read_grad(leaf)
        if a.requires(gradient):
            a.call(gradient)


def _failing(a: ActionBuilder, leaf: Ref) -> None:
    root = a.nonlinear(leaf)
    if a.can(Capability.COTANGENTS, Capability.COTANGENT_CHECK) and a.below(2):
        wrong = a.tensor((*a.shape(root), 2), a.dtypes[root])
        a.call(root, cotangents=[wrong], create=a.can(Capability.CREATE_GRAPH) and not a.below(2))
    else:
        a.call(root, retain=a.pick(FREEING))
        a.call(a.successor(root) if a.below(2) else root, retain=a.pick((None, True)))


def _uncalled(a: ActionBuilder, leaf: Ref) -> None:
    a.successor(a.nonlinear(leaf))
    if a.can(Capability.MODES) and a.below(2):
        with a.under("no_grad"):
            a.nonlinear(leaf)


def _stepped(a: ActionBuilder, leaf: Ref) -> None:
    optimizer = plain_optimizer(a)
    a.call(a.nonlinear(leaf, a.available("multiply", "square", "sin")[0]), retain=a.pick((None, True)))
    a.step([leaf], *optimizer)


BODIES: tuple[Callable[[ActionBuilder, Ref], None], ...] = (
    _plain,
    _retained,
    _created,
    _failing,
    _uncalled,
    _stepped,
)


@st.composite
def repeated(draw: Draw) -> Program:
    """Two to a hundred times the same: build, call (or fail to, or not), clear, delete."""
    a = ActionBuilder(draw)
    leaf = a.leaf(a.pick(a.shapes(LEAF_SHAPES)))
    start = len(a.reference.steps)
    for _ in range(1 + a.below(2)):
        a.pick(BODIES)(a, leaf)
    _clear(a)
    _delete(a, _values_since(a, start))
    return repeat(a.program(), start, a.pick(TIMES))


def repeat(program: Program, start: int, times: int) -> Program:
    """The program with its instructions from `start` on repeated so many times; they use older values as before."""
    body, count = range(start, len(program)), len(program) - start
    new = {Ref(at, k): Ref(at, k) for at in range(start) for k in range(results(program[at]))}
    steps: list[Instruction] = list(program.instructions[:start])
    modes: list[Modes] = [program.mode(at) for at in range(start)]
    for n in range(times):
        new.update({Ref(at, k): Ref(at + n * count, k) for at in body for k in range(results(program[at]))})
        steps += [refer(program[at], new) for at in body]
        modes += [program.mode(at) for at in body]
    return Program(tuple(steps), tuple(modes))
