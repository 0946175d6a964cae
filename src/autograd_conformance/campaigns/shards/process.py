"""The process of a shard: runs the ordinary command, in a process that ends when the worker ends.

The first argument is the process ID of the worker; the others are the command's.
"""

from __future__ import annotations

import runpy
import sys

from autograd_conformance.processes import guard

COMMAND = "autograd_conformance.cli"

if __name__ == "__main__":
    guard.die_with_parent(int(sys.argv.pop(1)))
    runpy.run_module(COMMAND, run_name="__main__")
