"""A framework that limits the size of a run's files, as a full disk would."""

from __future__ import annotations

import os
import resource
import sys

from examples.tiny_adapter import Tiny

MOST = "CRAMPED_BYTES"
"""The environment variable with the limit in bytes."""

STARTED_BY_SUITE = "die_with_parent" in sys.argv[0]
"""Whether this is a process that the suite started, such as that of the audit."""


def limit_files(limited: bool) -> None:
    """Limits the size of the files that this process writes from now on, or lifts a limit that it inherited."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(os.environ[MOST]) if limited else hard, hard))


class Cramped(Tiny):
    """The tiny autograd with limited files in the processes of pytest. Those that the suite starts have no limit."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        limit_files(not STARTED_BY_SUITE)


class CrampedElsewhere(Tiny):
    """The tiny autograd with limited files in the processes that the suite starts, such as that of the audit."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        limit_files(STARTED_BY_SUITE)
