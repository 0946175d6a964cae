"""`python -m evaluation.kill_matrix [--jobs 2] [--sample N]`: runs the suite and the baselines on the mutants, and
writes the results.

Results are JSON lines in a folder of the commit under `.cache/matrix`; work whose results exist is skipped. The whole
run writes `docs/results/matrix.md`. A sample only prints the short table, as a check of every change. It fails if a
mutant of the sample survives, except for generated faults that need special inputs.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict

from rich.console import Console

from evaluation.kill_matrix import page
from evaluation.kill_matrix.rows import FOLDER, ROOT, append, commit
from evaluation.kill_matrix.settings import ALWAYS_WRONG
from evaluation.kill_matrix.summary import Whole
from evaluation.kill_matrix.work import read, run, tasks


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.kill_matrix", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="test only N handmade and 2 N generated mutants, and write no pages"
    )
    parser.add_argument(
        "--only", choices=("kills", "comparisons"), help="do only this half of the work, and write no pages"
    )
    parser.add_argument("--revision", help="continue from the results of this revision (default: the current commit)")
    options = parser.parse_args()
    revision = options.revision or commit()
    folder = FOLDER / (revision if options.sample is None else f"{revision}-sample")
    began = time.perf_counter()
    done = read(folder)
    left = tasks(options.sample, done)
    if options.only:
        left = [task for task in left if (task.baseline is None) == (options.only == "kills")]
    run(left, options.jobs, folder)
    if not (options.sample or options.only or done.rows or done.rounds):
        whole = Whole(round(time.perf_counter() - began), options.jobs)
        append(folder / "whole.jsonl", {"record": "whole", **asdict(whole)})
    results, console = read(folder), Console(width=150, highlight=False)
    console.print(page.short(results), markup=False, soft_wrap=True)
    console.print(f"{len(left)} tasks in {time.perf_counter() - began:.0f} s with {options.jobs} processes; {folder}")
    if options.sample is None and not options.only:
        page.PAGE.write_text(page.page(results, revision), encoding="utf-8")
        console.print(f"wrote {page.PAGE.relative_to(ROOT)}")
    survivors = [row for row in results.rows if not row.killed]
    if survivors:
        console.print(f"survived: {', '.join(row.mutant for row in survivors)}")
    return int(options.sample is not None and any(not row.generated or row.group in ALWAYS_WRONG for row in survivors))


if __name__ == "__main__":
    sys.exit(main())
