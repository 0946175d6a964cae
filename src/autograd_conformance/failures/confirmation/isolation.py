"""Runs a failure's program, its printed code and its script again, each in a fresh process.

If the program fails and its printed code does not, the fault may be the adapter's. If the program does not fail in a
fresh process, it may fail only after other programs: the shortest such sequence of earlier programs is searched for and
stored in the replay file.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from autograd_conformance.checking.session import Session
from autograd_conformance.failures.confirmation.fresh_process import Request, Result, run_in_subprocess
from autograd_conformance.frameworks.remote.command import is_built_in
from autograd_conformance.frameworks.running.printed import is_observable_in_code
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.processes.child import (
    HASHES,
    PYTHON,
    environment,
    finished,
    is_late,
    own_environment,
    with_folder,
)
from autograd_conformance.processes.last_words import last_words
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.reporting.records.failure import Confirmation, Failure
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.judge import COTANGENT_KEPT
from autograd_conformance.rules.relations import codec as relations_codec

RUNS = 5
"""Number of times that a program runs in its fresh process, as a framework may behave differently from run to run."""

SEARCH_SECONDS = 60.0
"""Approximate time limit, in seconds, of the search for earlier programs that make a program fail."""

RANDOM_HASHES = "random"
"""The value of PYTHONHASHSEED with which each Python process draws its own seed for hashes."""

MAX_OUTPUT = 2_000
"""Maximum number of characters of a script's output that are stored."""


def confirm(failure: Failure, session: Session, history: Sequence[Program] = (), always: bool = False) -> Failure:
    """Runs a failure again in a fresh process, and returns the failure with the result.

    `history` are the programs that ran before it in its process, the latest last. The option `--confirm` limits how
    many failures of a process are confirmed; with `always`, the failure is confirmed even if the limit is reached. The
    failure is returned unchanged if the limit is reached or the fresh process could not run.
    """
    if not session.process.take_confirmation() and not always:
        return failure
    session.process.clear_journal()  # else its watchdog would count the time of fresh processes as a hang
    printable = session.framework.target.dialect is not None
    visible = session.framework.target.prints and _is_visible_in_code(failure)
    request = _request(failure, session, (), RUNS, RUNS if visible and not failure.ends_process else 0)
    result, hashes = run_in_subprocess(request, {HASHES: RANDOM_HASHES}), None
    if result.error:
        return failure
    failed = _failing_runs(failure, result)
    if not failed and HASHES in os.environ:
        retry = run_in_subprocess(request)
        if not retry.error and (failed := _failing_runs(failure, retry)):
            result, hashes = retry, os.environ[HASHES]
            failure = replace(failure, command=f"{HASHES}={hashes} {failure.command}")
    ended_itself = result.process_ended and not is_late()
    runs = min(RUNS, len(result.broken_rules) + ended_itself)
    alone = Confirmation(runs=runs, failed=failed, hashes=hashes)
    if not failed:
        before = _shortest_history(failure, session, tuple(codec.to_json(each) for each in history))
        if before is not None:
            alone = replace(alone, after=len(before))
            _write_history(failure, before)
    if printable and session.framework.target.script:
        printed, trouble = _run_script(failure, session)
        alone = replace(alone, printed=printed, trouble=trouble)
    if failed and visible:
        alone = replace(alone, code=_run_code(failure, session, result))
    return replace(failure, alone=alone)


def _request(
    failure: Failure, session: Session, before: Sequence[Mapping[str, Any]], runs: int, printed: int = 0
) -> Request:
    counts, description = Capability.COUNTS_SAVED in RULES[failure.rule].needs, session.framework.description.to_json()
    name, device, timeout = session.settings.name, session.settings.device, session.settings.timeout
    return Request(name, device, counts, timeout, before, failure.program, runs, printed, description)


def _failing_runs(failure: Failure, result: Result) -> int:
    """Returns the number of runs in which the failure occurred again."""
    if failure.ends_process:
        return int(result.process_ended)
    return sum(failure.rule in rules for rules in result.broken_rules)


def _is_visible_in_code(failure: Failure) -> bool:
    """Whether a run of the printed code can show the failure: the program has no hooks, and the rule is not the one
    that calls leave their cotangents unchanged.
    """
    return failure.rule != COTANGENT_KEPT and all(map(is_observable_in_code, _programs(failure.program)))


def _run_code(failure: Failure, session: Session, result: Result) -> bool | None:
    """Run the printed code, if it did not run with the program. Returns whether it fails like the program; None if its
    process could not run or ended early.
    """
    if failure.ends_process:
        result = run_in_subprocess(_request(failure, session, (), 0, 1))
        return None if result.error else result.process_ended
    return None if result.process_ended else any(failure.rule in rules for rules in result.rules_of_code)


def _programs(form: Mapping[str, Any]) -> tuple[Program, ...]:
    if relations_codec.is_relation(form):
        related = relations_codec.from_json(form, VOCABULARY)
        return related.first, related.second
    return (codec.from_json(form, VOCABULARY),)


def _shortest_history(
    failure: Failure, session: Session, history: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]] | None:
    """Searches for the shortest sequence of earlier programs after which the failure occurs; None if it does not occur
    even after all of these programs.

    The search removes halves of the sequence first, then smaller and smaller parts.
    """
    deadline = time.monotonic() + SEARCH_SECONDS

    def fails(before: Sequence[Mapping[str, Any]]) -> bool:
        return bool(_failing_runs(failure, run_in_subprocess(_request(failure, session, before, 1))))

    if not history or not fails(history):
        return None
    size = len(history) // 2
    while size and time.monotonic() < deadline:
        at = 0
        while at < len(history) and time.monotonic() < deadline:
            fewer = [*history[:at], *history[at + size :]]
            if fewer and fails(fewer):
                history = fewer
            else:
                at += size
        size //= 2
    return history


def _write_history(failure: Failure, before: Sequence[Mapping[str, Any]]) -> None:
    """Adds the programs `before`, which have to run before the failing one, to the failure's replay file."""
    if failure.replay:
        path = Path(failure.replay)
        form = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(form | {"before": list(before)}, indent=1) + "\n", encoding="utf-8")


def _run_script(failure: Failure, session: Session) -> tuple[str, str | None]:
    """Runs the failure's script in a fresh process; returns its output, and a description of its ending if the script
    failed.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "script.py"
        path.write_text(failure.script, encoding="utf-8")
        command = tuple(session.framework.target.script)
        if command == PYTHON[:1]:
            variables = environment()
        else:
            variables = own_environment() | ({} if is_built_in(session.settings.name) else with_folder())
        code, printed, errors = finished([*command, str(path)], session.settings.timeout + RUNS, variables)
    trouble = None
    if code is None:
        trouble = "it did not end in time"
    elif code:
        words = last_words(errors) or "it printed no error"
        trouble = f"it ended with exit code {code}: {words}" if code > 0 else f"it died of signal {-code}"
    return printed[:MAX_OUTPUT], trouble
