"""Workers that end before they have begun: the framework can be loaded in one process, but not in another like it."""

from __future__ import annotations

from typing import Any

import pytest

from autograd_conformance.harness.session import ADAPTER_ERROR

MOST = 3
"""How many workers may end so: one may have been killed from outside."""


class Workers:
    """Ends the run where workers of pytest-xdist never were ready: another one in their place would not be, either."""

    def __init__(self) -> None:
        self.ready: set[str] = set()
        self.unready = 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: Any) -> None:
        """A worker has loaded the framework."""
        self.ready.add(node.gateway.id)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """A worker has ended."""
        if node.gateway.id in self.ready:
            return
        self.unready += 1
        if self.unready == MOST:
            how = f": {error}" if error else ", and said why above, if it said anything"
            pytest.exit(
                f"adapter error: it was loaded once, but {MOST} workers could not load it{how}",
                returncode=ADAPTER_ERROR,
            )
