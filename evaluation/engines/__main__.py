"""`python -m evaluation.engines OUT --engine mygrad --sample 80 --seed 0`: makes mutants of an engine's source text,
judges a sample of them, and writes a line of JSON for each to OUT.

The programs of a whole run are drawn once. Mutants that OUT has already are skipped. With `--tests FOLDER`, the folder
that has the engine's own `tests`, these judge each mutant too, in place of the programs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from evaluation.engines.engine import ENGINES, Engine
from evaluation.engines.hunt import hunt
from evaluation.engines.mutant import copy
from evaluation.engines.mutation import Mutation, places, sample
from evaluation.engines.own_tests import run
from evaluation.engines.programs import Programs
from evaluation.mutants.probes import QUICK

LIMIT = 300
"""CPU seconds for one mutant."""

Judge = Callable[[Mutation], Mapping[str, Any]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.engines", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="the file for the results")
    parser.add_argument("--engine", choices=ENGINES, default="mygrad", help="the engine (default: mygrad)")
    parser.add_argument("--sample", type=int, default=80, metavar="N", help="number of mutants (default: 80)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the sample and of the programs")
    parser.add_argument("--examples", type=int, default=QUICK, metavar="N", help=f"programs per rule ({QUICK})")
    parser.add_argument("--limit", type=int, default=LIMIT, metavar="N", help=f"CPU seconds per mutant ({LIMIT})")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="mutants at a time (default: 1)")
    parser.add_argument("--tests", type=Path, metavar="FOLDER", help="run the engine's own tests in this folder")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    engine = ENGINES[options.engine]
    chosen = list(chosen_of(engine, options.sample, options.seed))
    done = {_key(line) for line in _lines(options.out)}
    left = [mutation for mutation in chosen if _key(asdict(mutation)) not in done]
    print(f"{len(chosen)} mutants, {len(left)} to judge", flush=True)
    if options.tests:
        judge: Judge = partial(_by_own_tests, engine, options.tests, options.limit)
    else:
        judge = _by_programs(engine, options.examples, options.seed, options.limit)
    with options.out.open("a") as out, ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(judge, left):
            print(json.dumps(found), file=out, flush=True)
            where = f"{found['file']}:{found['line']}"
            print(f"{found['outcome']:14} {where:45} {found['seconds']:6.1f} s  {found['test'] or ''}", flush=True)
    outcomes = [line["outcome"] for line in _lines(options.out)]
    print(f"{sum(outcome != 'survived' for outcome in outcomes)} of {len(outcomes)} killed")
    return 0


def chosen_of(engine: Engine, size: int, seed: int) -> Iterator[Mutation]:
    """Yields a sample of mutations of the engine's files, and of each file that was added later its share."""
    texts = _texts(engine, engine.mutated_files())
    yield from sample(texts, size, seed)
    count = sum(places(file, text) for file, text in texts.items())
    for file, text in _texts(engine, engine.added).items():
        yield from sample({file: text}, round(size * places(file, text) / count), seed)


def _texts(engine: Engine, files: Iterable[str]) -> dict[str, str]:
    return {file: (engine.folder / file).read_text(encoding="utf-8") for file in files}


def _by_programs(engine: Engine, examples: int, seed: int, limit: int) -> Judge:
    """Draws the programs, and returns a function that judges a mutant with them."""
    began = time.process_time()
    programs = Programs.draw(engine.name, examples, seed)
    print(f"{programs.count} programs drawn in {time.process_time() - began:.0f} CPU seconds", flush=True)
    return lambda mutation: asdict(hunt(engine, mutation, programs, limit))


def _by_own_tests(engine: Engine, tests: Path, limit: int, mutation: Mutation) -> Mapping[str, Any]:
    """Judges a mutant with the engine's own tests."""
    with tempfile.TemporaryDirectory() as folder:
        copy(engine, mutation, Path(folder))
        found = run(Path(folder), tests, engine.own_tests(mutation.file), engine.deselected, limit)
    made = {name: getattr(mutation, name) for name in ("file", "line", "operator", "occurrence")}
    return made | asdict(found)


def _key(line: Mapping[str, Any]) -> tuple[str, str, int]:
    return line["file"], line["operator"], line["occurrence"]


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


if __name__ == "__main__":
    sys.exit(main())
