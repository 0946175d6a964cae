"""What happens in a campaign, as it is told to whoever looks on."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.campaigns.shards.work import ReplayResult
from autograd_conformance.reporting.analysis.causes import Cause
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Header


@dataclass(frozen=True, slots=True)
class NewCause:
    """A cause of failures that no shard had shown before."""

    cause: Cause
    header: Header


@dataclass(frozen=True, slots=True)
class Replayed:
    """A failure was run again alone."""

    failure: Failure
    result: ReplayResult


@dataclass(frozen=True, slots=True)
class Trouble:
    """A shard, or all that are left of a series, could not be had."""

    message: str


Event = NewCause | Replayed | Trouble
