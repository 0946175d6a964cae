"""Whether a failure shows by itself: its program, its printed code and its script are run again, each in a process of
its own.

What the code does not show may be the adapter's fault. What does not fail there at all fails, if ever, only after other
programs: the shortest sequence of those that ran before it is looked for, and kept with the program.
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
from autograd_conformance.processes.child import HASHES, PYTHON, finished, with_folder
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.reporting.records.failure import Confirmation, Failure
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.judge import COTANGENT_KEPT
from autograd_conformance.rules.relations import codec as relations_codec

RUNS = 5
"""How often a program is run in its process: a framework may do now this, now that."""

SEARCH_SECONDS = 60.0
"""Seconds, or so, that are spent on a sequence of programs after which one fails."""

RANDOM_HASHES = "random"
"""The value with which each process of Python's draws the seed of its hashes."""

MAX_OUTPUT = 2_000
"""How many characters of what a script printed are kept."""


def confirm(failure: Failure, session: Session, history: Sequence[Program] = (), always: bool = False) -> Failure:
    """The failure, with what came of it alone; `history` are the programs that ran before it in its process,
    the latest last. As many failures of a process are run again as its options say, and one more `always` they say;
    of one whose process could not be held nothing is said.
    """
    if not session.confirms and not always:
        return failure
    session.confirms -= bool(session.confirms)
    if session.journal:  # whose watchdog would take the time of the other processes for a hang of the last program
        session.journal.end()
    printable = session.target.dialect is not None
    visible = session.target.prints and _is_visible_in_code(failure)
    request = _request(failure, session, (), RUNS, RUNS if visible and not _ends_process(failure) else 0)
    result, hashes = run_in_subprocess(request, {HASHES: RANDOM_HASHES}), None
    if result.error:
        return failure
    failed = _failing_runs(failure, result)
    if not failed and HASHES in os.environ:
        retry = run_in_subprocess(request)
        if not retry.error and (failed := _failing_runs(failure, retry)):
            result, hashes = retry, os.environ[HASHES]
            failure = replace(failure, command=f"{HASHES}={hashes} {failure.command}")
    alone = Confirmation(runs=min(RUNS, len(result.broken_rules) + 1), failed=failed, hashes=hashes)
    if not failed:
        before = _shortest_history(failure, session, tuple(codec.to_json(each) for each in history))
        if before is not None:
            alone = replace(alone, after=len(before))
            _write_history(failure, before)
    if printable and session.target.script:
        printed, trouble = _run_script(failure, session)
        alone = replace(alone, printed=printed, trouble=trouble)
    if failed and visible:
        alone = replace(alone, code=_code_fails(failure, session, result))
    return replace(failure, alone=alone)


def _request(
    failure: Failure, session: Session, before: Sequence[Mapping[str, Any]], runs: int, printed: int = 0
) -> Request:
    counts, said = Capability.COUNTS_SAVED in RULES[failure.rule].needs, session.description.to_json()
    return Request(session.name, session.device, counts, session.timeout, before, failure.program, runs, printed, said)


def _failing_runs(failure: Failure, result: Result) -> int:
    """In how many runs the same happened as when it was found."""
    if _ends_process(failure):
        return int(result.process_ended)
    return sum(failure.rule in rules for rules in result.broken_rules)


def _ends_process(failure: Failure) -> bool:
    """Whether the failure is that the process ended, or had to be ended."""
    return failure.verdict in ("crash", "timeout")


def _is_visible_in_code(failure: Failure) -> bool:
    """Whether it could be seen in the printed code."""
    return failure.rule != COTANGENT_KEPT and all(map(is_observable_in_code, _programs(failure.program)))


def _code_fails(failure: Failure, session: Session, result: Result) -> bool | None:
    """Whether the printed code fails as the program does; None where its process could not be held, or ended."""
    if _ends_process(failure):
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
    """The shortest sequence of programs found after which the failure shows: halves are left out first, then ever
    smaller parts; None where it shows not even after all.
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
    """Put the programs that have to run first into the replay file."""
    if failure.replay:
        path = Path(failure.replay)
        form = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(form | {"before": list(before)}, indent=1) + "\n", encoding="utf-8")


def _run_script(failure: Failure, session: Session) -> tuple[str, str | None]:
    """What the script printed, and how it ended where it did not end well."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "script.py"
        path.write_text(failure.script, encoding="utf-8")
        elsewhere = tuple(session.target.script) != PYTHON[:1] and not is_built_in(session.name)
        code, printed, errors = finished(
            [str(path)], session.timeout + RUNS, Path(folder), session.target.script, with_folder() if elsewhere else {}
        )
    trouble = None
    if code is None:
        trouble = "it did not come back in time"
    elif code:
        last = errors.strip().splitlines()[-1:] or ["it printed no error"]
        trouble = f"it ended with exit code {code}: {last[0]}" if code > 0 else f"it died of signal {-code}"
    return printed[:MAX_OUTPUT], trouble
