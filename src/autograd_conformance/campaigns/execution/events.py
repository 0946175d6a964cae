"""Events of a running campaign, which the campaign yields and the view prints."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.campaigns.shards.work import ReplayResult
from autograd_conformance.reporting.analysis.causes import Cause
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Header


@dataclass(frozen=True, slots=True)
class NewCause:
    """The event that a shard showed a cause of failures that no shard showed before."""

    cause: Cause
    header: Header


@dataclass(frozen=True, slots=True)
class Replayed:
    """The event that a failing program was run again in a separate process."""

    failure: Failure
    result: ReplayResult


@dataclass(frozen=True, slots=True)
class Trouble:
    """The event that a shard or a series was given up; the message says why."""

    message: str


Event = NewCause | Replayed | Trouble
