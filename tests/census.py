"""What a program contains: the features that autograd breaks on, by name, for counting them."""

from __future__ import annotations

from collections.abc import Iterator

from rules.graph import Expectation
from rules.language import Apply, Backward, Leaf, Program, Ref, ZeroGrad, operands
from rules.observations import Kind, Raised, Returned, Seen
from rules.ops import Saves
from rules.reference.values import reference_of
from rules.tape import Tape


def features(program: Program) -> set[str]:
    """Every feature of a program, where each call returns if it may and raises if it must."""
    tape = Tape(reference_of(program))
    found = set(_written(program))
    earlier: list[tuple[int, Expectation]] = []
    for at, step in enumerate(program):
        expectation = tape.expect(at, step)
        if isinstance(step, Backward):
            found.update(_shape_of_walk(step, expectation, tape))
            found.update(_history(step, expectation, tape, earlier))
            earlier.append((at, expectation))
        raised = not expectation.returns
        outcome = Raised(next(iter(expectation.raises)), "Error", "") if raised else Returned()
        tape.advance(at, step, expectation, Seen(outcome))
    return found


def _written(program: Program) -> Iterator[str]:
    """What can be read off the instructions."""
    used = {ref for step in program if not isinstance(step, ZeroGrad) for ref in operands(step)}
    leaves = [(Ref(at), step) for at, step in enumerate(program) if isinstance(step, Leaf)]
    for ref, leaf in leaves:
        yield leaf.value.dtype
        yield f"rank {len(leaf.value.shape)}"
        yield from (f"dimension of {d}" for d in leaf.value.shape if d < 2)
        if not leaf.requires_grad:
            yield "leaf that requires no grad"
        if ref not in used:
            yield "unused leaf"
        if 0.0 in leaf.value.data:
            yield "zero among the values"
    values = [leaf.value for _, leaf in leaves if leaf.value.data]
    if len(set(values)) < len(values):
        yield "leaves of equal value"
    calls = [step for step in program if isinstance(step, Backward)]
    if len(calls) >= 3:
        yield "backward called three times or more"
    for call in calls:
        if any(c is not None and 0.0 in c.data for c in call.cotangents):
            yield "cotangent with zeros"


def _shape_of_walk(call: Backward, expectation: Expectation, tape: Tape) -> Iterator[str]:
    """What one call goes through."""
    walk = expectation.walk
    users: dict[Ref, set[int]] = {}
    for node in walk.nodes:
        if len(set(node.args)) < len(node.args):
            yield "same value as both arguments"
        for ref in node.args:
            users.setdefault(ref, set()).add(node.at)
    if len(call.roots) == 1 and any(len(users[ref]) > 1 for ref in walk.uses):
        yield "diamond"
    if max(walk.uses.values(), default=0) >= 8:
        yield "value used eight times or more"
    below = [{node.at for node in tape.walk([root]).nodes} for root in call.roots]
    if len(below) > 1 and set.intersection(*below):
        yield "several roots on one subgraph"


def _history(
    call: Backward, expectation: Expectation, tape: Tape, earlier: list[tuple[int, Expectation]]
) -> Iterator[str]:
    """How one call relates to the calls before it."""
    walk = expectation.walk
    nodes = {node.at for node in walk.nodes}
    freed = [node.freed_by for node in walk.nodes if node.surely_gone and node.freed_by is not None]
    if expectation.returns and nodes and any(max(nodes) > at for at, _ in earlier):
        yield "op after a backward, walked later"
    if "lifetime/rebuilt" in expectation.exercises:
        yield "root rebuilt after its graph was freed"
    if freed and not any(root in tape.roots for root in call.roots) and max(r.at for r in call.roots) > min(freed):
        yield "new root on a freed subgraph"
    if nodes and all(node.saves is Saves.NEVER for node in walk.nodes) and any(node.freed for node in walk.nodes):
        yield "freed graph that saved nothing, walked again"
    for _, before in earlier:
        others = {node.at for node in before.walk.nodes}
        if before.returns and nodes and others and not nodes & others and before.walk.leaves & walk.leaves:
            yield "independent graphs that share leaves"
    if Kind.GRAPH_FREED in expectation.raises and expectation.returns is None:
        yield "freed graph walked again"


def size(program: Program) -> tuple[int, int]:
    """How many ops and how many calls a program has."""
    return sum(isinstance(s, Apply) for s in program), sum(isinstance(s, (Backward, ZeroGrad)) for s in program)
