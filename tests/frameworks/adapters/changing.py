"""Frameworks that say one thing of themselves in the process that the user started, and another elsewhere: the worked
example, which is right. `tests/plugin/test_statements.py` says what comes of each.
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
    """A worker has two ops, and one of the others is wrong."""

    ops = frozenset({"exp", "sum"}) if IN_WORKER else frozenset(OPS)


class FewerOpsAudited(Tiny):
    """The audit has two ops."""

    ops = frozenset({"exp", "sum"}) if IN_AUDIT else frozenset(OPS)


class FewerClaims(Tiny):
    """A worker claims less."""

    capabilities = CAPABILITIES - {Capability.FREES, Capability.RETAIN} if IN_WORKER else CAPABILITIES


class AnotherVersion(Tiny):
    """A worker is of another version."""

    version = "1.1" if IN_WORKER else "1.0"


class AnotherDtype(Tiny):
    """A worker computes in one dtype."""

    dtypes = ("float32",) if IN_WORKER else ("float64", "float32")


class AnotherTrait(Tiny):
    """The audit gives another legal answer."""

    traits = Traits(implicit_ones=IN_AUDIT)


class MoreWrites(Tiny):
    """A worker names an op in place."""

    writes = ("add_",) if IN_WORKER else ()


class OtherWhenConfirming(Tiny):
    """It doubles the gradients of its exponential, and is of another version where a failure is run again."""

    version = "2.0" if IN_CONFIRMING else "1.0"

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        (made,) = super().apply(op, operands, attrs)
        if op == "exp" and made.pull is not None:
            pull = made.pull
            made.pull = lambda given: tuple(2 * np.asarray(each) for each in pull(given))
        return (made,)


__all__ = ["tiny"]
