"""`python -m evaluation.frozen CAPTURE OUT`: judges every captured program on PyTorch, and some of them on faulty
frameworks, and writes the judgements to OUT. `python -m evaluation.frozen --compare OLD NEW` lists the differences.

A capture is made with `evaluation.frozen.capture`. Compare the judgements before and after a change that must not alter
any verdict.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Any

from autograd_conformance.reporting.records.renamed_rules import RENAMED
from evaluation.frozen.judgements import Freezer, lines
from evaluation.mutants import FAMILIES, mutants_of

EACH = 2
"""Number of faulty frameworks of each family."""
PROGRAMS = 400
"""Number of programs for each faulty framework."""


def frozen_mutants() -> list[tuple[str, tuple[str, ...]]]:
    """Faulty frameworks, with the families of the rules that may report their faults."""
    chosen = [m for family in FAMILIES for m in [m for m in mutants_of(family) if not m.flaky][:EACH]]
    return [
        (f"{m.__module__}:{m.__name__}", tuple(dict.fromkeys(r.partition("/")[0] for r in m.killed_by))) for m in chosen
    ]


def freeze(capture: Path, out: Path, share: tuple[int, int], most: int = PROGRAMS) -> None:
    """Write the judgements of captured programs, a line each, to one file for each framework."""
    out.mkdir(parents=True, exist_ok=True)
    programs = list(lines(capture))
    part, parts = share
    jobs: list[tuple[str, list[Any]]] = [("torch", programs[k::6]) for k in range(6)]
    for name, families in frozen_mutants():
        near = [line for line in programs if line["suite"] in families][:most]
        jobs.append((name, near + programs[:: max(1, len(programs) // most)]))
    for number, (name, chosen) in enumerate(jobs):
        if number % parts != part:
            continue
        freezer = Freezer(name)
        with (out / f"{number:03}.jsonl").open("w", encoding="utf-8") as stream:
            for line in chosen:
                stream.write(json.dumps(freezer.line(line)) + "\n")
        freezer.restore()
        print(f"{number + 1} of {len(jobs)}: {name.rpartition('.')[2]}, {len(chosen)} programs", flush=True)


def compare(old: Path, new: Path, most: int) -> int:
    """Print the differences between two freezes; returns 1 if there are any."""
    differing, compared = 0, 0
    for path in sorted(old.glob("*.jsonl")):
        mine, its = path.open(encoding="utf-8"), (new / path.name).open(encoding="utf-8")
        for number, (a, b) in enumerate(itertools.zip_longest(mine, its)):
            compared += 1
            before, after = comparable(modern(a)), comparable(b)
            if before != after:
                differing += 1
                if differing <= most:
                    _show(f"{path.name}:{number + 1}", before, after)
    print(f"{compared} compared, {differing} differ")
    return int(bool(differing))


def modern(line: str | None) -> str | None:
    """A line of an older freeze with the current slugs of rules."""
    for old, new in RENAMED.items():
        line = line and line.replace(old, new)
    return line


def comparable(line: str | None) -> Any:
    """A line as data, without the paths and commands of the machine."""
    form = json.loads(line or "null")
    for where in ("command", "replay"):
        ((form or {}).get("told") or {}).pop(where, None)
    return form


def _show(where: str, a: Any, b: Any, name: str = "") -> None:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(set(a) | set(b)):
            if a.get(key) != b.get(key):
                _show(where, a.get(key), b.get(key), f"{name}.{key}")
    else:
        print(f"{where}{name}:\n  - {a}\n  + {b}")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=Path, help="a capture, or with --compare the older freeze")
    parser.add_argument("second", type=Path, help="the output folder of the freeze, or with --compare the newer freeze")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--part", default="0/1", help="which part of the work to do, such as 0/2 or 1/2")
    parser.add_argument("--most", type=int, default=20, help="largest number of differences to print")
    parser.add_argument("--programs", type=int, default=PROGRAMS, help="number of programs for each faulty framework")
    given = parser.parse_args()
    if given.compare:
        return compare(given.first, given.second, given.most)
    part, _, parts = given.part.partition("/")
    freeze(given.first, given.second, (int(part), int(parts)), given.programs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
