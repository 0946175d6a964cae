"""`python -m evaluation.fresh [--examples 60] [--jobs 2] OUT`: runs the suites on fresh faults, and writes a line of
JSON for each to OUT.

Faults that OUT contains already are skipped. Each fault runs in a separate process, since some leave PyTorch changed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

from evaluation.fresh.hunt import hunt_named
from evaluation.fresh.sets import SETS, faults_of
from evaluation.mutants.probes import QUICK


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.fresh", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="the file for the results")
    parser.add_argument("--set", choices=SETS, default="first", help="the set of faults (default: first)")
    parser.add_argument(
        "--examples", type=int, default=QUICK, metavar="N", help=f"programs per rule (default: {QUICK})"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("--only", nargs="+", metavar="FAULT", help="these faults only")
    parser.add_argument("--families", nargs="+", metavar="FAMILY", help="the tests of these families only")
    options = parser.parse_args()
    done = {}
    if options.out.exists():
        done = {line["fault"]: line for line in map(json.loads, options.out.read_text().splitlines())}
    faults = [f for f in faults_of(options.set) if f.__name__ not in done]
    if options.only:
        faults = [f for f in faults if f.__name__ in options.only]
    places = [(f.__module__, f.__name__) for f in faults]
    work = partial(hunt_named, examples=options.examples, families=options.families)
    context = multiprocessing.get_context("spawn")
    with options.out.open("a") as out, context.Pool(options.jobs, maxtasksperchild=1) as pool:
        for find in pool.imap_unordered(work, places):
            print(json.dumps(asdict(find)), file=out, flush=True)
            done[find.fault] = asdict(find)
            what = f"{find.rule} ({find.test})" if find.test else "SURVIVED"
            print(f"{find.fault:30} {find.programs:6} programs {find.seconds:6.1f} s  {what}", flush=True)
    killed = sum(line["test"] is not None for line in done.values())
    print(f"{killed} of {len(done)} found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
