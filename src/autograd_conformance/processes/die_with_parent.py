"""`python -m autograd_conformance.processes.die_with_parent PARENT COMMAND ...`: a command of others that ends when
the process that started it does, whose number is given, however that ends; on Linux.
"""

from __future__ import annotations

import os
import sys

from autograd_conformance.processes import guard
from autograd_conformance.processes.child import PYTHON, own_environment


def dying_with_parent(command: str) -> tuple[str, ...]:
    """The words before a command's own with which it ends when this process does."""
    if sys.platform != "linux":
        return (command,)
    return (*PYTHON, "-m", "autograd_conformance.processes.die_with_parent", str(os.getpid()), command)


if __name__ == "__main__":
    guard.die_with_parent(int(sys.argv[1]))  # what it asks of the system outlives `exec`
    os.execve(sys.argv[2], sys.argv[2:], own_environment())
