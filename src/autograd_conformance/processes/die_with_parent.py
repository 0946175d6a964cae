"""`python -m autograd_conformance.processes.die_with_parent PARENT COMMAND ...` runs a command that ends when the
process PARENT ends, for whatever reason. Linux only.
"""

from __future__ import annotations

import os
import sys

from autograd_conformance.processes import guard
from autograd_conformance.processes.child import PYTHON, own_environment


def dying_with_parent(command: str) -> tuple[str, ...]:
    """Returns the words to put before a command's arguments so that the command ends when this process ends; the
    command alone on systems other than Linux.
    """
    if sys.platform != "linux":
        return (command,)
    return (*PYTHON, "-m", "autograd_conformance.processes.die_with_parent", str(os.getpid()), command)


if __name__ == "__main__":
    guard.die_with_parent(int(sys.argv[1]))  # this setting survives `exec`
    os.execve(sys.argv[2], sys.argv[2:], own_environment())
