"""The process of a shard, which a worker starts: the ordinary command, and ended when the worker is."""

from __future__ import annotations

import runpy

from autograd_conformance.harness import guard

COMMAND = "autograd_conformance.harness.command"

if __name__ == "__main__":
    guard.die_with_parent()
    runpy.run_module(COMMAND, run_name="__main__")
