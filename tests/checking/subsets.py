"""Random subsets of the example adapter, each run with a few tests: `python -m tests.checking.subsets --count 600
--seed 1`.

Each subset has to get a verdict, or be refused in one sentence. No subset violates a rule, since the whole example
violates none. A subset runs as a user would run it, with two differences that save time: its process is forked from one
that has loaded the suite, and the audit runs in the same process. Each subset runs a few tests, different ones each
time.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograd_conformance.checking.audit.notes import Note
from autograd_conformance.checking.audit.programs import audit
from autograd_conformance.checking.audit.workers import Audit
from autograd_conformance.frameworks.target import InProcess, load_adapter
from autograd_conformance.plugin import state
from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.reporting.analysis.verdicts import ADAPTER_ERROR, Exit
from autograd_conformance.reporting.records.stream import load
from tests.frameworks.adapters.subsets import Subset

ROOT = Path(__file__).parents[2]
SETTINGS = ("-q", "-n", "0", "-p", "no:randomly", "--hypothesis-profile=quick", "--tb=native")


@dataclass(frozen=True)
class Attempt:
    """The result of running a subset of the example."""

    name: str
    code: int
    conclusion: str | None
    """None if the subset was refused."""
    faults: tuple[str, ...]
    """Unexpected results; none if all is well."""
    output: str


def collected() -> list[str]:
    """Names of all tests of the suites."""
    found: list[str] = []

    class Collects:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            found.extend(item.nodeid for item in session.items)

    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        pytest.main(["--collect-only", "-q", "--framework=examples.tiny_adapter:Tiny", "suites"], plugins=[Collects()])
    return found


def chosen(tests: Sequence[str], subset: Subset, number: int, most: int) -> list[str]:
    """Some tests for a subset. Of the tests for each op, mostly those of ops in the subset."""
    functions: dict[str, list[str]] = {}
    for test in tests:
        functions.setdefault(test.partition("[")[0], []).append(test)
    drawn = random.Random(number)
    picked = drawn.sample(sorted(functions), min(most, len(functions)))
    fitting = [[t for t in functions[f] if t.endswith(tuple(f"[{op}]" for op in subset.ops))] for f in picked]
    return [drawn.choice(those or functions[f]) for f, those in zip(picked, fitting, strict=True)]


def attempt(number: int, seed: int, tests: Sequence[str], most: int) -> Attempt:
    """Runs one subset in a separate process."""
    subset, name = Subset.drawn(seed, number), f"Subset_{seed}_{number}"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "output")
        words = [*SETTINGS, f"--framework=tests.frameworks.adapters.subsets:{name}", f"--report={folder}/report"]
        child = os.fork()
        if not child:
            _become(out, [*words, f"--hypothesis-seed={number}", *chosen(tests, subset, number, most)])
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output = out.read_text(encoding="utf-8", errors="replace")
        records = Path(folder, "report", "records.jsonl")
        report = load(records) if records.exists() else None
    faults = [f"{word} in the output" for word in ("Traceback", "INTERNALERROR") if word in output]
    if report is None:
        said = output.strip()
        refused = code == ADAPTER_ERROR and "adapter error: " in said and len(said.splitlines()) <= 2
        faults += [] if refused and not subset.usable else [f"no report, exit code {code}: {said[-300:]}"]
        return Attempt(name, code, None, tuple(faults), output)
    summary = summarize(report)
    wrong = [r for r in report.results if r.verdict not in ("pass", "not applicable")]
    faults += [f"{r.verdict}: {r.test}: {r.reason}" for r in wrong]
    faults += [f"{f.verdict}: {f.rule}: {f.observed}" for f in report.failures]
    due = Exit.NO_VERDICT if summary.conclusion == "no verdict" else Exit.PASSED
    faults += [] if code == due and subset.usable else [f"exit code {code}, {summary.conclusion}"]
    return Attempt(name, code, summary.conclusion, tuple(faults), output)


def _become(out: Path, words: list[str]) -> None:
    """Turns a forked process into the run of one subset; does not return."""
    code = 3
    try:
        handle = os.open(out, os.O_CREAT | os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(handle, stream)
        state.audit = _audit  # type: ignore[assignment]
        code = int(pytest.main(words))
    finally:
        sys.stdout.flush()
        os._exit(code)


def _audit(name: str, device: str, dtypes: Sequence[str], timeout: float, thrice: bool, *others: Any) -> Audit:
    target = InProcess(load_adapter(name, device))
    found = audit(target, dtypes, thrice)
    return Audit(found, {op: Note(op, "fine") for op in target.ops})


def main() -> int:
    """Runs many subsets, and prints those with unexpected results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--first", type=int, default=0, help="the number of the first part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", type=int, default=12, help="how many tests each part is tried with")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no part after so many")
    given = parser.parse_args()
    tests, ends, bad, began = collected(), Counter[str](), 0, time.monotonic()
    for number in range(given.first, given.first + given.count):
        if time.monotonic() - began > given.seconds:
            break
        seen = attempt(number, given.seed, tests, given.tests)
        ends[seen.conclusion or "refused"] += 1
        if seen.faults:
            bad += 1
            print(f"{seen.name}: {'; '.join(seen.faults)}", flush=True)
        if ends.total() % 50 == 0:
            print(f"{ends.total()} after {time.monotonic() - began:.0f} s", flush=True)
    print(f"{ends.total()} parts in {time.monotonic() - began:.0f} s: {dict(ends)}; {bad} of them bad")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
