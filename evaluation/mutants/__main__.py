"""`python -m evaluation.mutants [NAME ...]`: runs the suite's tests on mutants and prints which test kills each."""

from __future__ import annotations

import statistics
import sys

from rich.console import Console
from rich.progress import track
from rich.table import Table

from evaluation.mutants import MUTANTS
from evaluation.mutants.kill import Kill, kill
from evaluation.mutants.mutant import Mutant

COLUMNS = ("mutant", "killed by", "test", "programs", "instructions", "seconds")


def main(names: list[str]) -> int:
    """Try to kill the mutants of these names, or all; returns 1 if one survived or was killed by another rule."""
    console = Console(width=150, highlight=False)
    mutants = {name: MUTANTS[name] for name in names or MUTANTS}
    killed: dict[str, Kill | None] = {}
    for name, mutant in track(mutants.items(), "killing", console=Console(stderr=True), transient=True):
        killed[name] = kill(mutant)
    table = Table(*COLUMNS, box=None)
    for name, found in killed.items():
        table.add_row(name.removeprefix("mutants/"), *_cells(found, mutants[name].killed_by))
    console.print(table)
    sizes = [len(found.program) for found in killed.values() if found]
    middle, most = (statistics.median(sizes), max(sizes)) if sizes else (0, 0)
    console.print(f"{len(sizes)} of {len(killed)} killed; instructions: median {middle:g}, most {most}")
    odd = {name: found for name, found in killed.items() if not _as_expected(found, mutants[name])}
    for name, found in odd.items():
        console.print(f"\n{name}: {mutants[name].fault}", style="bold")
        said = f"{found.rule}, {found.violation.observed_text()}\n{found.text}" if found else "not killed"
        console.print(said, markup=False)
    return 1 if odd else 0


def _as_expected(found: Kill | None, mutant: type[Mutant]) -> bool:
    return found is not None and found.rule in mutant.killed_by and len(found.program) <= mutant.longest


def _cells(found: Kill | None, expected: tuple[str, ...]) -> list[str]:
    if found is None:
        return ["[red]not killed", "", "", "", ""]
    rule = found.rule if found.rule in expected else f"[yellow]{found.rule}"
    flaky = " (flaky)" if found.flaky else ""
    test = found.test.replace("[", r"\[")
    return [rule + flaky, test, f"{found.programs}", f"{len(found.program)}", f"{found.seconds:.1f}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
