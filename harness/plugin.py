"""Pytest's side of the suite: the options, the framework under test, and the records that tests send.

In the checkout `pytest -n auto --framework NAME` runs `suites/` against NAME and leaves a report; elsewhere
`harness.command` does. Everything that is not about pytest is in the other files of `harness/`.
"""

from __future__ import annotations

import faulthandler
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import errors

from autograd_conformance.frameworks.registry import BrokenAdapter, UnknownFramework
from autograd_conformance.harness import guard, replay
from autograd_conformance.harness.audit.outcome import Audited
from autograd_conformance.harness.audit.process import AuditCutShort, AuditFailed, audit
from autograd_conformance.harness.budget import BoundedCheck, Budget, Spent
from autograd_conformance.harness.check import Check, broken_in
from autograd_conformance.harness.failures import noted
from autograd_conformance.harness.failures import record as failures
from autograd_conformance.harness.folder import UnusableFolder
from autograd_conformance.harness.journal import Journal, take
from autograd_conformance.harness.known import MalformedExpectations
from autograd_conformance.harness.limits import UNLIMITED, Limits
from autograd_conformance.harness.options import PROFILE, add_options, check_options, load_profiles
from autograd_conformance.harness.places import SUITES
from autograd_conformance.harness.plan import PLAN, Plan
from autograd_conformance.harness.progress import Progress
from autograd_conformance.harness.recorder import ADAPTER, PROPERTY, TALLY, UNWRITABLE, Recorder, end_cut_off
from autograd_conformance.harness.session import ADAPTER_ERROR, Session
from autograd_conformance.harness.termination import Termination
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import DTYPES
from autograd_conformance.reports import records
from autograd_conformance.reports.prose import counted
from autograd_conformance.reports.render import text
from autograd_conformance.strategies.building.draft import Undrawable

SESSION = pytest.StashKey[Session]()
AUDITED = pytest.StashKey[Audited]()
CHECK = pytest.StashKey[Check]()
LIMITS = pytest.StashKey[Limits]()
BUDGET = pytest.StashKey[Budget]()
PLANNED = pytest.StashKey[Plan]()
NUMBER = pytest.StashKey[int]()
LEFT_OUT = pytest.StashKey[int]()

WARNINGS = (
    "error::pytest.PytestUnknownMarkWarning",
    "ignore:reduction. 'mean' divides the total loss:UserWarning",
    "ignore:Using backward.. with create_graph=True:UserWarning",
)
"""What becomes of warnings: advice of PyTorch's that programs do not follow on purpose is not shown."""

LOADING = 120.0
"""Seconds that a framework may take to be loaded, at least."""
UNDRAWN = 20
"""About how many programs a test has that draws none."""

RESTARTS = 1_000
"""How many workers may die before the run gives up, where --max-worker-restart does not say it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)
    load_profiles()


# -- the session -------------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)  # before Hypothesis, to which a profile that it does not know is an internal error
def pytest_configure(config: pytest.Config) -> None:
    for line in WARNINGS:
        config.addinivalue_line("filterwarnings", line)
    config.addinivalue_line("markers", "rule(slug): the rule of rules/catalogue.py that a test of suites/ is about")
    if config.option.help or getattr(config.option, "markers", False):
        return
    if not _runs_suites(config) and not config.option.replay:
        return
    worker = getattr(config, "workerinput", None)
    if worker is None:
        _as_controller(config)
    else:  # pytest-xdist hands on the command line alone
        config.option.hypothesis_seed = worker["hypothesis_seed"]
        config.stash[SESSION] = session = _session(config, worker["workerid"])
        config.stash[AUDITED] = session.audited = Audited.from_json(worker["audited"])
        config.stash[LIMITS] = Limits(**worker["limits"])
        config.add_cleanup(Termination(controls=False).restore)


def _as_controller(config: pytest.Config) -> None:
    check_options(config)
    _check_paths(config)
    config.stash[SESSION] = session = _session(config, "main")
    if config.option.replay or config.option.collectonly:
        return
    workers = getattr(config.option, "numprocesses", None) or 0
    if workers and config.option.maxworkerrestart is None:
        config.option.maxworkerrestart = str(RESTARTS)
    if session.update is not None:
        try:
            session.update.open("a", encoding="utf-8").close()
        except OSError as error:
            raise pytest.UsageError(f"--update-known={session.update}: {error.strerror}") from None
    profile = config.getoption("--hypothesis-profile") or PROFILE
    header = session.header(int(config.option.hypothesis_seed), profile, workers)
    seconds = config.option.seconds
    config.stash[LIMITS] = Limits(config.option.programs, None if seconds is None else time.monotonic() + seconds)
    try:
        config.pluginmanager.register(Recorder(session, header, workers), "recorder")
    except UnusableFolder as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(Progress(config.stash[LIMITS]), "progress")


def _session(config: pytest.Config, worker: str) -> Session:
    """The session of this process, its framework loaded, or the end of the run where that cannot be."""
    option = config.option
    dtypes = DTYPES if option.dtype == "both" else (option.dtype,)
    folder = Path(option.report).expanduser()
    session = Session(option.framework, folder, dtypes, option.device, worker, option.patience)
    session.known_files, session.update = tuple(option.known), option.update_known
    session.strict = bool(config.getini("strict"))
    session.seed = int(option.hypothesis_seed)
    faulthandler.dump_traceback_later(max(option.patience, LOADING), exit=True)
    try:
        target, _ = session.target, session.known
        guard.say_loaded()
    except UnknownFramework as error:
        raise pytest.UsageError(str(error)) from None
    except (BrokenAdapter, MalformedExpectations) as error:
        if (option.known or option.update_known) and isinstance(error, MalformedExpectations):
            raise pytest.UsageError(str(error)) from None
        pytest.exit(f"adapter error: {error}", returncode=ADAPTER_ERROR)
    finally:
        faulthandler.cancel_dump_traceback_later()
    if not session.drawable:
        has = ", ".join(target.dtypes)
        raise pytest.UsageError(f"{target.name} does not support {option.dtype}; it has {has}")
    return session


def _seed(given: str | None) -> str:
    """The seed of the run, drawn where none is given."""
    try:
        return str(random.SystemRandom().randrange(2**32) if given is None else int(given))
    except ValueError:
        raise pytest.UsageError(f"--hypothesis-seed has to be a whole number, not {given!r}") from None


def _check_paths(config: pytest.Config) -> None:
    """Refuse an option's path that stands alone and outside: pytest looks there for its settings and finds none,
    unless it was told where they are, as `harness.command` does.
    """
    if config.option.inifilename:
        return
    words = [str(word) for word in config.invocation_params.args]
    for option, path in pairwise(words):
        here = config.invocation_params.dir
        if option in ("--report", "--replay", "--known", "--update-known") and not (
            here / path
        ).resolve().is_relative_to(config.rootpath):
            raise pytest.UsageError(f"write {option}={path} in one word; pytest takes a lone path for a place of tests")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand on to a worker of pytest-xdist what is found out once."""
    session = node.config.stash.get(SESSION, None)
    if session is not None:
        node.workerinput["hypothesis_seed"] = node.config.option.hypothesis_seed
        node.workerinput["audited"] = _audited(node.config).to_json()
        node.workerinput["limits"] = asdict(node.config.stash[LIMITS])


def _audited(config: pytest.Config) -> Audited:
    """The outcome of the audit, which is held once in a run, in a process of its own."""
    if AUDITED not in config.stash:
        session = config.stash[SESSION]
        profile = config.getoption("--hypothesis-profile") or PROFILE
        thrice = profile != "quick"  # from cold, tracing third derivatives takes long
        limits = config.stash[LIMITS]
        try:
            found = audit(session.name, session.device, session.drawable, session.timeout, thrice, limits)
        except AuditFailed as error:
            pytest.exit(f"adapter error: {error}", returncode=ADAPTER_ERROR)
        except AuditCutShort as error:
            pytest.exit(str(error), returncode=int(pytest.ExitCode.INTERRUPTED))
        if limits.programs is not None:
            config.stash[LIMITS] = replace(limits, programs=limits.programs - found.programs)
        config.stash[AUDITED] = session.audited = found
    return config.stash[AUDITED]


def _runs_suites(config: pytest.Config) -> bool:
    """Whether the run takes tests from suites/; the suite's own tests need no framework under test."""
    names = [arg.split("::")[0] for arg in config.args]
    if any(name.startswith("autograd_conformance.suites") for name in names):  # with --pyargs
        return True
    paths = [(config.invocation_params.dir / name).resolve() for name in names]
    return any(path == SUITES or SUITES in path.parents or path in SUITES.parents for path in paths)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Start what loads a framework in a process that this one watches."""
    option = config.option
    if option.help or getattr(option, "markers", False) or not (_runs_suites(config) or option.replay):
        return None
    option.hypothesis_seed = _seed(option.hypothesis_seed)  # for whoever runs programs, or tells how that ended
    if option.collectonly:
        return None
    if option.replay:
        return _replay(config, [Path(name) for name in option.replay])
    _count_workers(config)
    if option.usepdb or option.trace or not guard.is_possible():
        return None
    ended = guard.watched(lambda: _main(config))
    return ended.code if ended.code is not None else _told(config, ended)


def _replay(config: pytest.Config, files: list[Path]) -> int:
    """Replay each file in a process of its own, where there can be one; the worst of their exit codes."""

    def main(folder: Path, files: list[Path]) -> int:
        config._do_configure()
        return max(replay.replayed(path, config.stash[SESSION], folder) for path in files)

    if not guard.is_possible():
        with TemporaryDirectory() as folder:
            return _finished(config, partial(main, Path(folder), files))

    def one(path: Path) -> int:
        def child(folder: Path) -> int:
            return _finished(config, partial(main, folder, [path]))

        return replay.watched(path, child, config.option.patience)

    return max(map(one, files))


def _count_workers(config: pytest.Config) -> None:
    """One worker where nobody counted them: a crash or a hang of the framework is then the end of the worker alone."""
    option = config.option
    if getattr(option, "numprocesses", 0) is None and not (option.usepdb or option.trace or option.tx):
        option.numprocesses, option.dist, option.tx = 1, "load", ["popen"]


def _main(config: pytest.Config) -> int:
    """The run, as pytest goes on with it, to its very end."""
    here = config.pluginmanager.get_plugin(__name__)
    go_on = config.pluginmanager.subset_hook_caller("pytest_cmdline_main", [here])
    return _finished(config, lambda: int(go_on(config=config)))


def _finished(config: pytest.Config, main: Callable[[], int]) -> int:
    """What `pytest.main` does with what comes out of a run, which a watched process has to do itself."""
    try:
        return main()
    except pytest.UsageError as error:
        print("\n".join(f"ERROR: {line}\n" for line in error.args), file=sys.stderr)
        return int(pytest.ExitCode.USAGE_ERROR)
    except pytest.exit.Exception as error:
        print(error.msg, file=sys.stderr)
        return error.returncode or int(pytest.ExitCode.INTERRUPTED)
    except BrokenAdapter as error:
        print(f"adapter error: {error}", file=sys.stderr)
        return ADAPTER_ERROR
    finally:
        config._ensure_unconfigure()


def _told(config: pytest.Config, ended: guard.Ended) -> int:
    """What there is to say of a run whose process was ended; its exit code, which is never that of a good run."""
    how = guard.told(ended.status)
    entry = take(Path(config.option.report).expanduser(), "main")
    if ended.stopped:
        print(f"stopped: {how}", file=sys.stderr)
        return int(pytest.ExitCode.INTERRUPTED)
    if not ended.loaded:
        print(f"adapter error: {how} while the framework was loaded", file=sys.stderr)
        return ADAPTER_ERROR
    if entry is None:
        print(f"ERROR: {how}, and the run with it; there is no report", file=sys.stderr)
        return int(pytest.ExitCode.INTERNAL_ERROR)

    def tell() -> int:
        session, code = _session(config, "main"), int(pytest.ExitCode.TESTS_FAILED)
        failure = failures.died(entry, session, ended.status)
        print(f"\n\n{text.render(failure)}")
        print(f"the run ended there (-n 1 goes on): {end_cut_off(session, entry, failure, code)}")
        return code

    return guard.watched(tell).code or int(pytest.ExitCode.INTERNAL_ERROR)


# -- tests -------------------------------------------------------------------------------------------------------------


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items[:1]:
        item.config.stash[LEFT_OUT] = item.config.stash.get(LEFT_OUT, 0) + len(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    if SESSION not in config.stash or config.option.collectonly:
        return
    ours = [item for item in session.items if item.get_closest_marker("rule")]
    plan = Plan.of((_about(item)[0] for item in ours), config.stash.get(LEFT_OUT, 0))
    framework = records.Framework(config.stash[SESSION].target.name, config.stash[SESSION].target.version, (), 0, ())
    for number, item in enumerate(ours):
        rule, op = _about(item)
        item.stash[NUMBER], item.stash[PLANNED] = number, plan
        named = {"rule": rule, "op": op, "seed": config.option.hypothesis_seed, "framework": framework.title}
        item.user_properties += [(name, value) for name, value in named.items() if value is not None]
    limits = config.stash.get(LIMITS, UNLIMITED)
    if limits.limited and ours:
        _audited(config)
        weights = [_weight(item, config.stash[SESSION]) for item in ours]
        processes = getattr(config, "workerinput", {}).get("workercount", 1)
        config.stash[BUDGET] = Budget(config.stash[LIMITS], processes, weights)


def _weight(item: pytest.Item, session: Session) -> float:
    """How many programs a test is about to run: none where it does not apply, else its profile's."""
    rule, op = _about(item)
    if session.missing(rule) or (op is not None and op not in session.target.ops):
        return 0.0
    given = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
    return float(UNDRAWN if given is None else given.max_examples)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "op" in metafunc.fixturenames and metafunc.definition.get_closest_marker("rule"):
        metafunc.parametrize("op", list(OPS))


@pytest.fixture(scope="session")
def prepared(pytestconfig: pytest.Config) -> Session:
    """The session, its alphabet in use."""
    session = pytestconfig.stash[SESSION]
    _audited(pytestconfig)
    session.prepare()
    return session


@pytest.fixture(scope="session")
def journal(prepared: Session) -> Iterator[Journal]:
    """The session's journal, which goes when the process ends in good order."""
    prepared.journal = Journal(prepared.folder, prepared.worker, prepared.timeout)
    yield prepared.journal
    prepared.journal.close()
    prepared.journal = None


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Any:
    """A situation that cannot be brought about with what the framework has does not apply to it."""
    try:
        return (yield)
    except Undrawable as error:
        pytest.skip(str(error))


@pytest.fixture
def check(request: pytest.FixtureRequest, prepared: Session, journal: Journal) -> Iterator[Check]:
    """Checks programs for this test; skips where the framework does not claim what the rule needs."""
    rule, op = _about(request.node)
    missing = prepared.missing(rule)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    if op is not None and op not in prepared.target.ops:
        pytest.skip(f"{prepared.target.name} has no {op}")
    request.node.stash[CHECK] = check = _check(request, prepared, rule)
    journal.begin(request.node.nodeid, rule, op)
    yield check
    journal.end()
    if BUDGET in request.config.stash:
        request.config.stash[BUDGET].used(check.programs)


def _check(request: pytest.FixtureRequest, session: Session, rule: str) -> Check:
    """A check for a test, which ends with the test's share where the run has a budget."""
    check = session.check(rule)
    if BUDGET not in request.config.stash:
        return check
    bounded = BoundedCheck(
        check.target, check.known, share=request.config.stash[BUDGET].share(request.node.stash[NUMBER])
    )
    if bounded.share.spent(0):
        bounded.cut = True
        request.node.stash[CHECK] = bounded
        raise Spent("the budget ended before it began")
    return bounded


def _about(item: pytest.Item) -> tuple[str, str | None]:
    """The rule and the op that a test is about."""
    marker = item.get_closest_marker("rule")
    assert marker is not None, f"{item.nodeid} has no rule marker"
    return marker.args[0], getattr(item, "callspec", None) and item.callspec.params.get("op")  # type: ignore[attr-defined]


# -- records -----------------------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if item.get_closest_marker("rule") is None or SESSION not in item.config.stash:
        return report
    if call.when == "call" or (call.when == "setup" and report.outcome != "passed"):
        try:
            if call.excinfo is not None and isinstance(call.excinfo.value, BrokenAdapter):
                raise call.excinfo.value
            report.user_properties += [(PROPERTY, records.encode(record)) for record in _records(item, call, report)]
        except BrokenAdapter as error:
            report.longrepr = f"adapter error: {error}"
            report.user_properties.append((ADAPTER, str(error)))
            return report
        check = item.stash.get(CHECK, None)
        if check is not None:
            noted.shorten(check, item.config.stash[SESSION])
            report.user_properties.append((TALLY, check.tally().to_json()))
        if PLANNED in item.stash:
            report.user_properties.append((PLAN, item.stash[PLANNED].to_json(_about(item)[0])))
        unwritable = item.config.stash[SESSION].unwritable
        if unwritable:
            report.user_properties.append((UNWRITABLE, unwritable))
    return report


def _records(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> Iterator[records.Record]:
    session, check = item.config.stash[SESSION], item.stash.get(CHECK, None)
    rule, op = _about(item)
    verdict, reason = "pass", None
    if isinstance(check, BoundedCheck) and check.cut and report.outcome == "skipped":
        verdict, reason = "cut short", f"the budget of the run ended after {counted(check.programs, 'program')}"
    elif report.outcome == "skipped":
        reason = report.longrepr[2].removeprefix("Skipped: ")  # type: ignore[index]
        verdict = "pass" if check is not None and check.programs else "not applicable"
    elif call.excinfo is not None:
        verdict, reason = "error", call.excinfo.exconly()
        broken = broken_in(call.excinfo.value)
        if broken is not None:
            verdict, reason = "flaky" if isinstance(call.excinfo.value, errors.Flaky) else "fail", None
            failure = failures.failure(broken, item.nodeid, session, verdict)  # type: ignore[arg-type]
            report.longrepr = text.render(failure)
            yield failure
    elif check is not None:
        shown = [(known.rule, known.reason) for known in check.differences]
        shown += [(found.about.rule, found.observed) for found in check.findings.values()]
        own = [reason for broken, reason in shown if op is not None or broken == rule]
        if own:  # those of other rules count against these
            verdict, reason = "known difference", "; ".join(own)
    if check is not None:
        yield from noted.failures(check, item.nodeid, session)
        verdict = "fail" if verdict == "pass" and rule in check.advice else verdict
    yield records.Result(
        test=item.nodeid,
        rule=rule,
        op=op,
        verdict=verdict,  # type: ignore[arg-type]
        programs=check.programs if check else 0,
        exercised=dict(check.exercised) if check else {},
        left_open=check.left_open if check else 0,
        seconds=round(call.duration, 3),
        reason=reason,
    )
