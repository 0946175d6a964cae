"""The features that a framework lacks, with the reasons as far as they are known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.numpylike.adapter import NumpyLike
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.frameworks.torchlike.adapter import TorchLike
from autograd_conformance.frameworks.torchlike.findings import Findings
from autograd_conformance.frameworks.torchlike.search import SINGLE
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import USUAL

UNKNOWN = "the framework's own process does not claim it"
"""The reason for a missing feature of a framework in another process that sends no reason."""

UNCLAIMED = "its adapter does not claim it"
"""The reason for a missing feature of a framework with a separate adapter."""


def findings_of(target: Target) -> Findings:
    """Returns the missing features of a framework: those that the probe noted, or those that it does not claim."""
    adapter = target.adapter if isinstance(target, InProcess) else None
    if isinstance(adapter, TorchLike | NumpyLike):
        return adapter.findings
    why = UNCLAIMED if isinstance(target, InProcess) else UNKNOWN
    sent = target.handshake.lacks if isinstance(target, Remote) else {}
    several = (*MODULES, *RANDOM_OPS)
    tables: Mapping[str, tuple[Iterable[str], Collection[str]]] = {
        "dtypes": (USUAL, target.dtypes),
        "capabilities": ((each.name for each in Capability), [each.name for each in target.capabilities]),
        "ops": (SINGLE, target.ops),
        "writes": (WRITES, target.writes),
        "modules": (several, target.modules),
        "optimizers": (OPTIMIZERS, target.optimizers),
    }
    missing = {
        table: {name: sent.get(table, {}).get(name, why) for name in names if name not in there}
        for table, (names, there) in tables.items()
    }
    partly = {table: sent.get(table, {}) for table in ("dimensions", "broadcasts", "defaults", "templates")}
    return Findings(target.name, target.version, **missing, **partly)
