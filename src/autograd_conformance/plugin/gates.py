"""The gates of a run: before the tests, the smallest programs of each stage show which stages are wholly broken.

A wholly broken stage is one failure, and the tests of the stage and of those that need it wait.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from autograd_conformance.checking.audit.gating import NOTHING_WAITS, Waiting, gate_run
from autograd_conformance.checking.audit.notes import Note
from autograd_conformance.checking.audit.outcome import Fault
from autograd_conformance.checking.audit.store import Store
from autograd_conformance.checking.session import Session
from autograd_conformance.failures.confirmation.time_limit import confirm
from autograd_conformance.failures.record import crash_failure, failure
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.plugin.recording.run_state import RunState
from autograd_conformance.plugin.stash import LIMITS, SESSION, WAITING
from autograd_conformance.plugin.stopped import stopping_on_full_disk
from autograd_conformance.processes.journal import Entry
from autograd_conformance.programs.formats import codec
from autograd_conformance.reporting.analysis.stages import GATES
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Result

PASSED = "gates"
"""Name in place of an op in the note that is stored if no stage is wholly broken."""


def gated(config: pytest.Config) -> Waiting:
    """Returns the stages whose tests wait. The main process runs the gates once; workers get the result from it."""
    if WAITING not in config.stash:
        config.stash[WAITING] = NOTHING_WAITS  # also if the gates fail below
        config.stash[WAITING] = _waiting(config)
    return config.stash[WAITING]


def _waiting(config: pytest.Config) -> Waiting:
    """Runs the gates, unless an earlier run of the same framework passed them, and makes a failure of each wholly
    broken stage, which is written when the first test waits for the stage. With `--update-known`, no test waits, since
    each violation becomes a known difference.
    """
    session = config.stash[SESSION]
    settings, target = session.settings, session.framework.target
    dtype = session.framework.drawable[0]
    store = Store(target, settings.name, settings.device, dtype, PASSED)
    passed = store.notes(lambda note: note.outcome == "fine").get(PASSED)
    if not config.option.audit and passed is not None:
        session.process.gate_seconds = passed.seconds
        return NOTHING_WAITS
    with stopping_on_full_disk():
        found = gate_run(settings.name, settings.device, dtype, settings.timeout, config.stash[LIMITS].gates_until())
    session.process.gate_seconds = found.seconds or 0.0
    if settings.update is not None:
        return NOTHING_WAITS
    broken = {stage: faults for stage, faults in found.broken.items() if _is_broken(faults, session)}
    if found.is_complete and not found.broken and not found.is_slow:
        store.keep({PASSED: Note(PASSED, "fine", seconds=found.seconds or 0.0)})
    waiting = Waiting.of(frozenset(broken))
    recorder = config.pluginmanager.get_plugin("recorder")
    assert recorder is not None
    run: RunState = recorder.run
    for stage in {*waiting.stages.values()}:
        made = _failure(stage, broken[stage][0], session)
        run.gates[stage] = (made, _result(stage, made, len(broken[stage])))
    run.waiting = waiting
    return waiting


def _is_broken(faults: Sequence[Fault], session: Session) -> bool:
    """Returns whether each of the violations occurs in this process, too, and no known difference covers it."""
    return all(fault.at is None or session.framework.violated_by(fault.program) is not None for fault in faults)


def _failure(stage: str, fault: Fault, session: Session) -> Failure:
    """Makes the record of the failure of a wholly broken stage."""
    broken = None if fault.at is None else session.framework.violated_by(fault.program)
    if broken is not None:
        return confirm(failure(broken, test_name(stage), session), session)
    program = codec.from_json(fault.program, VOCABULARY)
    entry = Entry(test_name(stage), fault.rule, None, program, timed_out=False)
    return confirm(crash_failure(entry, session, fault.observed), session)


def _result(stage: str, made: Failure, programs: int) -> Result:
    """Returns the result of the gates of a wholly broken stage, of which `programs` went wrong."""
    return Result(
        test=made.test,
        rule=made.rule,
        op=made.op,
        verdict=made.verdict,
        programs=programs,
        exercised={made.rule: programs},
        seconds=0.0,
        reason="all smallest programs of the stage go wrong",
        stage=stage,
    )


def test_name(stage: str) -> str:
    """Returns the name under which the gates of a stage have a result."""
    return GATES.format(stage)
