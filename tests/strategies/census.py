"""Names the features of a program in which autograd often fails, for counting them."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any, assert_never

from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    DefaultDtype,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Modes,
    Program,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
    is_recorded,
)
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.operands import operands
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies import situations as families
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness.choices import Choices
from autograd_conformance.strategies.building.randomness.hypothesis_internals import makes_strategy
from autograd_conformance.tape.graph import Expectation
from autograd_conformance.tape.model import Tape


def features(program: Program) -> set[str]:
    """All features of a program, if each call returns when it may and raises when it must."""
    follower = Draft(Choices(_no_draws), "float64")
    tape = follower.script.tape
    assert tape is not None
    tape.counts = True
    found = set(_in_instructions(program))
    earlier: list[tuple[int, Expectation]] = []
    for at, step in enumerate(program):
        modes = program.mode(at)
        expectation = tape.expect(at, step, modes)
        if isinstance(step, Backward):
            found.update(_in_traversal(step, expectation, tape))
            found.update(_in_calls(step, expectation, tape, earlier))
            earlier.append((at, expectation))
        found.update(_in_memory(step, modes, tape))
        with follower.under(*modes):
            follower.script.add(step)
        if follower.script.fails:
            found.add("legal instruction after an error")
    return found - ({"legal instruction after an error"} if follower.script.fails else set())


def _no_draws(strategy: object) -> object:
    raise AssertionError("a program that is followed draws nothing")


def _in_instructions(program: Program) -> Iterator[str]:
    """Features of the instructions in isolation."""
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
    yield from _in_actions(program)


def _in_actions(program: Program) -> Iterator[str]:
    """Features of gradient calls, hooks, modes and other actions."""
    if any(len(modes) > 1 for modes in program.modes):
        yield "grad modes inside one another"
    if sum(isinstance(s, (Backward, Grad)) and s.create_graph for s in program) > 1:
        yield "several calls with create_graph"
    for step in program:
        match step:
            case Grad(create_graph=create) | Backward(create_graph=create) if create:
                yield "create_graph"
        match step:
            case Grad():
                yield "functional call"
            case Backward(inputs=tuple()):
                yield "call restricted to inputs"
            case Hook(effect=effect, accumulated=accumulated):
                yield "hook after accumulation" if accumulated else f"hook that would {effect}"
            case RemoveHook():
                yield "hook that is removed"
            case RetainGrad():
                yield "retained gradient"
            case SetRequiresGrad(on=on):
                yield f"switch {'on' if on else 'off'}"
            case DetachInPlace():
                yield "detached in place"
            case DefaultDtype():
                yield "another default dtype"
            case ReadGrad():
                yield "gradient as a value"
            case AssignGrad():
                yield "assigned gradient"
            case Step():
                yield "optimizer's step"
    hooked = Counter(step.target for step in program if isinstance(step, Hook))
    if any(count > 1 for count in hooked.values()):
        yield "several hooks on one value"


def _in_memory(step: Instruction, modes: Modes, tape: Tape) -> Iterator[str]:
    """Features of writes and shared memory."""
    reference, memory = tape.reference, tape.reference.storages
    if isinstance(step, Apply) and OPS[step.op].aliases is Certainty.ALWAYS and step.args[0] in memory.bases:
        yield "view of a view"
    if isinstance(step, Detach) and step.source in memory.bases:
        yield "view, detached"
    if not isinstance(step, InPlace):
        return
    recorded = is_recorded(modes) and any(reference.requires_grad[r] for r in operands(step))
    yield "recorded write" if recorded else "unrecorded write"
    if step.target in memory.bases:
        yield "write to a view"
    elif memory.views_of.get(step.target):
        yield "write to what has views"
    if reference.tape.is_leaf(step.target) and reference.requires_grad[step.target]:
        yield "write to a leaf that requires grad"
    if memory.storage(step.target).at < 0:
        yield "write to a gradient"
    if isinstance(reference.steps[step.target.at], Detach):
        yield "write to a detached value"


def _in_traversal(call: Backward, expectation: Expectation, tape: Tape) -> Iterator[str]:
    """Features of the graph that one call traverses."""
    traversal = expectation.traversal
    users: dict[Ref, set[int]] = {}
    for node in traversal.nodes:
        if len(set(node.args)) < len(node.args):
            yield "same value as both arguments"
        for ref in node.args:
            users.setdefault(ref, set()).add(node.at)
    if len(call.roots) == 1 and any(len(users[ref]) > 1 for ref in traversal.uses if ref in users):
        yield "diamond"
    if max(traversal.uses.values(), default=0) >= 8:
        yield "value used eight times or more"
    below = [{node.at for node in tape.traverse(Backward((root,), (None,))).nodes} for root in call.roots]
    if len(below) > 1 and set.intersection(*below):
        yield "several roots on one subgraph"


def _in_calls(
    call: Backward, expectation: Expectation, tape: Tape, earlier: list[tuple[int, Expectation]]
) -> Iterator[str]:
    """Features of a call in relation to earlier calls."""
    traversal = expectation.traversal
    nodes = {node.at for node in traversal.nodes}
    freed = [node.freed_by for node in traversal.nodes if node.must_be_freed and node.freed_by is not None]
    if expectation.returns and nodes and any(max(nodes) > at for at, _ in earlier):
        yield "op after a backward, walked later"
    if "lifetime/rebuilt" in expectation.exercises:
        yield "root rebuilt after its graph was freed"
    if freed and not any(root in tape.roots for root in call.roots) and max(r.at for r in call.roots) > min(freed):
        yield "new root on a freed subgraph"
    if (
        nodes
        and all(node.saves is Certainty.NEVER for node in traversal.nodes)
        and any(node.freed for node in traversal.nodes)
    ):
        yield "freed graph that saved nothing, walked again"
    for _, before in earlier:
        others = {node.at for node in before.traversal.nodes}
        if before.returns and nodes and others and not nodes & others and before.traversal.leaves & traversal.leaves:
            yield "independent graphs that share leaves"
    if Kind.GRAPH_FREED in expectation.raises and expectation.returns is None:
        yield "freed graph walked again"


def programs_of(case: Program | Drawn | Related) -> tuple[Program, ...]:
    """The programs that a test checks together: one, drawn or not, or two related ones."""
    match case:
        case Program():
            return (case,)
        case Drawn(program):
            return (program,)
        case Related(_, first, second):
            return first, second
        case _:
            assert_never(case)


def size(program: Program) -> tuple[int, int]:
    """Numbers of ops and of calls of a program."""
    return sum(isinstance(s, Apply) for s in program), sum(isinstance(s, (Backward, Grad, ZeroGrad)) for s in program)


ELSEWHERE = ("memory", "networks", "optimizers", "recurrent", "regions")
"""Families of situations with separate tests."""


def situations(elsewhere: Collection[str] = ELSEWHERE) -> dict[str, Callable[..., Any]]:
    """The situations by name, except those of the families in `elsewhere`."""
    modules = (module.name for module in pkgutil.iter_modules(families.__path__))
    names = [f"{families.__name__}.{name}" for name in modules if name not in elsewhere]
    defined = [vars(importlib.import_module(name)) for name in names]
    return {
        name: make
        for module in defined
        for name, make in module.items()
        if makes_strategy(make) and make.__module__.startswith(families.__name__)
    }
