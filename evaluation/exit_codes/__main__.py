"""`python -m evaluation.exit_codes [--generated 200] [--whole] [--only TEXT]`: runs the suite on faulty frameworks.

It does a quick run on each, and reports the runs that ended with exit code 0.

A run is an ordinary one that stops at the first failure. Without `--whole`, the run of a mutant has only the tests of
the rules that its fault violates. Each test draws the same programs as in the whole run, so that a test that fails here
fails there. PyTorch's audit replaces that of a mutant whose single ops are right.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from autograd_conformance.checking.audit.notes import Note
from autograd_conformance.checking.audit.store import Store
from autograd_conformance.checking.audit.workers import audit
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.dtypes import USUAL
from evaluation.exit_codes.subjects import Subject, by_hand, generated, misbehaviours

ROOT = Path(__file__).parents[2]
LONGEST = 900.0
"""Timeout of a run, in seconds."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of the run on a subject."""

    framework: str
    code: int | None
    """The exit code; None if the run timed out."""
    headline: str
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.exit_codes", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    parser.add_argument("--generated", type=int, default=200, metavar="N", help="how many generated mutants")
    parser.add_argument("--whole", action="store_true", help="run all tests of the suites on each mutant")
    parser.add_argument("--only", default="", metavar="TEXT", help="only frameworks whose name has that in it")
    parser.add_argument("--out", type=Path, default=ROOT / ".cache" / "exit_codes.jsonl", help="where results go")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    everything = chain(misbehaviours(), by_hand(), generated(options.generated))
    done = _done(options.out)
    subjects = [each for each in everything if options.only in each.framework and each.framework not in done]
    with ThreadPoolExecutor(options.jobs) as pool, options.out.open("a", encoding="utf-8") as out:
        for result in pool.map(lambda subject: run(subject, options.whole), subjects):
            print(f"{result.code}  {result.seconds:5.1f} s  {result.framework}  {result.headline}", flush=True)
            print(json.dumps(asdict(result)), file=out, flush=True)
            done[result.framework] = result.code
    green = sorted(name for name, code in done.items() if code == 0)
    print(f"{len(done)} runs, by exit code: {dict(Counter(done.values()))}")
    print(f"ended with 0: {', '.join(green) or 'none'}")
    return int(bool(green))


def _done(path: Path) -> dict[str, int | None]:
    """The exit codes that an earlier call of the command wrote; these subjects are not run again."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {each["framework"]: each["code"] for each in map(json.loads, lines)}


def run(subject: Subject, whole: bool) -> RunResult:
    """Run the suite on a subject until the first failure."""
    if subject.audited is not None:
        _keep_audit(subject)
    with TemporaryDirectory() as folder:
        options = [
            "-q",
            "-x",
            "-n",
            "0" if subject.tests else "1",
            "--confirm=0",
            "--hypothesis-seed=1",
            "--patience=20",
        ]
        named = ("suites",) if whole else subject.tests
        command = [sys.executable, "-m", "pytest", f"--framework={subject.framework}", f"--report={folder}", *options]
        began, printed = time.monotonic(), Path(folder) / "printed"
        with printed.open("wb") as out:  # a pipe would stay open as long as child processes of the framework
            try:
                code: int | None = subprocess.run(
                    [*command, *named], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, timeout=LONGEST
                ).returncode
            except subprocess.TimeoutExpired:
                code = None
        headline = _headline(printed.read_text(encoding="utf-8", errors="replace"))
        return RunResult(subject.framework, code, headline, round(time.monotonic() - began, 1))


def _headline(printed: str) -> str:
    """The line of a run's output with its verdict."""
    headlines = ("CONFORMANT", "NOT CONFORMANT", "NO VERDICT", "SELECTION PASSED", "adapter error")
    return next((line for line in printed.splitlines() if line.startswith(headlines)), "")[:160]


def _keep_audit(subject: Subject) -> None:
    """Store PyTorch's audit as that of a mutant, without the ops that the mutant's run has to audit."""
    assert subject.audited is not None
    target = InProcess(load(subject.framework))
    store = Store(target, subject.framework, "cpu", USUAL, False)
    store.keep({op: note for op, note in _of_torch().items() if op not in subject.audited})


@cache
def _of_torch() -> Mapping[str, Note]:
    """The result of PyTorch's audit for each op."""
    return audit("torch", "cpu", USUAL, 60.0, False, jobs=2).notes


if __name__ == "__main__":
    sys.exit(main())
