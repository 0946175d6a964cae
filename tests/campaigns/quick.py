"""Shards that take no time: a worker writes invented records, which depend on the seed alone.

`python -m tests.campaigns.quick PLAN ...` is the command `campaign` with such shards.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from autograd_conformance.campaigns import command
from autograd_conformance.campaigns.execution import campaign
from autograd_conformance.campaigns.shards import work
from autograd_conformance.campaigns.shards.shard import Series, Shard
from autograd_conformance.campaigns.shards.work import Done, ReplayResult, TaskFailure
from autograd_conformance.campaigns.storage.storage import Storage
from autograd_conformance.processes.child import Finished
from autograd_conformance.reporting.records.records import Report, Result
from autograd_conformance.reporting.records.stream import write
from tests.reporting.miniatures import FAILURE, FOOTER, HEADER, RULES

SECONDS = "QUICK_SHARD_SECONDS"
"""The environment variable with the duration of a shard in seconds."""


def report(series: Series, seed: int) -> Report:
    """The records of a seed. Each fifth seed breaks a rule, and higher seeds have shorter programs."""
    broken = seed % 5 == 0
    results = tuple(
        Result(
            test=f"suites/test_{rule.family}.py::{n}",
            rule=rule.rule,
            verdict="fail" if broken and not n else "cut short",
            programs=seed,
            exercised={rule.rule: seed},
            seconds=0.5,
        )
        for n, rule in enumerate(RULES)
    )
    failure = replace(FAILURE, test=results[0].test, code="\n".join(["x"] * max(1, 100 - seed)))
    return Report(
        replace(HEADER, framework=replace(HEADER.framework, name=series.framework), seed=seed, device=series.device),
        RULES,
        results,
        (failure,) if broken else (),
        replace(FOOTER, verdict="cut short", programs=3 * seed, seconds=1.0),
    )


def started(words: Sequence[str], series: Series, folder: Path) -> Finished:
    """Replaces the process of a shard. The threads of a worker call it one at a time."""
    time.sleep(float(os.environ.get(SECONDS, "0")))
    (seed,) = (word.partition("=")[2] for word in words if word.startswith("--hypothesis-seed="))
    write(report(series, int(seed)), folder / "report" / "records.jsonl")
    return Finished(0, "", "")


def run(shard: Shard, storage: Storage, suite: str) -> Done | TaskFailure:
    """`work.run` without the process."""
    work._run_process = started
    return work.run(shard, storage, suite)


def replay(series: Series, program: object) -> ReplayResult:
    """`work.replay` of a program that still fails."""
    return ReplayResult("still failing", "as it did")


if __name__ == "__main__":
    from tests.campaigns import quick

    campaign.run, campaign.replay = quick.run, quick.replay  # type: ignore[assignment]  # as workers can import them
    sys.exit(command.main(sys.argv[1:]))
