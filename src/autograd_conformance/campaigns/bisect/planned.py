"""Runs a plan of bisections for the command `campaign`: prints the outcome of each version as it arrives, and writes
the Markdown page `bisected.md`.
"""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from autograd_conformance.campaigns.bisect.searches import Searches, StepEvent
from autograd_conformance.campaigns.cluster.engine import Engine
from autograd_conformance.campaigns.execution.view import LINE_SECONDS
from autograd_conformance.reporting.prose import counted, printable, shortened
from autograd_conformance.reporting.render.bisected import STYLES, render_all, table

PAGE = "bisected.md"
"""The file name of the Markdown page about all bisections of a plan."""


def run_searches(searches: Searches, engine: Engine, console: Console) -> None:
    """Runs the steps (one finding's program in one version each) that have no outcome yet on a cluster, and prints
    their outcomes.
    """
    steps = set(searches.plan.steps)
    last_line = time.monotonic()
    with console.status("") as status:
        for event in searches.run(engine):
            if event is not None:
                _print_event(event, console)
            remaining = searches.remaining
            waiting = searches.waiting.describe(engine, (step.resources for step in remaining))
            done = f"{len(steps) - len(remaining):,} of {counted(len(steps), 'verdict')}"
            line = f"{done}; {waiting}" if waiting else done
            if console.is_terminal:
                status.update(printable(line))
            elif time.monotonic() - last_line >= LINE_SECONDS:
                last_line = time.monotonic()
                console.print(line, markup=False, highlight=False, soft_wrap=True)


def _print_event(event: StepEvent, console: Console) -> None:
    console.print(printable(event.step.title), end=": ", markup=False, highlight=False, soft_wrap=True)
    if event.trial is None:
        console.print(
            f"given up: {printable(event.reason)}", style="red", markup=False, highlight=False, soft_wrap=True
        )
        return
    console.print(event.trial.outcome, style=STYLES[event.trial.outcome], end="", highlight=False)
    console.print(f": {shortened(event.trial.detail)}", markup=False, highlight=False, soft_wrap=True)


def write_page(searches: Searches, folder: Path, console: Console) -> bool:
    """Writes the page `bisected.md` and prints its tables. Returns True if no step was given up and each bisection is
    decided.
    """
    found = list(searches.results)
    (folder / PAGE).write_text(render_all(found, searches.missing), encoding="utf-8")
    for each in found:
        console.print(f"\n{printable(each.framework)}: {printable(each.finding)}", markup=False, highlight=False)
        console.print(table(each))
        console.print(printable(each.answer), style="bold", markup=False, highlight=False, soft_wrap=True)
    console.print(f"\npage    {folder / PAGE}", markup=False, highlight=False, soft_wrap=True)
    return not searches.given_up and all(each.is_decided for each in found)
