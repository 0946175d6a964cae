"""Measures the CPU time of programs, for `evaluation.benchmarks.commits`: reads requests and writes a result for each.

The file is run by its path, so that it measures the package that is first on the Python path. A request is a line of
JSON with a workload, a number of programs and a seed. The result is a line of JSON: CPU seconds to draw the programs,
and to draw, run and judge them.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.known_differences import known
from autograd_conformance.strategies.random_programs import programs
from autograd_conformance.strategies.sequences import sequences
from autograd_conformance.strategies.situations.gradients import whole_graphs
from autograd_conformance.strategies.training import loops

WORKLOADS = {"programs": programs, "sequences": sequences, "training loops": loops, "whole graphs": whole_graphs}


def seconds(strategy: Any, number: int, start: int, do: Callable[[Any], None]) -> float:
    """CPU seconds to draw `number` programs and call `do` with each."""

    @seed(start)
    @settings(
        max_examples=number, backend=BACKEND, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def body(case: Any) -> None:
        do(case)

    began = time.process_time()
    body()
    return time.process_time() - began


def main() -> None:
    """Write a result for each request."""
    warnings.simplefilter("ignore")
    framework = FrameworkUnderTest(Settings("torch"))
    framework.prepare()
    check = Check(framework.target, known=known("torch", device="cpu"))

    def checked(case: Any) -> None:
        with suppress(RuleViolated):  # known differences of PyTorch, and ops that an audit would exclude
            check(case)

    for line in sys.stdin:
        name, number, start = json.loads(line)
        drawing = seconds(WORKLOADS[name](), number, start, lambda case: None)
        whole = seconds(WORKLOADS[name](), number, start, checked)
        print(json.dumps([drawing, whole]), flush=True)


if __name__ == "__main__":
    main()
