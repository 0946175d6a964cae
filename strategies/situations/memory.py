"""Programs drawn for the rules about saved tensors' memory: graphs traversed, retained, deleted, kept alive by their
gradients, or built again.

Every value of a program stays alive until an instruction deletes the value, even if no later instruction uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Backward, Instruction, Modes, Program, Ref
from autograd_conformance.programs.operands import refer, results
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.optimizers import plain_optimizer
from autograd_conformance.strategies.building.randomness.choices import Choices, Draw
from autograd_conformance.strategies.situations.base import (
    FREEING,
    LEAF_SHAPES,
    action_situation,
    alias,
    joined,
    plain_situation,
)

SMOOTH = ("multiply", "sin", "square", "sigmoid", "tanh")
"""Ops that save tensors and can be differentiated twice."""

TIMES = (2, 3, 4, 5, 100)
"""How many times in all `repeated` runs its instructions, drawn evenly."""


# -- pieces ------------------------------------------------------------------------------------------------------------


def _backward(a: Draft, root: Ref, retain: bool | None, create: bool = False) -> None:
    """Adds a backward call on the whole graph, or a backward or functional call restricted to a leaf or an intermediate
    value.
    """
    reached = a.reference.pullbacks.of(Backward((root,), (a.actions.cotangent(root),)))
    inputs = [r for r in a.script.live if a.requires(r) and a.reference.tape.edge(r) in reached and r != root]
    form = a.below(4) if inputs else 0
    if form == 3 and a.can(Capability.FUNCTIONAL):
        a.actions.grad([root], [a.choices.recent(inputs)], retain, create, unused=True)
    elif form == 2 and a.can(Capability.INPUTS):
        a.actions.backward(root, retain=retain, create=create, inputs=[a.choices.recent(inputs)])
    else:
        a.actions.backward(root, retain=retain, create=create)


def _smooth(a: Draft, value: Ref) -> Ref:
    """Applies one to three ops that can be differentiated twice: usual ones that save tensors, or now and then any."""
    for _ in range(1 + a.below(3)):
        value = _any_twice(a, value) if a.below(4) == 3 else a.ops.nonlinear(value, a.pick(a.available(*SMOOTH)))
    return value


def _any_twice(a: Draft, value: Ref) -> Ref:
    """Applies any op that can be differentiated twice, and perhaps the same one to its result. Its operands are other
    values where it does not take these.
    """
    name = a.pick([name for name in a.alphabet.weighted if name not in a.alphabet.first_order_only])
    for _ in range(1 + a.below(2)):
        value = next(filter(a.requires, a.ops.draw(name, on=value)), value)
    return value


def _written(a: Draft, root: Ref) -> Ref:
    """Now and then adds a recorded write to a root, or to a view of it, and returns the root."""
    if a.can(Capability.WRITES) and a.below(4) == 3 and not a.reference.tape.is_leaf(root):
        target = alias(a, root) if a.below(2) else root
        if not a.reference.storages.overlaps_itself(target):
            a.writes.to(target)
    return root


def _delete(a: Draft, values: Sequence[Ref]) -> None:
    """Adds instructions that delete values, all at once or in two parts."""
    first = a.below(len(values)) if a.below(2) else 0
    for part in (values[:first], values[first:]):
        if part:
            a.actions.delete(*part)
    a.ops.forget_totals()


def _values_since(a: Draft, start: int = 0) -> list[Ref]:
    """Returns the values made since instruction `start`; for 0, all that are no leaves."""
    return [r for r in a.script.live if r.at >= start and (start or r not in a.script.leaves)]


def _clear(a: Draft) -> None:
    """Adds instructions that clear the gradients of all leaves to None, or to zeros if the framework has no None."""
    leaves = [r for r in a.script.leaves if a.requires(r)]
    if a.can(Capability.ASSIGNS) and a.below(3) == 2:
        for leaf in leaves:
            a.actions.assign_grad(leaf, None)
    elif leaves:
        a.actions.zero_grad(*leaves)


# -- one graph ---------------------------------------------------------------------------------------------------------


@action_situation
def freed(a: Draft) -> None:
    """Draws a graph that is traversed and freed, which may be a part of a larger graph that is not traversed, and
    perhaps a second graph.
    """
    root = _written(a, a.ops.root())
    if a.below(2):
        other = a.ops.nonlinear(a.ops.required())
        if a.below(2):
            joined(a, [root, other])
    _backward(a, root, a.pick(FREEING))
    if a.below(2):
        other = a.ops.nonlinear(a.leaf_of(LEAF_SHAPES))
        _backward(a, other, a.pick(FREEING))


@action_situation
def retained(a: Draft) -> None:
    """Draws a graph traversed two to four times, retained each time except perhaps the last, with values created and
    deleted between.
    """
    root = _written(a, a.ops.root())
    for _ in range(1 + a.below(3)):
        _backward(a, root, True)
        if a.below(3) == 2:
            a.ops.grow(0, 1)
        if a.below(3) == 2 and a.can(Capability.DETACH):
            a.detach(root)
        inner = [r for r in _values_since(a) if r != root]
        if inner and a.below(3) == 2:
            a.actions.delete(a.pick(inner))
            a.ops.forget_totals()
    _backward(a, root, a.pick((True, None, False)))


@action_situation
def deleted(a: Draft) -> None:
    """Draws a graph whose values are deleted after up to two calls on all or a part of the graph, which may retain it.
    Detached values may be kept, and values may have hooks.
    """
    root = a.ops.root()
    if a.can(Capability.HOOKS) and a.below(4) == 3:
        handle = a.actions.hook(a.choices.recent(a.script.op_results()))
        if a.below(2):
            a.actions.remove_hook(handle)
    _written(a, root)
    stays: list[Ref] = []
    for _ in range(a.below(3)):
        _backward(a, a.pick((root, a.choices.recent(a.script.op_results()))), a.pick((True, None)))
        if a.script.fails:
            break
    if a.can(Capability.DETACH) and a.below(2):
        stays.append(a.detach(root))
    _delete(a, [r for r in _values_since(a) if r not in stays])
    if a.below(2):
        a.ops.nonlinear(a.ops.required())
        _delete(a, [r for r in _values_since(a) if r not in stays])


@plain_situation
def failed(a: Draft) -> None:
    """Draws backward calls that fail at a freed part or a raising hook, perhaps after traversing other parts, after
    which all values but leaves are deleted. Sometimes another call, which returns, comes before or after the deletion.
    """
    first = a.ops.nonlinear(a.leaf_of(LEAF_SHAPES))
    parts = [a.ops.nonlinear(a.ops.required()) for _ in range(1 + a.below(2))]
    root = joined(a, [*parts, first] if a.below(2) else [first, *parts])
    if a.can(Capability.HOOKS) and a.below(2):
        a.actions.hook(first, "raise")
    elif a.can(Capability.FREES):
        a.actions.backward(first, retain=a.pick(FREEING))
    for _ in range(1 + a.below(2)):
        a.actions.backward(root, retain=a.pick((None, True)))
    returns = a.below(12)
    if returns == 11:
        _backward(a, a.ops.nonlinear(a.ops.required()), None)
    _delete(a, _values_since(a))
    if returns in (9, 10):
        _backward(a, a.ops.nonlinear(a.ops.required()), None)
        _delete(a, _values_since(a))


@action_situation
def cycles(a: Draft) -> None:
    """Draws gradients computed with create_graph, perhaps differentiated, then cleared. All values are deleted before
    or after the clearing, except perhaps a detached gradient.
    """
    a.require(Capability.CREATE_GRAPH)
    stays: list[Ref] = []
    leaf = a.leaf_of(LEAF_SHAPES)
    other = a.leaf(a.shape(leaf)) if a.below(2) else leaf
    root = _written(a, _smooth(a, joined(a, [_smooth(a, leaf), other])))
    for _ in range(1 + a.below(2)):
        _backward(a, root, a.pick((None, True)), create=True)
    if a.can(Capability.ASSIGNS) and a.actions.holds_grad(leaf) and a.below(2):
        gradient = a.actions.read_grad(leaf)
        if a.requires(gradient) and a.below(2):
            a.actions.backward(_smooth(a, gradient), retain=a.pick((None, True)), create=not a.below(3))
        if a.can(Capability.DETACH) and a.below(3) == 2:
            stays.append(a.detach(gradient))
    if a.below(2):
        _clear(a)
        _delete(a, [r for r in _values_since(a) if r not in stays])
    else:
        _delete(a, [r for r in _values_since(a) if r not in stays])
        _clear(a)


# -- repetitions -------------------------------------------------------------------------------------------------------


def _plain(a: Draft, leaf: Ref) -> None:
    a.ops.grow(0, 2)
    a.actions.backward(a.ops.nonlinear(leaf), retain=a.pick(FREEING))


def _retained(a: Draft, leaf: Ref) -> None:
    root = a.ops.successor(a.ops.nonlinear(leaf))
    for _ in range(1 + a.below(2)):
        _backward(a, root, True)


def _created(a: Draft, leaf: Ref) -> None:
    a.require(Capability.CREATE_GRAPH)
    _backward(a, _smooth(a, leaf), None, create=True)
    if a.can(Capability.ASSIGNS) and a.actions.holds_grad(leaf) and a.below(2):
        gradient = a.actions.read_grad(leaf)
        if a.requires(gradient):
            a.actions.backward(gradient)


def _failing(a: Draft, leaf: Ref) -> None:
    root = a.ops.nonlinear(leaf)
    if a.can(Capability.COTANGENTS, Capability.COTANGENT_CHECK) and a.below(2):
        wrong = a.operands.tensor((*a.shape(root), 2), a.dtypes[root])
        a.actions.backward(root, cotangents=[wrong], create=a.can(Capability.CREATE_GRAPH) and not a.below(2))
    else:
        a.actions.backward(root, retain=a.pick(FREEING))
        a.actions.backward(a.ops.successor(root) if a.below(2) else root, retain=a.pick((None, True)))


def _uncalled(a: Draft, leaf: Ref) -> None:
    a.ops.successor(a.ops.nonlinear(leaf))
    if a.can(Capability.MODES) and a.below(2):
        with a.under("no_grad"):
            a.ops.nonlinear(leaf)


def _stepped(a: Draft, leaf: Ref) -> None:
    optimizer = plain_optimizer(a)
    a.actions.backward(a.ops.nonlinear(leaf, a.available("multiply", "square", "sin")[0]), retain=a.pick((None, True)))
    a.actions.step([leaf], *optimizer)


BODIES: tuple[Callable[[Draft, Ref], None], ...] = (
    _plain,
    _retained,
    _created,
    _failing,
    _uncalled,
    _stepped,
)


@st.composite
def repeated(draw: Draw) -> Program:
    """Draws instructions that run two to a hundred times: build a graph, call backward (or fail, or do not call), clear
    gradients, delete values.
    """
    a = Draft(Choices(draw))
    leaf = a.leaf_of(LEAF_SHAPES)
    start = len(a.reference.steps)
    for _ in range(1 + a.below(2)):
        a.pick(BODIES)(a, leaf)
    _clear(a)
    _delete(a, _values_since(a, start))
    return repeat(a.program(), start, a.pick(TIMES))


def repeat(program: Program, start: int, times: int) -> Program:
    """Returns the program with its instructions from index `start` run `times` times in all. Each repetition uses the
    values made before `start` as they were used originally.
    """
    body, count = range(start, len(program)), len(program) - start
    new = {Ref(at, k): Ref(at, k) for at in range(start) for k in range(results(program[at]))}
    steps: list[Instruction] = list(program.instructions[:start])
    modes: list[Modes] = [program.mode(at) for at in range(start)]
    for n in range(times):
        new.update({Ref(at, k): Ref(at + n * count, k) for at in body for k in range(results(program[at]))})
        steps += [refer(program[at], new) for at in body]
        modes += [program.mode(at) for at in body]
    return Program(tuple(steps), tuple(modes))
