"""`python -m evaluation.vectors VECTORS OUT`: answers vectors with each mutant of eager PyTorch, and writes a
line of JSON for each mutant: whether arithmetic alone and the judge find it. Mutants that OUT has are left out.

Each mutant runs in a forked process, since some leave PyTorch changed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.frameworks.running.regions import has_regions
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats import codec, observation_codec
from autograd_conformance.programs.language import Program
from autograd_conformance.vectors.file import lines_of
from evaluation.mutants import MUTANTS
from evaluation.mutants.kill import TORCH
from evaluation.vectors.arithmetic import first_wrong

FIRST_GRADIENTS = 2
"""The level of the vectors of single ops."""

Json = Any


class Case(NamedTuple):
    """A vector: its program, and the outcome that it expects of each instruction."""

    program: Program
    expected: list[Json]


def read(path: Path) -> list[Case]:
    """Reads a file of vectors. Those of single ops, which are most and alike, come last."""
    forms = sorted(map(json.loads, lines_of(path)[1:]), key=lambda form: form["level"] <= FIRST_GRADIENTS)
    return [Case(codec.from_json(each["program"], VOCABULARY), each["expected"]) for each in forms]


def find(name: str, cases: list[Case]) -> dict[str, Json]:
    """Answers vectors with a mutant until arithmetic and the judge have found it, each with the number of vectors."""
    warnings.simplefilter("ignore")
    target = InProcess(MUTANTS[name]("cpu"))
    check = Check(target, known=TORCH)
    arithmetic = judge = None
    for number, case in enumerate(cases, 1):
        if arithmetic is None:
            wrong = first_wrong(observation_codec.to_json(target.observe(case.program)), case.expected)
            arithmetic = number if wrong else None
        if judge is None:
            try:
                check(case.program)
            except RuleViolated:
                judge = number
        if arithmetic and judge:
            break
    return {"mutant": name, "killed_by": MUTANTS[name].killed_by, "arithmetic": arithmetic, "judge": judge}


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.vectors", description=__doc__)
    parser.add_argument("vectors", type=Path, metavar="VECTORS")
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    options = parser.parse_args()
    names = [each for each, made in MUTANTS.items() if made.framework == "torch" and not has_regions(made("cpu"))]
    random.Random(0).shuffle(names)  # a part of them is a sample
    found = list(map(json.loads, options.out.read_text().splitlines())) if options.out.exists() else []
    left = [name for name in names if name not in {each["mutant"] for each in found}]
    context = multiprocessing.get_context("fork")
    work = partial(find, cases=read(options.vectors))
    with options.out.open("a") as out, context.Pool(options.jobs, maxtasksperchild=1) as pool:
        for each in pool.imap_unordered(work, left):
            found.append(each)
            print(json.dumps(each), file=out, flush=True)
    for by in ("arithmetic", "judge"):
        print(f"{by}: {sum(each[by] is not None for each in found)} of {len(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
