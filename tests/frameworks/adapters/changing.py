"""Adapters whose description differs between processes: the worked example, which is correct.

`tests/plugin/test_statements.py` contains the expected results.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from autograd_conformance.programs.capabilities import Capability, Traits
from examples import tiny
from examples.tiny_adapter import CAPABILITIES, OPS, Tiny

IN_WORKER = "PYTEST_XDIST_WORKER" in os.environ
IN_AUDIT = any("audit" in word for word in sys.orig_argv)
IN_CONFIRMING = any("fresh_process" in word for word in sys.orig_argv)


class FewerOps(Tiny):
    """In a worker, the framework has only two ops, and another op is faulty."""

    ops = frozenset({"exp", "sum"}) if IN_WORKER else frozenset(OPS)


class FewerOpsAudited(Tiny):
    """In the audit, the framework has only two ops."""

    ops = frozenset({"exp", "sum"}) if IN_AUDIT else frozenset(OPS)


class FewerClaims(Tiny):
    """In a worker, the framework claims fewer capabilities."""

    capabilities = CAPABILITIES - {Capability.FREES, Capability.RETAIN} if IN_WORKER else CAPABILITIES


class AnotherVersion(Tiny):
    """In a worker, the framework has another version."""

    version = "1.1" if IN_WORKER else "1.0"


class AnotherDtype(Tiny):
    """In a worker, the framework computes in only one dtype."""

    dtypes = ("float32",) if IN_WORKER else ("float64", "float32")


class AnotherTrait(Tiny):
    """In the audit, the framework has another trait."""

    traits = Traits(implicit_ones=IN_AUDIT)


class MoreWrites(Tiny):
    """In a worker, the framework has an in-place op."""

    writes = ("add_",) if IN_WORKER else ()


class OtherWhenConfirming(Tiny):
    """The gradients of the exponential are doubled, and the version differs in the process that repeats a failure."""

    version = "2.0" if IN_CONFIRMING else "1.0"

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        (made,) = super().apply(op, operands, attrs)
        if op == "exp" and made.pull is not None:
            pull = made.pull
            made.pull = lambda given: tuple(2 * np.asarray(each) for each in pull(given))
        return (made,)


__all__ = ["tiny"]
