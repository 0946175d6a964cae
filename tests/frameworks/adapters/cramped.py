"""A framework that limits the size of a run's files, as a full disk would."""

from __future__ import annotations

import os
import resource
import sys

from examples.tiny_adapter import Tiny

MOST = "CRAMPED_BYTES"
"""The environment variable with the limit in bytes."""


class Cramped(Tiny):
    """The tiny autograd with limited files. The audit's files are in another folder and have no limit."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        audit = "audit" in str(getattr(sys.modules["__main__"], "__file__", ""))  # a worker of pytest-xdist has none
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard if audit else int(os.environ[MOST]), hard))
