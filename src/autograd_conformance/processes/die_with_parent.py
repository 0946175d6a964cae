"""`python -m autograd_conformance.processes.die_with_parent PARENT COMMAND ...` runs a command that ends when the
process PARENT ends, for whatever reason, on Linux. `-m MODULE ...` in place of the command runs a module here.
"""

from __future__ import annotations

import os
import runpy
import sys

from autograd_conformance.processes import guard
from autograd_conformance.processes.child import own_environment

if __name__ == "__main__":
    guard.die_with_parent(int(sys.argv.pop(1)))  # this setting survives `exec`
    if sys.argv[1] == "-m":
        del sys.argv[1]
        runpy.run_module(sys.argv.pop(1), run_name="__main__")
    else:
        os.execve(sys.argv[1], sys.argv[1:], own_environment())
