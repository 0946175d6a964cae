"""Programs drawn for the rules about recurrent networks: whole sequences, and sequences in parts with the state carried
over, detached or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.optimizers import optimizer
from autograd_conformance.strategies.networks.elementwise import elementwise
from autograd_conformance.strategies.networks.recurrent import CARRYING, CELLS, Recurrent, composable, recurrent
from autograd_conformance.strategies.situations import networks
from autograd_conformance.strategies.situations.base import FREEING, plain_situation

SHORT = ((2, 1), (1, 2), (3, 2), (1, 0))
"""Lengths and batch sizes of a sequence's parts, of which only the batch size is used; 0 is no batch."""


def _network(b: Draft, cell: str | None = None) -> Recurrent:
    made = recurrent(b, cell, frozen=True)
    made.needs_modules(b)
    return made


# -- whole sequences ---------------------------------------------------------------------------------------------------


@plain_situation
def single(b: Draft) -> None:
    """Draws one sequence through a recurrent module, and one backward call on its results."""
    networks.passes_and_calls(b, _network(b), once=True)


@plain_situation
def several(b: Draft) -> None:
    """Draws one or two sequences through one recurrent module, and backward calls that may retain the graph."""
    networks.passes_and_calls(b, _network(b), once=False)


@plain_situation
def partial_roots(b: Draft) -> None:
    """Draws backward calls on a recurrent module's output at one time, or on one part of its last state."""
    made = _network(b)
    inputs = made.inputs(b, bool(b.below(3)))
    out, *last = made.module(b, *inputs)
    for n in range(1 + b.below(2)):
        if b.below(2):
            (select,) = b.available("select")
            index = b.pick((-1, 0))
            (root,) = b.apply(select, (out,), (("dim", made.time_dim(b, out)), ("index", index)))
        else:
            root = b.pick(last)
        b.actions.backward(root, retain=True if n == 0 and b.can(Capability.RETAIN) else None)


@plain_situation
def composed(b: Draft) -> None:
    """Draws one or two parts of a sequence through recurrent cells composed of ops, and one to three backward calls on
    their outputs.
    """
    part = _composed(b)
    state: Sequence[Ref] = ()
    for _ in range(1 + b.below(2)):
        out, state = part(state)
        if b.below(3) == 2:
            b.actions.backward(out, retain=True)
    b.actions.backward(*networks.roots(b, [out]))


# -- sequences in parts ------------------------------------------------------------------------------------------------

Part = Callable[[Sequence[Ref]], tuple[Ref, Sequence[Ref]]]
"""A function that computes one part of a sequence from a state (empty for the first) and returns its output and last
state.
"""


def _elementwise(b: Draft) -> tuple[tuple[Ref, ...], Part]:
    made = elementwise(b)

    def part(state: Sequence[Ref]) -> tuple[Ref, Sequence[Ref]]:
        h = state[0] if state else made.input(b, bool(b.below(2)))
        for _ in range(1 + b.below(3)):
            h = made.step(b, made.input(b), h)
        return h, (h,)

    return made.parameters, part


def _recurrent(b: Draft, by_module: bool) -> tuple[tuple[Ref, ...], Part]:
    cells = [cell for cell in CELLS if by_module or composable(b, cell)]
    made = recurrent(b, b.pick(cells), settings=b.pick(CARRYING))
    if by_module:
        made.needs_modules(b)
    _, batch = b.pick(SHORT)

    def part(state: Sequence[Ref]) -> tuple[Ref, Sequence[Ref]]:
        x = made.sequence(b, b.pick((2, 1, 3)), batch, bool(b.below(4) == 3))
        state = state or made.first(b, x, bool(b.below(2)))
        out, *last = (made.module if by_module else made.composed)(b, x, *state)
        return out, last

    return made.parameters, part


def _composed(b: Draft) -> Part:
    return _parts(b, modules=False)[1]


def _parts(b: Draft, modules: bool = True) -> tuple[tuple[Ref, ...], Part]:
    """Draws a recurrent network in any form that the framework supports. Returns its parameters, and the function that
    computes a part of a sequence.
    """
    known = [f"nn_{cell}" for cell in CELLS]
    ways = [lambda: _elementwise(b)]
    if any(composable(b, cell) for cell in CELLS):
        ways.append(lambda: _recurrent(b, False))
    if modules and b.can(Capability.MODULES) and set(known) <= set(b.alphabet.modules):
        ways += [lambda: _recurrent(b, True)] * 3
    return b.pick(ways[::-1])()


def _truncated(b: Draft, detaches: bool) -> None:
    """Draws a sequence in two to four parts, with a backward call on each part and perhaps optimizer steps in
    between.
    """
    parameters, part = _parts(b)
    steps = optimizer(b, len(parameters)) if b.can(Capability.OPTIMIZERS) and b.below(3) == 2 else None
    state: Sequence[Ref] = ()
    keeps = b.below(4) == 3
    for n in range(2 + b.below(3)):
        if (n and detaches) or (n > 1 and b.can(Capability.DETACH) and b.below(4) == 3):
            state = [b.detach(h) for h in state]
        out, state = part(state)
        root = out if b.below(3) else b.choices.recent(state)
        b.actions.backward(b.ops.nonlinear(root) if b.below(2) else root, retain=True if keeps else b.pick(FREEING))
        if steps:
            b.actions.step(parameters, *steps)
            if b.below(2):
                b.actions.zero_grad(*parameters, to_none=not b.below(2))


@plain_situation
def detached_states(b: Draft) -> None:
    """Draws a sequence in parts, each of which begins with the detached last state of the part before it."""
    b.require(Capability.DETACH)
    _truncated(b, detaches=True)


@plain_situation
def carried_states(b: Draft) -> None:
    """Draws a sequence in parts, each of which begins with the last state of the part before it."""
    _truncated(b, detaches=False)
