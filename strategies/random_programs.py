"""Programs of every kind: ops and backward calls in any order, legal and illegal, not aimed at any rule."""

from __future__ import annotations

from hypothesis import strategies as st

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Leaf, Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness.choices import RETAIN, Choices, Draw
from autograd_conformance.strategies.situations.base import joined

STEPS = (
    ("op",) * 14
    + ("backward",) * 6
    + ("again",) * 3
    + ("join", "several", "zero", "detach", "refused", "rebuild", "fan", "twin")
)


@st.composite
def programs(draw: Draw, most: int = 18) -> Drawn:
    """Draws programs of up to `most` steps, such as an op or a backward call: on average about ten ops and four
    calls.
    """
    b = Draft(Choices(draw), tracked=False)
    b.begin()
    b.leaf()
    called: list[Ref] = []
    for _ in range(2 + b.below(most - 1)):
        _add(b, b.pick(STEPS), called)
    if not called and b.script.op_results():
        _call(b, [b.choices.recent(b.script.op_results())])
    return b.drawn()


def _add(b: Draft, kind: str, called: list[Ref]) -> None:
    """Adds one step of a kind, such as "op" or "backward", or nothing if no value suits the kind. `called` are the
    roots of earlier backward calls, to which a new call's root is added.
    """
    match kind:
        case "op":
            b.ops.draw()
        case "backward":
            called.append(b.choices.recent(b.script.op_results() or b.script.live))
            _call(b, [called[-1]])
        case "again" if called:
            _call(b, [b.choices.recent(called)])
        case "several":
            _call(b, [b.choices.recent(b.script.op_results() or b.script.live), b.pick(b.script.live)])
        case "zero":
            b.actions.zero_grad(b.pick(b.script.leaves), to_none=not b.below(2))
        case "detach" if b.can(Capability.DETACH):
            b.detach(b.choices.recent(b.script.live))
        case "join":
            joined(b, [b.choices.recent(b.script.live), b.choices.recent(b.script.live)])
        case "fan":
            value = b.choices.recent(b.script.live)
            joined(b, [b.ops.successor(value) for _ in range(2 + b.below(1 + b.below(8)))])
        case "rebuild" if called:
            called.append(b.ops.rebuild(b.choices.recent(called)))
            _call(b, [called[-1]])
        case "twin":
            step = b.reference.steps[b.pick(b.script.leaves).at]
            assert isinstance(step, Leaf)
            b.leaf(value=step.value)
        case "refused":
            root = b.choices.recent(b.script.live)
            if ways := b.actions.refused_cotangents(root):
                b.actions.backward(root, cotangents=[b.pick(ways)], retain=True)


def _call(b: Draft, roots: list[Ref]) -> None:
    b.actions.backward(*roots, retain=b.pick(RETAIN))
