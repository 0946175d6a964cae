"""Tests that confirmations in reports are true: `python -m tests.failures.scripts --count 40 --first 0`.

Each faulty framework runs the suite of its family. Each failure that its report calls confirmed is then tested from
outside: the replay command must report the same result, and the script must print the same output. The faults are in
adapters, so no report may say that the printed code fails, unless the adapter prints the fault as code. PyTorch's own
faults are known differences.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from autograd_conformance.known_differences.file import shipped
from autograd_conformance.processes.child import PYTHON, finished
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.stream import read
from evaluation.mutants import FAMILIES, mutants_of
from evaluation.mutants.mutant import Mutant
from tests.plugin.test_cli import ROOT

LONGEST = 600.0
"""Time limit of a run, a replay or a script, in seconds."""


@dataclass
class Tried:
    """The confirmed failures of one faulty framework, and the differences found."""

    failures: int = 0
    """Number of failures."""
    again: int = 0
    """Number of failures that the report says were run again."""
    reproduced: int = 0
    """Number of failures that the report says fail each time."""
    problems: list[str] = field(default_factory=list)
    """Descriptions of differences from the report."""


def spread(count: int, first: int) -> list[type[Mutant]]:
    """A number of faulty frameworks, taken from all families in turn."""
    every = [[m for m in mutants_of(family) if not m.flaky] for family in FAMILIES]
    turns = [members[turn] for turn in range(max(map(len, every))) for members in every if turn < len(members)]
    return turns[first : first + count]


def tried(mutant: type[Mutant], folder: Path) -> Tried:
    """Run a faulty framework, and test what its report says about its failures."""
    name = f"{mutant.__module__}:{mutant.__name__}"
    suites = sorted({f"suites/test_{rule.partition('/')[0]}.py" for rule in mutant.killed_by})
    suites = [suite for suite in suites if (ROOT / suite).exists()] or ["suites/test_gradients.py"]
    report = folder / "report"
    options = [f"--framework={name}", f"--known={shipped('torch')}", f"--report={report}", "--hypothesis-seed=1"]
    words = ["-m", "pytest", *options, "-q", *suites]
    finished([*PYTHON, *words], scaled_timeout(LONGEST))
    found = Tried()
    for failure in read(report / "records.jsonl").failures:
        found.failures += 1
        if failure.alone is None:
            continue
        found.again += 1
        found.reproduced += failure.alone.failed == failure.alone.runs
        found.problems += [f"{failure.rule}, {failure.test}: {problem}" for problem in _problems(failure, name, folder)]
    return found


def _problems(failure: Failure, name: str, folder: Path) -> Iterator[str]:
    alone = failure.alone
    assert alone is not None and failure.replay is not None
    words = [*PYTHON, "-m", "pytest", f"--framework={name}", f"--replay={failure.replay}"]
    code = finished(words, scaled_timeout(LONGEST)).code
    if code != int(alone.failed > 0 or alone.after is not None):
        yield f"the replay ends with {code}, and the report says that it failed in {alone.failed} of {alone.runs} runs"
    path = folder / "script.py"
    path.write_text(failure.script, encoding="utf-8")
    code, printed, _ = finished([*PYTHON, str(path)], scaled_timeout(LONGEST))
    if printed[: len(alone.printed)] != alone.printed or bool(code) != bool(alone.trouble):
        yield f"the script ends with {code} and prints other things than the report says: {printed[:200]!r}"
    if alone.code:
        yield "the printed code is said to fail, though the fault is the adapter's"


def _counts(found: Tried) -> str:
    return f"{found.failures} failures, {found.again} run alone, {found.reproduced} fail there each time"


def main() -> int:
    """Test as many frameworks as the options request; 1 if something differs from a report."""
    parser = argparse.ArgumentParser(prog="python -m tests.failures.scripts", description=__doc__)
    parser.add_argument("--count", type=int, default=40, metavar="N", help="how many (default: 40)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="how many to leave out (default: 0)")
    options = parser.parse_args()
    whole = Tried()
    for mutant in spread(options.count, options.first):
        with TemporaryDirectory() as folder:
            found = tried(mutant, Path(folder))
        print(f"{mutant.name}: {_counts(found)}", flush=True)
        for problem in found.problems:
            print(f"    {problem}", flush=True)
        whole.failures += found.failures
        whole.again += found.again
        whole.reproduced += found.reproduced
        whole.problems += found.problems
    print(f"{options.count} frameworks: {_counts(whole)}; {len(whole.problems)} not as the report says")
    return int(bool(whole.problems))


if __name__ == "__main__":
    sys.exit(main())
