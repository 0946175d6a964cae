"""Which rules a backward call really puts to the test: the situation of each, told from the state of the tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rules.graph import Freed, Node, Walk
from rules.language import Backward, Ref
from rules.ops import Saves

if TYPE_CHECKING:
    from rules.tape import Tape


def exercised(tape: Tape, call: Backward, walk: Walk) -> tuple[str, ...]:
    """The rules that a call which may return exercises."""
    rules = ["errors/legal-returns"]
    if walk.leaves:
        rules += ["gradients/op" if walk.alone else "gradients/graph", "gradients/form"]
        rules += dict.fromkeys(
            "accumulation/first" if tape.held.get(leaf) is None else "accumulation/adds" for leaf in walk.leaves
        )
    if len(walk.leaves) > 1:
        rules.append("accumulation/own-object")
        values = [tape.leaves[leaf].value for leaf in walk.leaves]
        if len({(v.shape, v.data) for v in values if v.data}) < sum(1 for v in values if v.data):
            rules.append("gradients/equal-leaves")
    if any(n > 1 for n in walk.uses.values()):
        rules.append("gradients/fan-out")
    for node in walk.nodes:
        if len(set(node.args)) < len(node.args):
            rules.append("gradients/same-argument")
        if node.results > 1:
            rules.append("gradients/several-results")
        if any(r in tape.leaves and not tape.requires_grad[r] for r in node.args):
            rules.append("accumulation/constant")
        if any(r in tape.detached for r in node.args):
            rules.append("detach/blocks")
    if len(call.roots) > 1:
        rules.append("gradients/several-roots")
    if any(ct is not None and any(x != 1 for x in ct.data) for ct in call.cotangents):
        rules.append("gradients/cotangent")
    if any(tape.requires_grad[leaf] and leaf not in walk.leaves for leaf in tape.leaves):
        rules.append("accumulation/unreached")
    made = {Ref(n.at, k) for n in walk.nodes for k in range(n.results)}
    if any(source in made for source in tape.detached.values()):
        rules.append("detach/keeps-source")
    if tape.refused & (made | set(call.roots)):
        rules.append("errors/refusal-keeps-graph")
    if any(node.derivative for node in walk.nodes):
        rules.append("higher/differentiable")
    stale = [node for node in (*walk.nodes, *walk.perhaps) if tape.memory.stale(node)]
    if stale:
        needed = any(node.saves is not Saves.NEVER for node in stale)
        rules.append("writes/error-or-recorded" if needed else "writes/unsaved-works")
    return tuple(dict.fromkeys(rules + _lifetime(tape, call, walk)))


def _lifetime(tape: Tape, call: Backward, walk: Walk) -> list[str]:
    rules = []
    if any(node.walks and not node.freed and node.saves is Saves.SURELY for node in walk.nodes):
        rules.append("lifetime/retained-works")
    if any(node.freed for node in walk.nodes):
        return ["lifetime/nothing-saved", *rules]
    freed = [node for node in tape.nodes.values() if node.freed is Freed.SURELY]
    if freed and walk.nodes:
        signatures = {_signature(tape, Ref(n.at)) for n in freed}
        if any(_signature(tape, root) in signatures for root in call.roots if root.at in tape.nodes):
            rules.append("lifetime/rebuilt")
        elif _joined(tape, walk, freed):
            rules.append("lifetime/walked-only")
        elif any(r in walk.leaves for node in freed for r in node.args):
            rules.append("lifetime/independent")
    return rules


def _signature(tape: Tape, ref: Ref) -> object:
    node = tape.nodes.get(ref.at)
    return ref if node is None else (node.op, node.attrs, ref.output, *(_signature(tape, r) for r in node.args))


def _joined(tape: Tape, walk: Walk, freed: Sequence[Node]) -> bool:
    """Whether some node depends both on what is walked and on what was freed: the two are parts of one graph."""
    walked, gone = {n.at for n in walk.nodes}, {n.at for n in freed}
    reach: dict[int, int] = {}
    for at, node in tape.nodes.items():
        mask = (1 if at in walked else 0) | (2 if at in gone else 0)
        for r in node.args:
            mask |= reach.get(r.at, 0)
        reach[at] = mask
        if mask == 3:
            return True
    return False
