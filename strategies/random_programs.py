"""Programs of every kind: ops and calls interleaved, legal and illegal, without a situation in mind."""

from __future__ import annotations

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.strategies.building.draft import RETAIN, Draw
from autograd_conformance.strategies.building.op_builder import Builder
from autograd_conformance.strategies.situations.base import joined
from hypothesis import strategies as st

STEPS = st.sampled_from(
    ("op",) * 14
    + ("backward",) * 6
    + ("again",) * 3
    + ("join", "several", "zero", "detach", "refused", "rebuild", "fan", "twin")
)


@st.composite
def programs(draw: Draw, most: int = 18) -> Program:
    """Up to `most` drawn steps: about ten ops and four calls."""
    b = Builder(draw)
    b.leaf()
    walked: list[Ref] = []
    for _ in range(2 + b.below(most - 1)):
        match draw(STEPS):
            case "op":
                b.op()
            case "backward":
                root = b.recent(b.made() or b.live)
                walked.append(root)
                _call(b, [root])
            case "again" if walked:
                _call(b, [b.recent(walked)])
            case "several":
                _call(b, [b.recent(b.made() or b.live), b.pick(b.live)])
            case "zero":
                b.zero(b.pick(b.leaves), to_none=not b.below(2))
            case "detach" if b.can(Capability.DETACH):
                b.detach(b.recent(b.live))
            case "join":
                joined(b, [b.recent(b.live), b.recent(b.live)])
            case "fan":
                value = b.recent(b.live)
                joined(b, [b.beyond(value) for _ in range(2 + b.below(1 + b.below(8)))])
            case "rebuild" if walked:
                root = b.rebuild(b.recent(walked))
                walked.append(root)
                _call(b, [root])
            case "twin":
                step = b.reference.steps[b.pick(b.leaves).at]
                b.leaf(value=step.value)  # type: ignore[union-attr]
            case "refused":
                root = b.recent(b.live)
                wrong = b.tensor((2,), b.dtypes[root])
                b.backward(
                    root, cotangents=[b.pick([None, wrong] if b.can(Capability.COTANGENTS) else [None])], retain=True
                )
    if not walked and b.made():
        _call(b, [b.recent(b.made())])
    return b.program()


def _call(b: Builder, roots: list[Ref]) -> None:
    b.backward(*roots, retain=b.draw(RETAIN))
