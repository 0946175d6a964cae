"""Workers that end before they have begun: the framework can be loaded in one process, but not in another like it."""

from __future__ import annotations

from typing import Any

import pytest

from autograd_conformance.harness.session import ADAPTER_ERROR


class Workers:
    """Ends the run where a worker of pytest-xdist never was ready: another one in its place would not be, either."""

    def __init__(self) -> None:
        self.ready: set[str] = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: Any) -> None:
        """A worker has loaded the framework."""
        self.ready.add(node.gateway.id)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """A worker has ended."""
        if node.gateway.id not in self.ready:
            how = f": {error}" if error else ", and said why above, if it said anything"
            pytest.exit(
                f"adapter error: it was loaded once, but worker {node.gateway.id} could not load it{how}",
                returncode=ADAPTER_ERROR,
            )
