"""Wraps the private names of pytest, pytest-xdist and execnet that the suite uses. No other file uses any.

`INTERNALS` lists these names. A run checks the list when it begins, and a test checks each name.
"""

from __future__ import annotations

from collections.abc import Mapping
from subprocess import Popen
from types import SimpleNamespace
from typing import Any, TextIO

import pytest

from autograd_conformance.package.internals import Internal, accepts, assigns

FILE = "src/autograd_conformance/plugin/pytest_internals.py"


def configure(config: pytest.Config) -> None:
    """Configures the plugins. Needs `Config._do_configure`: otherwise only a run of tests does it, and a replay has no
    tests.
    """
    config._do_configure()


def unconfigure(config: pytest.Config) -> None:
    """Ends the plugins. Needs `Config._ensure_unconfigure`: otherwise only `pytest.main` does it, and it does not
    return in a watched process.
    """
    config._ensure_unconfigure()


def hide_progress(reporter: pytest.TerminalReporter) -> None:
    """Switches off pytest's dots and percentages. Needs `TerminalReporter._show_progress_info`: pytest reads the public
    setting before the first plugin can change it.
    """
    reporter.showfspath = False
    reporter._show_progress_info = False


def expression_holds(expression: str, occurs: Mapping[str, bool]) -> bool:
    """Returns the value of an expression of `-k`, given whether each word of it occurs in a test's names; raises
    SyntaxError if it is none. Needs `Expression`: pytest evaluates such expressions only while it collects.
    """
    from _pytest.mark.expression import Expression

    return Expression.compile(expression).evaluate(lambda word, /, **arguments: occurs[word.lower()])


def terminal_width(reporter: pytest.TerminalReporter) -> int:
    """Returns the number of columns of the terminal. Needs `TerminalReporter._tw`: pytest publishes no width, and
    another source may differ from the one with which pytest erases lines.
    """
    return reporter._tw.fullwidth


def begin_line(reporter: pytest.TerminalReporter) -> None:
    """Ends a line of dots, if there is one. Needs `TerminalReporter._tw`: with workers, pytest's own method for this
    does not know of the dots.
    """
    if reporter._tw.width_of_current_line:
        reporter._tw.line()


def terminal_stream(reporter: pytest.TerminalReporter) -> TextIO:
    """Returns the file that pytest's terminal reporter writes to. Needs `TerminalWriter._file`: `sys.stdout` may be
    another file.
    """
    return reporter._tw._file


def mark_as_shown(report: pytest.TestReport) -> None:
    """Keeps a failure out of pytest's list of failures. Needs `TestReport._pdbshown`, pytest's mark for what its
    debugger has shown: the public options switch off the whole list.
    """
    report._pdbshown = True  # type: ignore[attr-defined]


def parameter(item: pytest.Item, name: str) -> Any:
    """Returns the value of a parameter of a test; None if the test has no such parameter. Needs `Function.callspec`:
    pytest publishes the values only to fixtures.
    """
    call = getattr(item, "callspec", None)
    return None if call is None else call.params.get(name)


def run_again(item: pytest.Item, nextitem: pytest.Item) -> None:
    """Runs a test that has ended again, and reports it. Needs `Function._initrequest`, `Session._setupstate` and
    `runtestprotocol`, as pytest runs each test once, and `WorkerInteractor.item_index`, with which a worker of
    pytest-xdist checks what it reports.
    """
    from _pytest.runner import runtestprotocol

    item._initrequest()  # type: ignore[attr-defined]
    item.session._setupstate.teardown_exact(item)
    worker: Any = next((each for each in item.config.pluginmanager.get_plugins() if hasattr(each, "item_index")), None)
    before = getattr(worker, "item_index", None)
    try:
        if worker is not None:
            worker.item_index = item.session.items.index(item)
        runtestprotocol(item, nextitem=nextitem)
    finally:
        if worker is not None:
            worker.item_index = before


def stop_workers(config: pytest.Config, reason: str) -> None:
    """Keeps all workers of pytest-xdist from beginning another test. Needs `DSession.shouldstop`: pytest-xdist does not
    read the session's flag. Does nothing if the run has no workers.
    """
    workers = config.pluginmanager.get_plugin("dsession")
    if workers is not None:
        workers.shouldstop = reason


def worker_process(node: Any) -> Popen[bytes] | None:
    """Returns the process of a worker of pytest-xdist; None if the worker runs on another computer. Needs `Gateway._io`
    and `Popen2IOMaster.popen`: execnet publishes neither the process nor its exit code.
    """
    return getattr(getattr(node.gateway, "_io", None), "popen", None)


def worker_of(report: Any) -> Any:
    """Returns pytest-xdist's object for the worker that died during a test. Needs `node`, which pytest-xdist adds to
    the report of a crashed test, because the hook has no argument for it.
    """
    return report.node


def _callspec() -> bool:
    from _pytest import python

    spec: Any = getattr(python, "CallSpec", None) or python.CallSpec2  # the name until pytest 9.1
    return assigns(pytest.Function.__init__, "callspec") and "params" in spec.__dataclass_fields__


def _expression() -> bool:
    return expression_holds("one and not two", {"one": True, "two": False})


def _file() -> bool:
    from _pytest._io import TerminalWriter

    return assigns(TerminalWriter.__init__, "_file") and isinstance(TerminalWriter.fullwidth, property)


def _pdbshown() -> bool:
    report: Any = SimpleNamespace()
    mark_as_shown(report)
    reporter: Any = SimpleNamespace(stats={"failed": [report]})
    return not pytest.TerminalReporter.getreports(reporter, "failed")


def _runtestprotocol() -> bool:
    from _pytest.runner import runtestprotocol

    return accepts(runtestprotocol, "item", "nextitem")


def _item_index() -> bool:
    from xdist.remote import WorkerInteractor

    return assigns(WorkerInteractor.run_one_test, "item_index")


def _dsession() -> Any:
    from xdist.dsession import DSession

    return DSession


def _io() -> bool:
    from execnet.gateway_base import BaseGateway

    return assigns(BaseGateway.__init__, "_io")


def _popen() -> bool:
    from execnet.gateway_io import Popen2IOMaster

    return assigns(Popen2IOMaster.__init__, "popen")


INTERNALS = tuple(
    Internal(library, name, FILE, is_there)
    for library, name, is_there in (
        ("pytest", "Config._do_configure", lambda: accepts(pytest.Config._do_configure, "self")),
        ("pytest", "Config._ensure_unconfigure", lambda: accepts(pytest.Config._ensure_unconfigure, "self")),
        (
            "pytest",
            "TerminalReporter._show_progress_info",
            lambda: assigns(pytest.TerminalReporter.__init__, "_show_progress_info"),
        ),
        ("pytest", "Expression", _expression),
        ("pytest", "TerminalReporter._tw", lambda: assigns(pytest.TerminalReporter.__init__, "_tw")),
        ("pytest", "TerminalWriter._file", _file),
        ("pytest", "TestReport._pdbshown", _pdbshown),
        ("pytest", "Function.callspec.params", _callspec),
        ("pytest", "Function._initrequest", lambda: accepts(pytest.Function._initrequest, "self")),
        ("pytest", "Session._setupstate", lambda: assigns(pytest.Item.addfinalizer, "_setupstate")),
        ("pytest", "runtestprotocol", _runtestprotocol),
        ("pytest-xdist", "WorkerInteractor.item_index", _item_index),
        ("pytest-xdist", "DSession.shouldstop", lambda: assigns(_dsession().pytest_runtestloop, "shouldstop")),
        ("pytest-xdist", "report.node", lambda: assigns(_dsession().handle_crashitem, "node")),
        ("execnet", "Gateway._io", _io),
        ("execnet", "Popen2IOMaster.popen", _popen),
    )
)
"""All private names of pytest, pytest-xdist and execnet that the suite uses, each with a check that the installed
version has it."""
