"""A framework under which no file of a run can become larger than so many bytes: to who writes, a disk that is full."""

from __future__ import annotations

import os
import resource
import sys

from examples.tiny_adapter import Tiny

MOST = "CRAMPED_BYTES"
"""The variable of the environment that says how many bytes."""


class Cramped(Tiny):
    """The tiny autograd; the audit's own files, which are in another folder, have room."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        audit = "audit" in str(getattr(sys.modules["__main__"], "__file__", ""))  # a worker of pytest-xdist has none
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard if audit else int(os.environ[MOST]), hard))
