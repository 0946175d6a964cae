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
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs import codec
from autograd_conformance.programs.capabilities import Capability, needs
from autograd_conformance.programs.language import (
    Apply,
    Leaf,
    Program,
)
from autograd_conformance.programs.validation import MalformedProgram
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.relations import codec as relations_codec
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


def read(path: Path) -> Program | Related:
    """The program in a file, or two that are related: the JSON form, or a failure record that holds it."""
    text = path.read_text(encoding="utf-8")
    try:
        form = json.loads(text)
    except json.JSONDecodeError as error:
        raise MalformedProgram(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    if isinstance(form, dict) and form.get("record") == "failure":
        form = form.get("program")
    if relations_codec.is_relation(form):
        return relations_codec.from_json(form, VOCABULARY)
    return codec.from_json(form, VOCABULARY)
