"""Starts and watches the child process in which pytest runs and the framework is loaded, if this process can watch a
child.
"""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rich.console import Console

from autograd_conformance.checking.limits import began
from autograd_conformance.checking.session.settings import watchdog
from autograd_conformance.failures import record as failures
from autograd_conformance.frameworks.loading.registry import AdapterError, UnknownFramework
from autograd_conformance.frameworks.remote.command import parse
from autograd_conformance.package.internals import problems
from autograd_conformance.package.places import PLUGIN
from autograd_conformance.plugin import pytest_internals, replay
from autograd_conformance.plugin.program_files import ProgramFile, files_of
from autograd_conformance.plugin.pytest_internals import configure, unconfigure
from autograd_conformance.plugin.recording.truncated_run import end_cut_off, end_stopped
from autograd_conformance.plugin.stash import BEGAN, SESSION
from autograd_conformance.plugin.state import open_session, runs_suites, seed_of
from autograd_conformance.processes import guard
from autograd_conformance.processes.child import CLOSED, LOADING
from autograd_conformance.processes.journal import Observer, pop
from autograd_conformance.processes.supervision import describe_exit
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs.foreign.text import harmless
from autograd_conformance.reporting.analysis.verdicts import ADAPTER_ERROR
from autograd_conformance.reporting.render import text
from autograd_conformance.reporting.render.terminal import print_summary
from autograd_conformance.strategies.building.randomness import hypothesis_internals


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Runs pytest in a watched child process, and returns the exit code; None if pytest has to run in this process."""
    option = config.option
    if option.help or getattr(option, "markers", False) or hasattr(config, "workerinput"):
        return None  # the controlling process watches the workers of pytest-xdist
    if not (runs_suites(config) or option.replay or option.program):
        return None
    if missing := problems(hypothesis_internals.INTERNALS + pytest_internals.INTERNALS):
        raise pytest.UsageError(missing[0])  # others often follow from it
    option.hypothesis_seed = seed_of(option.hypothesis_seed)  # for the child, and for reporting how it ended
    if option.collectonly:
        return None
    if option.replay or option.program:
        return _replay(config, files_of(option.replay, option.program, Path(option.report).expanduser()))
    config.stash[BEGAN] = began()
    _count_workers(config)
    if option.usepdb or option.trace or not guard.is_possible():
        return None
    ended = guard.run_watched(lambda: _main(config), _hang_detector(config))
    return _report_end(config, ended) if ended.code is None or ended.closed else ended.code


def _hang_detector(config: pytest.Config) -> Callable[[bytes], bool]:
    """Returns a function that decides from the child's messages whether the child hangs: while it loads the framework,
    or in a program, which the function then marks as timed out.
    """
    option = config.option
    loading = time.monotonic() + scaled_timeout(max(option.patience, LOADING)) * 1.5
    observer = Observer(Path(option.report).expanduser(), "main", _watchdog(config))

    def mark_if_stuck(messages: bytes) -> bool:
        return time.monotonic() > loading if guard.LOADED not in messages else observer.mark_if_hung()

    return mark_if_stuck


def _watchdog(config: pytest.Config) -> float:
    """Returns the seconds of one program after which the process that runs it is ended."""
    option = config.option
    try:
        served = option.framework_python or option.fresh_process or parse(option.framework) is not None
    except UnknownFramework as error:
        raise pytest.UsageError(str(error)) from error
    return watchdog(option.patience, bool(served))


def _replay(config: pytest.Config, files: Mapping[Path, ProgramFile]) -> int:
    """Replays program files, in a separate process if possible, and in a new one after a program that ends it; returns
    the highest exit code.
    """

    def main(files: Mapping[Path, ProgramFile], folder: Path) -> int:
        configure(config)
        return replay.replayed_all(files, config.stash[SESSION], folder)

    if not guard.is_possible():
        with TemporaryDirectory() as folder:
            return _finished(config, partial(main, files, Path(folder)))
    left, code = list(files), 0

    def child(folder: Path) -> int:
        return _finished(config, partial(main, {path: files[path] for path in left}, folder))

    while left:
        ended = replay.watched({path: files[path] for path in left}, child, config.option.patience, _watchdog(config))
        left, code = left[ended.files :], max(code, ended.code)
    return code


def _count_workers(config: pytest.Config) -> None:
    """Uses one worker if the user set no number, so that a crash or hang of the framework ends only the worker."""
    option = config.option
    if getattr(option, "numprocesses", 0) is None and not (option.usepdb or option.trace or option.tx):
        option.numprocesses, option.dist, option.tx = 1, "load", ["popen"]


def _main(config: pytest.Config) -> int:
    """Runs pytest to its end in the child process, and returns the exit code."""
    here = config.pluginmanager.get_plugin(PLUGIN)
    go_on = config.pluginmanager.subset_hook_caller("pytest_cmdline_main", [here])
    return _finished(config, lambda: int(go_on(config=config)))


def _finished(config: pytest.Config, main: Callable[[], int]) -> int:
    """Calls a function that runs tests or replays files, and handles its exceptions as `pytest.main` does; a watched
    process has to do this itself. Pytest's own files, which the framework may have closed, may fail last.
    """
    try:
        return _unconfigured(config, main)
    except pytest.UsageError as error:
        print("\n".join(f"ERROR: {line}\n" for line in error.args), file=sys.stderr)
        return int(pytest.ExitCode.USAGE_ERROR)
    except pytest.exit.Exception as error:
        print(error.msg, file=sys.stderr)
        return error.returncode or int(pytest.ExitCode.INTERRUPTED)
    except AdapterError as error:
        print(f"adapter error: {error}", file=sys.stderr)
        return ADAPTER_ERROR
    except KeyboardInterrupt:
        print("stopped before the run began", file=sys.stderr)
        return int(pytest.ExitCode.INTERRUPTED)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        if guard.is_watched():
            guard.notify_parent(guard.CLOSED)  # which prints it: standard error may still be a file of pytest
        else:
            print(f"adapter error: {config.option.framework}: {CLOSED}", file=sys.stderr)
        return ADAPTER_ERROR


def _unconfigured(config: pytest.Config, main: Callable[[], int]) -> int:
    """Calls a function that runs tests or replays files, and ends the plugins, which may write their last lines."""
    try:
        return main()
    finally:
        unconfigure(config)


def _stopped(config: pytest.Config, ended: guard.ChildEnd) -> int:
    """Writes the end of the report for a run that did not stop in time, and prints the summary. Returns the
    exit code.
    """
    code = int(pytest.ExitCode.INTERRUPTED)
    try:
        folder = Path(config.option.report).expanduser()
        reason = "stopped by the user; the process did not react and was ended"
        report, page = end_stopped(folder, reason, code) if ended.begun else (None, folder)
    except Exception as error:
        print(f"stopped; the report is incomplete: {harmless(str(error))}", file=sys.stderr)
        return code
    if report is None:
        print("stopped before the run began", file=sys.stderr)
    else:
        print_summary(report, Console(), page)
    return code


def _report_end(config: pytest.Config, ended: guard.ChildEnd) -> int:
    """Prints how the child process of a run ended without an exit code; returns an exit code, which is never that of a
    passing run.
    """
    how = describe_exit(ended.status)
    entry = pop(Path(config.option.report).expanduser(), "main")
    if ended.stopped:
        return _stopped(config, ended)
    if ended.closed:
        print(f"adapter error: {config.option.framework}: {CLOSED}", file=sys.stderr)
        return ADAPTER_ERROR
    if not ended.loaded:
        print(f"adapter error: {how} while the framework was loaded", file=sys.stderr)
        return ADAPTER_ERROR
    if entry is None:
        print(f"ERROR: {how}, and the run with it; there is no report", file=sys.stderr)
        return int(pytest.ExitCode.INTERNAL_ERROR)

    def report_crash() -> int:
        session, code = open_session(config, "main"), int(pytest.ExitCode.TESTS_FAILED)
        ending = failures.describe_ending(entry, session.settings.timeout, ended.status)
        failure = failures.crash_failure(entry, session, ending)
        print(f"\n\n{text.render(failure)}")
        print(f"the run ended there; with -n 1 it would continue. Report: {end_cut_off(session, entry, failure, code)}")
        return code

    return guard.run_watched(report_crash).code or int(pytest.ExitCode.INTERNAL_ERROR)
