"""Programs of every kind: ops and calls in any order, legal and illegal, not aimed at a situation."""

from __future__ import annotations

from hypothesis import strategies as st

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Leaf, Ref
from autograd_conformance.strategies.building.choices import RETAIN, Draw
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.op_builder import OpBuilder
from autograd_conformance.strategies.situations.base import joined

STEPS = (
    ("op",) * 14
    + ("backward",) * 6
    + ("again",) * 3
    + ("join", "several", "zero", "detach", "refused", "rebuild", "fan", "twin")
)


@st.composite
def programs(draw: Draw, most: int = 18) -> Drawn:
    """Up to `most` drawn steps: on average about ten ops and four calls."""
    b = OpBuilder(draw)
    b.begin()
    b.leaf()
    called: list[Ref] = []
    for _ in range(2 + b.below(most - 1)):
        _add(b, b.pick(STEPS), called)
    if not called and b.op_results():
        _call(b, [b.recent(b.op_results())])
    return b.drawn()


def _add(b: OpBuilder, kind: str, called: list[Ref]) -> None:
    """One step of a kind, or nothing if no value suits it. `called` are the roots of earlier calls."""
    match kind:
        case "op":
            b.op()
        case "backward":
            called.append(b.recent(b.op_results() or b.live))
            _call(b, [called[-1]])
        case "again" if called:
            _call(b, [b.recent(called)])
        case "several":
            _call(b, [b.recent(b.op_results() or b.live), b.pick(b.live)])
        case "zero":
            b.zero_grad(b.pick(b.leaves), to_none=not b.below(2))
        case "detach" if b.can(Capability.DETACH):
            b.detach(b.recent(b.live))
        case "join":
            joined(b, [b.recent(b.live), b.recent(b.live)])
        case "fan":
            value = b.recent(b.live)
            joined(b, [b.successor(value) for _ in range(2 + b.below(1 + b.below(8)))])
        case "rebuild" if called:
            called.append(b.rebuild(b.recent(called)))
            _call(b, [called[-1]])
        case "twin":
            step = b.reference.steps[b.pick(b.leaves).at]
            assert isinstance(step, Leaf)
            b.leaf(value=step.value)
        case "refused":
            root = b.recent(b.live)
            if ways := b.refused_cotangents(root):
                b.backward(root, cotangents=[b.pick(ways)], retain=True)


def _call(b: OpBuilder, roots: list[Ref]) -> None:
    b.backward(*roots, retain=b.pick(RETAIN))
