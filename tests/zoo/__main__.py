"""`python -m tests.zoo [NAME ...]`: hunts each member and prints what it took to catch it."""

from __future__ import annotations

import statistics
import sys

from rich.console import Console
from rich.table import Table

from tests.zoo import ZOO
from tests.zoo.hunting import Catch, hunt

COLUMNS = ("member", "caught by", "test", "programs", "instructions", "seconds")


def main(names: list[str]) -> int:
    """Hunt the members of these names (all where there are none); 1 if one was not caught, or by an unexpected rule."""
    console = Console(width=150, highlight=False)
    members = {name: ZOO[name] for name in names or ZOO}
    caught = {}
    for name, member in members.items():
        try:
            caught[name] = hunt(member)
        except Exception as e:
            print("ERR", name, type(e).__name__, str(e)[:300]); caught[name]=None
    table = Table(*COLUMNS, box=None)
    for name, catch in caught.items():
        table.add_row(name.removeprefix("zoo/"), *_cells(catch, members[name].caught_by))
    console.print(table)
    sizes = [len(catch.program) for catch in caught.values() if catch]
    if sizes:
        console.print(f"{len(sizes)} of {len(caught)} caught; instructions: median {statistics.median(sizes)}, most {max(sizes)}")
    odd = {n: c for n, c in caught.items() if c is None or c.rule not in members[n].caught_by or len(c.program) > 8}
    for name, catch in odd.items():
        console.print(f"\n{name}: {members[name].lie}", style="bold")
        console.print("not caught" if catch is None else f"{catch.rule}, {catch.violation.observed}\n{catch.text}", markup=False)
    return 1 if any(c is None or c.rule not in members[n].caught_by for n, c in odd.items()) else 0


def _cells(catch: Catch | None, expected: tuple[str, ...]) -> list[str]:
    if catch is None:
        return ["[red]not caught", "", "", "", ""]
    rule = catch.rule if catch.rule in expected else f"[yellow]{catch.rule}"
    flaky = " (flaky)" if catch.flaky else ""
    return [rule + flaky, catch.test.replace("[", r"\["), f"{catch.programs}", f"{len(catch.program)}", f"{catch.seconds:.1f}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
