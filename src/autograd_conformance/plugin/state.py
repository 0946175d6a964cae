"""Loads the framework of a run, and runs the gates of the stages and the audit (which runs each op alone) before the
tests.
"""

from __future__ import annotations

import faulthandler
import os
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.checking.audit.gating import takes_long
from autograd_conformance.checking.audit.notes import Note
from autograd_conformance.checking.audit.outcome import NOTHING_FOUND, AuditResult
from autograd_conformance.checking.audit.store import Store
from autograd_conformance.checking.audit.workers import NO_NOTES, AuditCutShort, AuditFailed, audit
from autograd_conformance.checking.limits import UNLIMITED, Limits
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.checking.skip_list import NO_SKIPS, MalformedSkips
from autograd_conformance.checking.skip_list import read as read_skips
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.failures.confirmation.alone import blaming_only_what_fails_alone
from autograd_conformance.failures.confirmation.fresh_process import Request
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.loading.registry import AdapterError, UnknownFramework, load, without_mode
from autograd_conformance.frameworks.probing.descriptions import Description
from autograd_conformance.frameworks.remote.command import served
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import MalformedKnownDifferences
from autograd_conformance.ops.tables import OPS
from autograd_conformance.package.places import SUITES
from autograd_conformance.plugin.gates import gated
from autograd_conformance.plugin.options import PROFILE
from autograd_conformance.plugin.pytest_internals import parameter
from autograd_conformance.plugin.selection import is_named, needed_ops
from autograd_conformance.plugin.stash import AUDITED, LIMITS, SESSION
from autograd_conformance.plugin.stopped import StoppedRun, stopping_on_full_disk
from autograd_conformance.processes import guard
from autograd_conformance.processes.child import LOADING
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.reporting.analysis.verdicts import ADAPTER_ERROR
from autograd_conformance.rules.catalogue import RULES

SELECTED = 60.0
"""Seconds that running each op alone may take before tests that someone selected. The audit of PyTorch takes a fifth of
that, so that a busy machine does not matter.
"""


def runs_suites(config: pytest.Config) -> bool:
    """Returns whether the run has tests of the suites. A run of only the suite's own tests needs no framework."""
    names = [arg.split("::")[0] for arg in config.args]
    if any(name.startswith("autograd_conformance.suites") for name in names):  # with --pyargs
        return True
    paths = [(config.invocation_params.dir / name).resolve() for name in names]
    return any(path == SUITES or SUITES in path.parents or path in SUITES.parents for path in paths)


def seed_of(given: str | None) -> str:
    """Returns the seed of the run as text, which is drawn if the user gives none. Raises `pytest.UsageError`."""
    try:
        return str(random.SystemRandom().randrange(2**32) if given is None else int(given))
    except ValueError:
        raise pytest.UsageError(f"--hypothesis-seed has to be a whole number, not {given!r}") from None


def open_session(config: pytest.Config, worker: str, limits: Limits = UNLIMITED) -> Session:
    """Returns the settings, framework and state of this process, with the framework loaded. Ends the run if that is
    impossible.
    """
    option = config.option
    try:
        skips = read_skips(option.skip, OPS, RULES) if option.skip is not None else NO_SKIPS
    except MalformedSkips as error:
        raise pytest.UsageError(f"--skip={error}") from None
    folder = Path(option.report).expanduser()
    try:
        name = served(option.framework, option.framework_python, option.fresh_process)
    except UnknownFramework as error:
        raise pytest.UsageError(str(error)) from None
    given = {name: getattr(option, name) for name in ("framework", "framework_python", "fresh_process")}
    settings = Settings(
        name,
        folder,
        option.dtype,
        option.device,
        worker,
        option.patience,
        seed=int(option.hypothesis_seed),
        known_files=tuple(option.known),
        update=option.update_known,
        strict=bool(config.getini("strict")),
        options=tuple(f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None),
        confirms=option.confirm,
        limits=limits,
        articles=option.articles,
        skips=skips,
    )
    session = Session.of(settings)
    framework = session.framework
    faulthandler.dump_traceback_later(scaled_timeout(max(option.patience, LOADING)), exit=True)
    try:
        target, *_ = framework.target, framework.known, framework.spared, framework.saved_tensor_counter
        guard.notify_parent(guard.LOADED)
    except UnknownFramework as error:
        raise pytest.UsageError(str(error)) from None
    except (AdapterError, MalformedKnownDifferences) as error:
        if (option.known or option.update_known) and isinstance(error, MalformedKnownDifferences):
            raise pytest.UsageError(str(error)) from None
        pytest.exit(f"adapter error: {error}", returncode=ADAPTER_ERROR)
    finally:
        faulthandler.cancel_dump_traceback_later()
    if not framework.drawable:
        has = ", ".join(target.dtypes)
        raise pytest.UsageError(f"{target.name} does not support {', '.join(option.dtype)}; it has {has}")
    return session


def audited(config: pytest.Config) -> AuditResult:
    """Returns the result of the audit, which runs each op alone, once per run and in separate processes.

    For a mode in which compiling is expensive, the framework without the mode is audited first, and then the mode, with
    the ops that passed. There is no audit if the first gradients of all ops go wrong.
    """
    if AUDITED not in config.stash and gated(config).reason("first gradients"):
        config.stash[AUDITED] = NOTHING_FOUND  # every op would be wrong
    if AUDITED not in config.stash:
        settings, framework = config.stash[SESSION].settings, config.stash[SESSION].framework
        name = without_mode(settings.name)
        target = framework.target if name == settings.name else InProcess(load(name, settings.device))
        found = _run_audit(config, name, target)
        if framework.target.programs_each and name != settings.name:
            absent = found.wrong | found.lost | found.missing
            found = found.with_mode(_run_audit(config, settings.name, framework.target, absent))
        config.stash[AUDITED] = found
        framework.adopt_audit(found)
    return config.stash[AUDITED]


def _run_audit(config: pytest.Config, name: str, target: Target, but: frozenset[str] = frozenset()) -> AuditResult:
    """Runs each op of a framework alone, except for the ops in `but`, and returns which are faulty; ends the run if
    that fails.
    """
    session = config.stash[SESSION]
    profile = config.getoption("--hypothesis-profile") or PROFILE
    thrice = profile != "quick"  # from cold, tracing third derivatives takes long
    limits, needed = config.stash[LIMITS], needed_ops(config.args, config.option.keyword)
    but |= session.settings.skips.ops | ({*OPS} - {*needed})
    state = (target, name, session.settings.device, session.framework.drawable, thrice)
    store = Store(*state)
    kept = _kept(config, store)
    is_ours = target is session.framework.target  # without the ops that the user skips, which the audit loads
    described = session.framework.description if is_ours else Description.of(target)
    every = frozenset(alphabet_of(target, session.framework.drawable).ops) - but
    left = len(every.difference(kept))
    jobs = min(getattr(config.option, "numprocesses", None) or 1, os.cpu_count() or 1, left)
    patience = _patience(config, jobs)
    slow = patience is not None and takes_long(session.process.gate_seconds, left, patience)
    if slow:  # what batches show, without higher derivatives, holds for other runs with batches only
        store = Store(*state, "batches")
        kept = {**_kept(config, store), **kept}
        left = len(every.difference(kept))
        jobs = min(jobs, left)
    try:
        with stopping_on_full_disk():
            found, notes = audit(
                name, session.settings.device, session.framework.drawable, session.settings.timeout, thrice, limits,
                kept, jobs if limits.programs is None else min(1, left), but, described, limits.audit_until(slow),
                limits.audit_programs, slow,
            )  # fmt: skip
    except AuditFailed as error:
        raise StoppedRun(f"adapter error: {error}", ADAPTER_ERROR) from None
    except AuditCutShort as error:
        session.framework.adopt_audit(error.found)
        if limits.programs is None:
            store.keep(error.notes)  # the next run goes on from there
        pytest.exit(str(error), returncode=int(pytest.ExitCode.INTERRUPTED))
    if notes != kept:
        store.keep({**store.notes(session.framework.is_settled), **notes})
    if limits.programs is not None:
        config.stash[LIMITS] = replace(limits, programs=limits.programs - found.programs)
    return replace(_blamed(found, session, name, described, limits), untried=every.difference(notes))


def _kept(config: pytest.Config, store: Store) -> Mapping[str, Note]:
    """Returns the notes of earlier runs that are still valid; none if each op has to run. What is kept counts no
    programs: where these are bounded, one seed has to run the same ones again.
    """
    if config.option.audit or config.stash[LIMITS].programs is not None:
        return NO_NOTES
    return store.notes(config.stash[SESSION].framework.is_settled)


def _patience(config: pytest.Config, jobs: int) -> float | None:
    """Returns the number of seconds that running each op alone may take in all `jobs` processes together; if it takes
    longer, ops run in batches. None if it may take as long as it does.
    """
    limits = config.stash[LIMITS]
    if limits.limited:
        seconds = limits.audit_seconds(slow=False)
        return None if seconds is None else seconds * jobs
    return SELECTED if config.option.keyword or is_named(config.args) else None


def _blamed(found: AuditResult, session: Session, name: str, described: Description, limits: Limits) -> AuditResult:
    """Returns the result of an audit with only those faults that occur in a fresh process, too."""
    settings = session.settings
    request = Request(
        name, settings.device, counts=False, timeout=settings.timeout, before=(), program={}, runs=1,
        statement=described.to_json(),
    )  # fmt: skip
    listed = frozenset(entry.op for entry in session.framework.known if entry.op is not None)
    try:
        return blaming_only_what_fails_alone(found, request, listed, limits.seconds_left())
    except AdapterError as error:
        raise StoppedRun(f"adapter error: {error}", ADAPTER_ERROR) from None


def about(item: pytest.Item) -> tuple[str, str | None]:
    """Returns the slug of the rule that a test is about, and the op if the test is about one."""
    marker = item.get_closest_marker("rule")
    assert marker is not None, f"{item.nodeid} has no rule marker"
    return marker.args[0], parameter(item, "op")
