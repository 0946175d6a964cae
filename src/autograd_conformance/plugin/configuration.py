"""Pytest's configuration hooks: they read the options, open the session, and send settings to workers."""

from __future__ import annotations

import gc
import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from autograd_conformance.checking.audit.gating import Waiting
from autograd_conformance.checking.audit.outcome import AuditResult
from autograd_conformance.checking.limits import Limits
from autograd_conformance.checking.session.records import header
from autograd_conformance.frameworks.environment.interrupts import is_users
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.descriptions import Description
from autograd_conformance.package.loading import stop_handling_signals
from autograd_conformance.plugin.gates import gated
from autograd_conformance.plugin.options import PROFILE, add_options, check_options, load_profiles
from autograd_conformance.plugin.processes.progress import Progress
from autograd_conformance.plugin.processes.workers import Workers
from autograd_conformance.plugin.recording.folder import UnusableFolder
from autograd_conformance.plugin.recording.recorder import Recorder
from autograd_conformance.plugin.sound_adapter import refuse_if_unsound
from autograd_conformance.plugin.stash import AUDITED, BEGAN, LIMITS, SESSION, WAITING
from autograd_conformance.plugin.state import audited, open_session, runs_suites
from autograd_conformance.processes.child import HASHES, PYTHON
from autograd_conformance.processes.termination import Termination
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.reference.staging.cache import store

WARNINGS = (
    "error::pytest.PytestUnknownMarkWarning",
    "ignore:reduction. 'mean' divides the total loss:UserWarning",
    "ignore:Using backward.. with create_graph=True:UserWarning",
    "ignore:Error detected in:UserWarning",
    "ignore:grad and param do not obey the gradient layout contract:UserWarning",
    "ignore:Generating overly large repr:hypothesis.errors.HypothesisWarning",
)
"""Filters for warnings: programs ignore some advice on purpose, and expected errors need no warning about where they
began.
"""


OVER = "the run's time (--seconds) was over"
"""Reason in the report if tests were still running when the report had to be written."""

RESTARTS = 1_000
"""Number of workers that may die before the run gives up, if the user does not set `--max-worker-restart`."""

CHUNK = 2
"""Number of tests that a worker gets at a time, if the user does not set `--maxschedchunk`. By default pytest-xdist
sends a quarter of the remaining tests, and some tests take a thousand times as long as others.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)
    load_profiles()


@pytest.hookimpl(tryfirst=True)  # before Hypothesis, to which a profile that it does not know is an internal error
def pytest_configure(config: pytest.Config) -> None:
    for line in WARNINGS:
        config.addinivalue_line("filterwarnings", line)
    config.addinivalue_line("markers", "rule(slug): the rule of rules/catalogue.py that a test of suites/ is about")
    if config.option.help or getattr(config.option, "markers", False):
        return
    if not (runs_suites(config) or config.option.replay or config.option.program):
        stop_handling_signals()
        return
    worker = getattr(config, "workerinput", None)
    if worker is None:
        try:
            _as_controller(config)
        except BaseException as error:
            if not _would_pass(error) or is_users(error):
                raise
            ended = f"{config.option.framework}: {type_of(error)} while it was loaded: {message(error)}"
            raise AdapterError(ended) from error
    else:  # pytest-xdist hands on the command line alone
        config.option.hypothesis_seed = worker["hypothesis_seed"]
        config.stash[SESSION] = session = open_session(config, worker["workerid"], Limits(**worker["limits"]))
        config.stash[WAITING] = Waiting(worker["waiting"])
        config.stash[AUDITED] = found = AuditResult.from_json(worker["audited"])
        session.framework.expect_description(Description.from_json(worker["description"]))
        session.framework.adopt_audit(found)
        config.stash[LIMITS] = session.settings.limits
        config.add_cleanup(Termination(controls=False).restore)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Writes generated reference code to its cache file, since a watched process ends without Python's own exit.
    Freezes all objects, so that pytest's five garbage collections at the end skip them.
    """
    if SESSION in config.stash:
        store().close()
        gc.freeze()


def _would_pass(error: BaseException) -> bool:
    """Whether pytest could end with exit code 0 because of an exception, or with a code without a meaning."""
    if isinstance(error, pytest.exit.Exception):
        return not error.returncode
    return not isinstance(error, Exception)


def _as_controller(config: pytest.Config) -> None:
    check_options(config)
    if config.option.collectonly:  # the tests are the same for every framework: none is loaded
        return
    option = config.option
    if option.replay or option.program:
        config.stash[SESSION] = open_session(config, "main")
        return
    began = config.stash.get(BEGAN, time.monotonic())
    limits = Limits.of(option.programs, option.seconds, began)
    config.stash[SESSION] = session = open_session(config, "main", limits)
    config.stash[LIMITS] = limits = replace(limits, loading=time.monotonic() - began)
    refuse_if_unsound(config, session)
    workers = getattr(config.option, "numprocesses", None) or 0
    if workers and config.option.maxworkerrestart is None:
        config.option.maxworkerrestart = str(RESTARTS)
    if workers and config.option.maxschedchunk is None:
        config.option.maxschedchunk = CHUNK
    if session.settings.update is not None:
        try:
            session.settings.update.open("a", encoding="utf-8").close()
        except OSError as error:
            raise pytest.UsageError(f"--update-known={session.settings.update}: {error.strerror}") from None
    profile = config.getoption("--hypothesis-profile") or PROFILE
    seed = int(config.option.hypothesis_seed)
    first = header(session.framework, seed, profile, workers)
    if workers:  # what hangs on the order of a set repeats with the run's seed
        os.environ.setdefault(HASHES, str(seed % 2**32))
    try:
        recorder = Recorder(session, first, workers, keyboard=not (option.usepdb or option.trace))
    except UnusableFolder as error:
        raise pytest.UsageError(str(error)) from None
    recorder.pluginmanager = config.pluginmanager
    config.pluginmanager.register(recorder, "recorder")
    if limits.last is not None:
        recorder.termination.end_after(max(1.0, limits.last - time.monotonic()), OVER)
    config.pluginmanager.register(Progress(limits), "progress")
    config.pluginmanager.register(Workers(session), "workers")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: Sequence[Any]) -> None:
    """Makes workers start without importing modules from the current folder."""
    for spec in specs:
        if spec.popen and spec.python is None:
            spec.python = shlex.join(PYTHON)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Sends a worker of pytest-xdist the seed, the stages that wait, the result of the audit (which ran each op alone),
    the framework's description, and the limits.
    """
    session = node.config.stash.get(SESSION, None)
    if session is not None:
        node.workerinput["hypothesis_seed"] = node.config.option.hypothesis_seed
        node.workerinput["waiting"] = dict(gated(node.config).stages)
        node.workerinput["audited"] = audited(node.config).to_json()
        node.workerinput["description"] = session.framework.description.to_json()
        node.workerinput["limits"] = asdict(node.config.stash[LIMITS])
