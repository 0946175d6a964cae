"""Exceptions that end pytest, raised by a framework while the run is configured."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from autograd_conformance.frameworks.environment import interrupts
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.plugin import configuration


@pytest.mark.parametrize(
    "error", [pytest.exit.Exception("enough", 0), SystemExit(0), KeyboardInterrupt(), pytest.skip.Exception("not now")]
)
def test_an_exception_that_ends_pytest_with_0_is_the_adapters_error_while_a_run_is_configured(error, monkeypatch):
    def ends(config: Any) -> None:
        raise error

    interrupts.watch()  # forgets the signals that other tests sent to this process
    monkeypatch.setattr(configuration, "_as_controller", ends)
    monkeypatch.setattr(configuration, "runs_suites", lambda config: True)
    option = SimpleNamespace(help=False, framework="some.module:Adapter")
    config: Any = SimpleNamespace(option=option, addinivalue_line=lambda name, line: None)
    with pytest.raises(AdapterError, match=r"some.module:Adapter: .* while it was loaded"):
        configuration.pytest_configure(config)
