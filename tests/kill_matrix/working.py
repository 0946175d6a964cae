"""The work behind the matrix: what there is to do, done in processes of their own, each result written down at once."""

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

from tests.kill_matrix.rows import append, decode, encode, records
from tests.kill_matrix.settings import QUICK_BUDGET, RACED, RACED_BY_HAND
from tests.kill_matrix.summary import Results, Round, Whole


@dataclass(frozen=True)
class Task:
    """A piece of work: members to hunt, or members to race a rival on."""

    members: tuple[str, ...]
    rival: str | None = None
    budget: float = 0.0


def work(task: Task, folder: Path) -> None:
    """Do a task; each result is written down at once."""
    warnings.simplefilter("ignore")
    path = folder / f"{os.getpid()}.jsonl"
    if task.rival is not None:
        _race(task, path)
        return
    from tests.kill_matrix.hunts import row

    for member in task.members:
        append(path, encode(row(member)))


def _race(task: Task, path: Path) -> None:
    from tests.baselines.cases import RIVALS
    from tests.baselines.race import lap, race
    from tests.mutants import ZOO
    from tests.mutants.generated import GENERATED

    assert task.rival is not None
    began = time.process_time()
    made = lap(RIVALS[task.rival], task.budget)
    whole = Round(
        task.rival,
        made.rival.what,
        len(made.cases),
        round(made.cost, 1),
        len(made.alarms),
        sorted(frozenset[str]().union(*(ops for ops in made.alarms if len(ops) == 1))),
        round(time.process_time() - began, 1),
    )
    append(path, {"record": "lap", **asdict(whole)})
    for name in task.members:
        find = race(made, ZOO[name] if name in ZOO else GENERATED[name])
        append(path, {"record": "find", "name": name, **asdict(find)})


def tasks(sample: int | None, done: Results) -> list[Task]:
    """What is left to do: the hunts, the long ones first, then the races, for which all of the reference is staged."""
    from tests.baselines import opinfo
    from tests.baselines.cases import RIVALS
    from tests.baselines.race import BUDGET
    from tests.mutants import ZOO
    from tests.mutants.generated import GENERATED

    hand, made = _chosen(ZOO, sample), _chosen(GENERATED, sample and 2 * sample)
    raced = (*_every(hand, RACED_BY_HAND), *_every(made, RACED)) if sample is None else (*hand, *made)
    rivals = [name for name in RIVALS if name != "OpInfo" or opinfo.available()]
    if len(rivals) < len(RIVALS):
        Console(stderr=True).print("OpInfo is left out: its database needs the package expecttest")
    hunted = {row.member for row in done.rows}
    left = [Task((name,)) for name in hand if name not in hunted]
    rest = [name for name in made if f"zoo/{name}" not in hunted]
    left += [Task(tuple(rest[at : at + 20])) for at in range(0, len(rest), 20)]
    for rival in rivals:
        members = tuple(name for name in raced if (rival, name) not in done.finds_by_name)
        if members:
            left.append(Task(members, rival, QUICK_BUDGET if sample else BUDGET))
    return left


def _chosen(names: Iterable[str], count: int | None) -> list[str]:
    ordered = list(names)
    return ordered if count is None else sorted(ordered, key=_checksum)[:count]


def _every(names: Iterable[str], step: int) -> list[str]:
    return [name for name in names if _checksum(name) % step == 0]


def _checksum(name: str) -> int:
    return zlib.crc32(name.encode())


def read(folder: Path) -> Results:
    """Everything that a folder holds, in an order that says nothing of which process was done first."""
    from tests.baselines.cases import RIVALS

    rows, finds, laps, whole = {}, {}, {}, None
    for record in records(folder):
        kind = record.pop("record")
        match kind:
            case "row":
                row = decode(record)
                rows[row.member] = row
            case "find":
                finds[record["rival"], record["name"]] = record
            case "lap":
                laps[record["rival"]] = Round(**record)
            case "whole":
                whole = Whole(**record)
    ordered = sorted(rows.values(), key=lambda row: (row.generated, row.own, row.member))
    return Results(tuple(ordered), finds, {name: laps[name] for name in RIVALS if name in laps}, whole)


def run(left: Sequence[Task], jobs: int, folder: Path) -> None:
    """Do tasks in processes of their own."""
    context = multiprocessing.get_context("spawn")
    with (
        Progress(console=Console(stderr=True), transient=True) as progress,
        ProcessPoolExecutor(jobs, mp_context=context) as pool,
    ):
        bar = progress.add_task("hunting", total=len(left))
        for future in as_completed([pool.submit(work, task, folder) for task in left]):
            future.result()
            progress.advance(bar)
