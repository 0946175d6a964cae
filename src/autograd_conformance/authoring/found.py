"""The features that a framework lacks, with the reasons as far as they are known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.numpylike.adapter import NumpyLike
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.frameworks.torchlike.adapter import TorchLike
from autograd_conformance.frameworks.torchlike.findings import Findings
from autograd_conformance.ops.catalogue import APPLIED, WRITES
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import DTYPES

UNKNOWN = "the probe did not find it in the framework's own process"
"""The reason for a missing feature of a framework in another process, which sends no reasons."""

UNCLAIMED = "its adapter does not claim it"
"""The reason for a missing feature of a framework with a separate adapter."""


def findings_of(target: Target) -> Findings:
    """Returns the missing features of a framework: those that the probe noted, or those that it does not claim."""
    adapter = target.adapter if isinstance(target, InProcess) else None
    if isinstance(adapter, TorchLike | NumpyLike):
        return adapter.findings
    why = UNCLAIMED if isinstance(target, InProcess) else UNKNOWN
    several = (*MODULES, *RANDOM_OPS)
    return Findings(
        target.name,
        target.version,
        _missing(DTYPES, target.dtypes, why),
        _missing((each.name for each in Capability), [each.name for each in target.capabilities], why),
        _missing(sorted(APPLIED.difference(several)), target.ops, why),
        _missing(WRITES, target.writes, why),
        _missing(several, target.modules, why),
        _missing(OPTIMIZERS, target.optimizers, why),
    )


def _missing(names: Iterable[str], there: Collection[str], why: str) -> Mapping[str, str]:
    return {name: why for name in names if name not in there}
