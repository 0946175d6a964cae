"""`python -m evaluation.kill_matrix [--jobs 2] [--sample N]`: kills the mutants, compares with the baselines, and
writes the results.

Results are JSON lines in a folder of the commit under `.cache/matrix`; what is there already is not run again. The
whole run writes `docs/results/matrix.md`. A sample prints the short table alone, for a first
look or a check of every change, and fails where a mutant of it survived whose fault does not show in some places only.
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
    parser.add_argument("--sample", type=int, metavar="N", help="N mutants made by hand and 2 N generated, no pages")
    parser.add_argument("--only", choices=("kills", "comparisons"), help="only one half of the work; no pages")
    parser.add_argument("--revision", help="go on with the results of this revision (default: what is checked out)")
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
