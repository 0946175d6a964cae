"""Replaying a program file: runs it again and says fixed, still failing, or cannot run."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from autograd_conformance.frameworks.base import Framework
from autograd_conformance.frameworks.runner import run
from autograd_conformance.harness.check import Broken, companion, related_as
from autograd_conformance.harness.failures import related as relations
from autograd_conformance.ops.catalogue import APPLIED
from autograd_conformance.programs import codec
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    Clip,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Optimizer,
    Program,
    ReadGrad,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.validation import MalformedProgram
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import Capability
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.relations.relation import Related

Verdict = Literal["fixed", "still failing", "cannot run"]


@dataclass(frozen=True)
class Replayed:
    """What became of a replayed program or two: the verdict, why it cannot run, or the rule that it still breaks."""

    verdict: Verdict
    reason: str | None = None
    broken: Broken | None = None


def replay(path: Path, framework: Framework, claims: Collection[Capability]) -> Replayed:
    """Run the program in a file again, also on the companion that counts saved tensors where there is one."""
    try:
        found = read(path)
    except (MalformedProgram, OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Replayed("cannot run", f"{path}: {reason}")
    if isinstance(found, Related):
        cannot = _cannot(path, found.first, framework, claims) or _cannot(path, found.second, framework, claims)
        return cannot or _related(found, framework)
    return _cannot(path, found, framework, claims) or _alone(found, framework)


def _cannot(path: Path, program: Program, framework: Framework, claims: Collection[Capability]) -> Replayed | None:
    """Why a program cannot be run on a framework, if it cannot."""
    missing = sorted({s.op for s in program if isinstance(s, Apply)} - set(framework.ops))
    if missing:
        return Replayed("cannot run", f"{path}: {framework.name} does not support {', '.join(missing)}")
    dtypes = sorted({s.value.dtype for s in program if isinstance(s, Leaf)} - set(framework.dtypes))
    if dtypes:
        return Replayed("cannot run", f"{path}: {framework.name} does not support {', '.join(dtypes)}")
    unclaimed = sorted(need.value for need in needs(program) - set(claims))
    if unclaimed:
        return Replayed("cannot run", f"{path}: {framework.name} does not claim {', '.join(unclaimed)}")
    try:
        Reference(program)
    except Exception as error:  # operands of shapes that no op takes: the file is at fault, not the framework
        return Replayed("cannot run", f"{path}: the program is not well-formed: {type(error).__name__}: {error}")
    return None


def _alone(program: Program, framework: Framework) -> Replayed:
    counter = companion(framework)
    for asked in (framework, counter) if counter else (framework,):
        observation = run(program, asked)
        violation = judge(program, observation, Reference(program), asked.claims).violation
        if violation is not None:
            return Replayed("still failing", violation.rule, Broken(program, observation, violation, asked))
    return Replayed("fixed")


def _related(related: Related, framework: Framework) -> Replayed:
    observation, other = run(related.first, framework), run(related.second, framework)
    violation = related_as(related, observation, other, framework).violation
    if violation is None:
        return Replayed("fixed")
    broken = Broken(related.first, observation, violation, framework, related)
    return Replayed("still failing", violation.rule, broken)


def needs(program: Program) -> set[Capability]:
    """What a framework has to claim for a program to be asked of it."""
    found = {Capability.MODES} if program.modes else set()
    for step in program:
        found |= _needs(step)
    return found


def _needs(step: Instruction) -> set[Capability]:
    match step:
        case Leaf(requires_grad=False):
            return {Capability.CONSTANTS}
        case Detach():
            return {Capability.DETACH}
        case InPlace():
            return {Capability.WRITES}
        case DetachInPlace():
            return {Capability.WRITES, Capability.DETACH}
        case SetRequiresGrad():
            return {Capability.SWITCHES}
        case Backward():
            return _call_needs(step) | (set() if step.inputs is None else {Capability.INPUTS})
        case Grad():
            return _call_needs(step) | {Capability.FUNCTIONAL}
        case RetainGrad():
            return {Capability.RETAINS_GRAD}
        case Hook(accumulated=accumulated):
            return {Capability.ACCUMULATED_HOOKS if accumulated else Capability.HOOKS}
        case ZeroGrad(_, set_to_none):
            return {Capability.ZERO_TO_NONE if set_to_none else Capability.ZERO_TO_ZEROS}
        case ReadGrad() | AssignGrad():
            return {Capability.ASSIGNS}
        case Step(groups=groups):
            return {Capability.OPTIMIZERS, *({Capability.GROUPS} if groups else ())}
        case Optimizer(groups=groups):
            return {Capability.MAKES_OPTIMIZERS, *({Capability.GROUPS} if groups else ())}
        case Clip():
            return {Capability.CLIPS}
        case _:
            return set()


def _call_needs(call: Backward | Grad) -> set[Capability]:
    options = {
        Capability.MULTIPLE_ROOTS: len(call.roots) > 1,
        Capability.COTANGENTS: any(c is not None for c in call.cotangents),
        Capability.RETAIN: call.retain_graph is not None,
        Capability.CREATE_GRAPH: call.create_graph,
    }
    return {need for need, asked in options.items() if asked}


def read(path: Path) -> Program | Related:
    """The program in a file, or two that are related: the JSON form, or a failure record that holds it."""
    text = path.read_text(encoding="utf-8")
    try:
        form = json.loads(text)
    except json.JSONDecodeError as error:
        raise MalformedProgram(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    if isinstance(form, dict) and form.get("record") == "failure":
        form = form.get("program")
    if relations.is_relation(form):
        return relations.from_json(form, APPLIED)
    return codec.from_json(form, APPLIED)
