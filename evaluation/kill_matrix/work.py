"""Splits the matrix's work into tasks, runs them in separate processes, and stores each result at once."""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from evaluation.kill_matrix.rows import append, decode, encode, records
from evaluation.kill_matrix.settings import COMPARED, COMPARED_BY_HAND, QUICK_BUDGET
from evaluation.kill_matrix.summary import Results, RoundFigures, Whole


@dataclass(frozen=True)
class Task:
    """A task: mutants to run the suite on, or a baseline and mutants to run it on."""

    mutants: tuple[str, ...]
    baseline: str | None = None
    budget: float = 0.0


def work(task: Task, folder: Path) -> None:
    """Do a task and append each result to a file at once."""
    warnings.simplefilter("ignore")
    path = folder / f"{os.getpid()}.jsonl"
    if task.baseline is not None:
        _compare(task, path)
        return
    from evaluation.kill_matrix.kills import row

    for mutant in task.mutants:
        append(path, encode(row(mutant)))


def _compare(task: Task, path: Path) -> None:
    from evaluation.baselines.cases import BASELINES
    from evaluation.baselines.comparison import compare, round_of
    from evaluation.mutants import MUTANTS
    from evaluation.mutants.generated import GENERATED

    assert task.baseline is not None
    began = time.process_time()
    made = round_of(BASELINES[task.baseline], task.budget)
    whole = RoundFigures(
        task.baseline,
        made.baseline.what,
        len(made.cases),
        round(made.cost, 1),
        len(made.alarms),
        sorted(frozenset[str]().union(*(ops for ops in made.alarms if len(ops) == 1))),
        round(time.process_time() - began, 1),
    )
    append(path, {"record": "round", **asdict(whole)})
    for name in task.mutants:
        find = compare(made, MUTANTS[name] if name in MUTANTS else GENERATED[name])
        append(path, {"record": "find", "name": name, **asdict(find)})


def tasks(sample: int | None, done: Results) -> list[Task]:
    """The tasks without results: first the kills, handmade mutants before generated ones, then the comparisons, which
    need the compiled reference of all ops.
    """
    from evaluation.baselines import opinfo
    from evaluation.baselines.cases import BASELINES
    from evaluation.baselines.comparison import BUDGET
    from evaluation.mutants import MUTANTS
    from evaluation.mutants.generated import GENERATED
    from evaluation.mutants.mutant import Mutant

    hand, made = _chosen(MUTANTS, sample), _chosen(GENERATED, sample and 2 * sample)
    recorded = [name for name in hand if issubclass(MUTANTS[name], Mutant)]  # the baselines record graphs, too
    compared = (*_every(recorded, COMPARED_BY_HAND), *_every(made, COMPARED)) if sample is None else (*recorded, *made)
    baselines = [name for name in BASELINES if name != "OpInfo" or opinfo.available()]
    if len(baselines) < len(BASELINES):
        Console(stderr=True).print("OpInfo is left out: its database needs the package expecttest")
    done_before = {row.mutant for row in done.rows}
    left = [Task((name,)) for name in hand if name not in done_before]
    rest = [name for name in made if f"mutants/{name}" not in done_before]
    left += [Task(tuple(rest[at : at + 20])) for at in range(0, len(rest), 20)]
    for baseline in baselines:
        mutants = tuple(name for name in compared if (baseline, name) not in done.finds_by_name)
        if mutants:
            left.append(Task(mutants, baseline, QUICK_BUDGET if sample else BUDGET))
    return left


def _chosen(names: Iterable[str], count: int | None) -> list[str]:
    ordered = list(names)
    return ordered if count is None else sorted(ordered, key=_checksum)[:count]


def _every(names: Iterable[str], step: int) -> list[str]:
    return [name for name in names if _checksum(name) % step == 0]


def _checksum(name: str) -> int:
    return zlib.crc32(name.encode())


def read(folder: Path) -> Results:
    """All results in a folder, in an order that does not depend on which process finished first."""
    from evaluation.baselines.cases import BASELINES

    rows, finds, rounds, whole = {}, {}, {}, None
    for record in records(folder):
        kind = record.pop("record")
        match kind:
            case "row":
                row = decode(record)
                rows[row.mutant] = row
            case "find":
                finds[record["baseline"], record["name"]] = record
            case "round":
                rounds[record["baseline"]] = RoundFigures(**record)
            case "whole":
                whole = Whole(**record)
    ordered = sorted(rows.values(), key=lambda row: (row.generated, row.own, row.mutant))
    return Results(tuple(ordered), finds, {name: rounds[name] for name in BASELINES if name in rounds}, whole)


def run(left: Sequence[Task], jobs: int, folder: Path) -> None:
    """Do tasks in separate processes."""
    context = multiprocessing.get_context("spawn")
    with (
        Progress(console=Console(stderr=True), transient=True) as progress,
        ProcessPoolExecutor(jobs, mp_context=context) as pool,
    ):
        bar = progress.add_task("killing and comparing", total=len(left))
        for future in as_completed([pool.submit(work, task, folder) for task in left]):
            future.result()
            progress.advance(bar)
