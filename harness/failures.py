"""From a broken rule to the record of a failure: everything that a maintainer needs to believe it in a minute."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection
from pathlib import Path

import numpy as np

from frameworks.base import Framework
from harness.checking import Broken
from harness.journal import Entry
from harness.script import script
from harness.variations import nearest
from harness.votes import votes
from reports.records import Allowed, Error, Failure, Source, Step, Wrong
from rules import codec
from rules.catalogue import RULES, Needs
from rules.dialect import code
from rules.explain import explain
from rules.judge import Violation
from rules.language import Program
from rules.reference.values import Reference


def failure(
    broken: Broken, test: str, framework: Framework, claims: Collection[Needs], folder: Path, verdict: Wrong = "fail"
) -> Failure:
    """The record of a broken rule; the program is also written to a replay file in `folder`."""
    program, violation = broken.program, broken.violation
    path = _replay_file(program, folder, violation.rule, violation.op)
    command = replay_command(framework.name, path)
    remarks = explain(program, broken.observation, Reference(program), claims, violation)
    return Failure(
        verdict=verdict,
        **_rule(violation.rule),
        test=test,
        op=violation.op,
        program=codec.to_json(program),
        at=violation.at,
        observed=violation.observed,
        allowed=tuple(Allowed(text, rule) for text, rule in violation.allowed),
        code="\n".join(code(program, framework.dialect)),
        why=tuple(Step(line, text) for line, text in remarks),
        error=_error(violation),
        votes=votes(program, framework, violation),
        diagnosis=violation.diagnosis,
        variation=nearest(program, violation.at, framework, claims),
        script=script(program, broken.observation, violation, framework.dialect, command),
        replay=str(path),
        command=command,
    )


def lost(entry: Entry, framework: Framework, folder: Path) -> Failure:
    """The record of a program that ended its process: a crash, or a hang that the watchdog ended."""
    path = _replay_file(entry.program, folder, entry.rule, "timeout" if entry.timed_out else "crash")
    command = replay_command(framework.name, path)
    lines = code(entry.program, framework.dialect)
    prelude = "" if framework.dialect is None else framework.dialect.prelude + "\n\n"
    return Failure(
        verdict="timeout" if entry.timed_out else "crash",
        **_rule(entry.rule),
        test=entry.test,
        op=entry.op,
        program=codec.to_json(entry.program),
        observed="did not come back in time" if entry.timed_out else "the process died",
        allowed=(Allowed("returns, or raises an error of its own", entry.rule),),
        code="\n".join(lines),
        script=prelude + "\n".join(lines) + "\n",
        replay=str(path),
        command=command,
    )


def replay_command(framework: str, path: Path) -> str:
    """The command that runs a replay file again."""
    return f"pytest --framework {shlex.quote(framework)} --replay={shlex.quote(str(path))}"


def _rule(slug: str) -> dict:  # type: ignore[type-arg]
    rule = RULES[slug]
    return {
        "rule": slug,
        "level": rule.level.value,
        "sentence": rule.sentence,
        "sources": tuple(Source(s.title, s.where) for s in rule.sources),
    }


def _replay_file(program: Program, folder: Path, rule: str, what: str | None) -> Path:
    name = rule.replace("/", "-") + (f"-{what}" if what else "")
    path = folder / "replay" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(codec.to_json(program), indent=1) + "\n", encoding="utf-8")
    return path


def _error(violation: Violation) -> Error | None:
    if violation.got is None or violation.want is None or violation.bound is None or not violation.got.size:
        return None
    distance = np.abs(violation.got - violation.want)
    worst = np.unravel_index(np.nanargmax(np.where(np.isfinite(distance), distance / violation.bound, np.inf)), distance.shape)
    largest, bound = float(distance[worst]), float(violation.bound[worst])
    return Error(largest, bound, largest / bound)
