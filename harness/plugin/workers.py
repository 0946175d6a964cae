"""Workers of pytest-xdist: how they are started, and the end of a run where they end before they have begun, as the
framework can be loaded in one process, but not in another like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from autograd_conformance.frameworks.base import HasForks, Target
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.harness import forks
from autograd_conformance.harness.session import ADAPTER_ERROR

MOST = 3
"""How many workers may end so: one may have been killed from outside."""


class Workers:
    """Has workers forked where their framework may be, and ends the run where some never were ready: another one in
    their place would not be, either.
    """

    def __init__(self, target: Target) -> None:
        """Call it before anything of the run is opened: a fork would hold it, too."""
        adapter = target.adapter if isinstance(target, InProcess) else None
        self.copy = forks.left(adapter.before_forks) if isinstance(adapter, HasForks) else None
        self.ready: set[str] = set()
        self.unready = 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, specs: Sequence[Any]) -> None:
        """Workers are about to be started."""
        for spec in specs:
            if self.copy is not None and spec.popen and not spec.python and not spec.chdir:
                spec.python = self.copy.command

    def pytest_unconfigure(self) -> None:
        """They have ended."""
        if self.copy is not None:
            self.copy.end()

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
