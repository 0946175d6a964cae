"""`python -m evaluation.traced [--jobs 2] [--all]`: writes the file of traced functions that comes with the package. It
gets the functions that it has, and those that runs have staged in this checkout, which are in its cache.

Functions are traced if they are new or if the definition of their op has changed; with `--all`, each one is. That takes
six minutes with two processes. To add functions, run the quick profile with other seeds first.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from autograd_conformance.ops.catalogue import ROWS
from autograd_conformance.reference.staging import traced
from autograd_conformance.reference.staging.cache import store
from evaluation.traced.tracing import key_of, made


def staged() -> list[str]:
    """Returns the keys of the functions in the cache of this checkout."""
    if not store().path.exists():
        return []
    with sqlite3.connect(store().path) as database:
        return [key for (key,) in database.execute("SELECT key FROM staged")]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.traced", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("--all", action="store_true", help="trace each function, whether its op has changed or not")
    options = parser.parse_args()
    kept = traced.read(traced.FUNCTIONS) if traced.FUNCTIONS.exists() else {}
    wanted: dict[str, set[str]] = defaultdict(set)
    for key in [*staged(), *(key for each in kept.values() for key in each.functions)]:
        name = traced.member(key_of(key))
        if name is not None and traced.op_of(name) in ROWS:
            wanted[name].add(key)
    current = {name: each.functions for name, each in kept.items() if not options.all and each.is_current(name)}
    missing = {name: sorted(keys - current.get(name, {}).keys()) for name, keys in wanted.items()}
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        found = dict(zip(missing, pool.map(made, missing.values()), strict=True))
    members = {name: {**current.get(name, {}), **found[name]} for name in wanted}
    traced.write(traced.FUNCTIONS, members)
    count, new = (sum(map(len, each.values())) for each in (members, found))
    size = traced.FUNCTIONS.stat().st_size / 1e6
    print(f"{count} functions in {len(members)} members, {size:.1f} MB; {new} of them traced now")
    return 0


if __name__ == "__main__":
    sys.exit(main())
