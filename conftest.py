"""Pytest's side of the suite: the options, the framework under test, and the records that tests send.

`pytest -n auto --framework NAME` runs `suites/` against NAME and leaves a report. Everything that is not about pytest is in
`harness/`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, errors, settings

from frameworks.known import MalformedExpectations
from frameworks.registry import FRAMEWORKS, BrokenAdapter, UnknownFramework
from harness import failures
from harness.checking import Broken, Check
from harness.recorder import PROPERTY, Recorder
from harness.replay import replay
from harness.session import ADAPTER_ERROR, Session
from reports import records, text
from rules.language import DTYPES
from rules.ops import OPS

SUITES = Path(__file__).parent / "suites"
SESSION = pytest.StashKey[Session]()
CHECK = pytest.StashKey[Check]()

PROFILES = {"quick": 60, "standard": 1_200, "thorough": 60_000}
"""Programs per rule; each op by itself gets a tenth."""

for _name, _examples in PROFILES.items():
    settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        phases=[Phase.reuse, Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    )
settings.load_profile("standard")


# -- options --------------------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "autograd conformance (profiles: --hypothesis-profile quick, standard, thorough)")
    group.addoption(
        "--framework", default="torch", metavar="NAME",
        help=f"what to test: {', '.join(FRAMEWORKS)}, or your own adapter as package.module:factory (default: torch)",
    )  # fmt: skip
    group.addoption("--report", default="report", metavar="DIR", help="where the report goes (default: report)")
    group.addoption(
        "--dtype", choices=[*DTYPES, "both"], default="both", help="the dtype that programs compute in (default: both)"
    )
    group.addoption("--device", default="cpu", metavar="DEVICE", help="handed to the adapter's factory (default: cpu)")
    group.addoption(
        "--replay", action="append", default=[], metavar="FILE",
        help="run a program file again: exit 0 fixed, 1 still failing, 4 cannot run (may be given several times)",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rule(slug): the rule of rules/catalogue.py that a test of suites/ is about")
    worker = getattr(config, "workerinput", None)
    if worker is None and config.option.hypothesis_seed is None and _runs_suites(config):
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))
    if not _runs_suites(config) and not config.option.replay:
        return
    dtype = config.option.dtype
    session = Session(
        config.option.framework,
        Path(config.option.report).expanduser(),
        DTYPES if dtype == "both" else (dtype,),
        config.option.device,
        "main" if worker is None else worker["workerid"],
    )
    try:
        framework, _ = session.framework, session.known
    except UnknownFramework as error:
        raise pytest.UsageError(str(error)) from None
    except (BrokenAdapter, MalformedExpectations) as error:
        pytest.exit(f"adapter error: {error}", returncode=ADAPTER_ERROR)
    if not session.drawable:
        raise pytest.UsageError(f"{framework.name} does not support {dtype}; it has {', '.join(framework.dtypes)}")
    config.stash[SESSION] = session
    if worker is None and not config.option.replay and not config.option.collectonly:
        workers = getattr(config.option, "numprocesses", None) or 0
        profile = config.getoption("--hypothesis-profile") or "standard"
        header = session.header(int(config.option.hypothesis_seed), profile, workers)
        config.pluginmanager.register(Recorder(session, header), "recorder")


def _runs_suites(config: pytest.Config) -> bool:
    """Whether the run takes tests from suites/; the suite's own tests need no framework under test."""
    paths = [(config.invocation_params.dir / arg.split("::")[0]).resolve() for arg in config.args]
    return any(path == SUITES or SUITES in path.parents or path in SUITES.parents for path in paths)


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if not config.option.replay:
        return None
    config._do_configure()
    try:
        return _replay(config.stash[SESSION], [Path(name) for name in config.option.replay])
    finally:
        config._ensure_unconfigure()


def _replay(session: Session, files: list[Path]) -> int:
    codes = {"fixed": 0, "still failing": 1, "cannot run": 4}
    worst = 0
    for path in files:
        outcome = replay(path, session.framework, session.claims)
        if outcome.broken:
            failure = failures.failure(outcome.broken, str(path), session.framework, session.claims, session.folder)
            print(text.render(failure))
        print(f"{path}: {outcome.verdict}" + (f" ({outcome.reason})" if outcome.reason else ""))
        worst = max(worst, codes[outcome.verdict])
    return worst


# -- tests ----------------------------------------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "op" in metafunc.fixturenames:
        metafunc.parametrize("op", list(OPS))


@pytest.fixture(scope="session")
def prepared(pytestconfig: pytest.Config) -> Iterator[Session]:
    """The session, its alphabet in use; its journal goes when the process ends in good order."""
    session = pytestconfig.stash[SESSION]
    session.prepare()
    yield session
    session.journal.close()


@pytest.fixture
def check(request: pytest.FixtureRequest, prepared: Session) -> Iterator[Check]:
    """Checks programs for this test; skips where the framework does not claim what the rule needs."""
    rule, op = _about(request.node)
    missing = prepared.missing(rule)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    if op is not None and op not in prepared.framework.ops:
        pytest.skip(f"{prepared.framework.name} has no {op}")
    check = prepared.check()
    request.node.stash[CHECK] = check
    prepared.journal.begin(request.node.nodeid, rule, op)
    yield check
    prepared.journal.end()


def _about(item: pytest.Item) -> tuple[str, str | None]:
    """The rule and the op that a test is about."""
    marker = item.get_closest_marker("rule")
    assert marker is not None, f"{item.nodeid} has no rule marker"
    return marker.args[0], getattr(item, "callspec", None) and item.callspec.params.get("op")


# -- records --------------------------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if item.get_closest_marker("rule") is None or SESSION not in item.config.stash:
        return report
    if call.when == "call" or (call.when == "setup" and report.outcome != "passed"):
        for record in _records(item, call, report):
            report.user_properties.append((PROPERTY, record))
    return report


def _records(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> Iterator[dict[str, Any]]:
    session, check = item.config.stash[SESSION], item.stash.get(CHECK, None)
    rule, op = _about(item)
    verdict, reason = "pass", None
    if report.outcome == "skipped":
        verdict, reason = "not applicable", report.longrepr[2].removeprefix("Skipped: ")  # type: ignore[index]
    elif call.excinfo is not None:
        verdict, reason = "error", call.excinfo.exconly()
        broken = _broken(call.excinfo.value)
        if broken is not None:
            verdict, reason = "flaky" if _flaky(call.excinfo.value) else "fail", None
            failure = failures.failure(
                broken, item.nodeid, session.framework, session.claims, session.folder, verdict  # type: ignore[arg-type]
            )
            report.longrepr = text.render(failure)
            yield records.encode(failure)
    elif check is not None and check.differences:
        verdict, reason = "known difference", "; ".join(known.reason for known in check.differences)
    if check is not None:
        for known, count in check.differences.items():
            yield {"record": "seen", "rule": known.rule, "op": known.op, "count": count}
    yield records.encode(
        records.Result(
            test=item.nodeid,
            rule=rule,
            op=op,
            verdict=verdict,  # type: ignore[arg-type]
            programs=check.programs if check else 0,
            exercised=dict(check.exercised) if check else {},
            seconds=round(call.duration, 3),
            reason=reason,
        )
    )


def _broken(error: BaseException) -> Broken | None:
    """The broken rule in what a test raised, which Hypothesis wraps when it does not replay."""
    if isinstance(error, Broken):
        return error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((b for b in map(_broken, inner) if b is not None), None)


def _flaky(error: BaseException) -> bool:
    return isinstance(error, errors.Flaky)
