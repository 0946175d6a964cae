"""`python -m tests.mutants [NAME ...]`: hunts each member and prints what it took to catch it."""

from __future__ import annotations

import statistics
import sys

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.mutants import ZOO
from tests.mutants.hunting import Catch, hunt
from tests.mutants.kit import Member

COLUMNS = ("member", "caught by", "test", "programs", "instructions", "seconds")


def main(names: list[str]) -> int:
    """Hunt the members of these names (all where there are none); 1 if one was not caught as it should be."""
    console = Console(width=150, highlight=False)
    members = {name: ZOO[name] for name in names or ZOO}
    caught: dict[str, Catch | None] = {}
    for name, member in track(members.items(), "hunting", console=Console(stderr=True), transient=True):
        caught[name] = hunt(member)
    table = Table(*COLUMNS, box=None)
    for name, catch in caught.items():
        table.add_row(name.removeprefix("zoo/"), *_cells(catch, members[name].caught_by))
    console.print(table)
    sizes = [len(catch.program) for catch in caught.values() if catch]
    middle, most = (statistics.median(sizes), max(sizes)) if sizes else (0, 0)
    console.print(f"{len(sizes)} of {len(caught)} caught; instructions: median {middle:g}, most {most}")
    odd = {name: catch for name, catch in caught.items() if not _as_expected(catch, members[name])}
    for name, catch in odd.items():
        console.print(f"\n{name}: {members[name].lie}", style="bold")
        said = f"{catch.rule}, {catch.violation.observed}\n{catch.text}" if catch else "not caught"
        console.print(said, markup=False)
    return 1 if odd else 0


def _as_expected(catch: Catch | None, member: type[Member]) -> bool:
    return catch is not None and catch.rule in member.caught_by and len(catch.program) <= member.longest


def _cells(catch: Catch | None, expected: tuple[str, ...]) -> list[str]:
    if catch is None:
        return ["[red]not caught", "", "", "", ""]
    rule = catch.rule if catch.rule in expected else f"[yellow]{catch.rule}"
    flaky = " (flaky)" if catch.flaky else ""
    test = catch.test.replace("[", r"\[")
    return [rule + flaky, test, f"{catch.programs}", f"{len(catch.program)}", f"{catch.seconds:.1f}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
