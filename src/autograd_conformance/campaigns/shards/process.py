"""The process of a shard, which a worker starts: the ordinary command, and ended when the worker is.

Its first argument is the number of the worker's process; the rest is the command's.
"""

from __future__ import annotations

import runpy
import sys

from autograd_conformance.processes import guard

COMMAND = "autograd_conformance.cli"

if __name__ == "__main__":
    guard.die_with_parent(int(sys.argv.pop(1)))
    runpy.run_module(COMMAND, run_name="__main__")
