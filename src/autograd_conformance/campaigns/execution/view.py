"""The display of a running campaign: a live table on a terminal, or else a line now and then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import assert_never

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from autograd_conformance.campaigns.cluster.engine import Engine
from autograd_conformance.campaigns.execution.campaign import Campaign
from autograd_conformance.campaigns.execution.events import Event, NewCause, Replayed, Trouble
from autograd_conformance.campaigns.execution.progress import SeriesProgress
from autograd_conformance.campaigns.execution.results import REPLAY_TEXT
from autograd_conformance.reporting.analysis.verdicts import THRESHOLD
from autograd_conformance.reporting.prose import counted, duration, shortened
from autograd_conformance.reporting.render.failures import cause_title, severity_name

LINE_SECONDS = 30.0
"""Seconds between two lines with the progress of the campaign if the output is no terminal."""

DRAW_SECONDS = 0.5
"""Smallest number of seconds between two updates of the table on a terminal."""


class View:
    """Shows a running campaign: a live table on a terminal, or else a line now and then."""

    def __init__(self, campaign: Campaign, engine: Engine, console: Console) -> None:
        self.campaign, self.engine, self.console = campaign, engine, console
        self.begun = self.last_line = time.monotonic()
        self.programs_before = sum(row.programs for row in campaign.progress)
        """Number of programs that were judged before this command was started."""
        self.fraction = self._fraction()
        """Fraction of the campaign that was done before this command was started."""
        self.live: Live | None = None

    @contextmanager
    def display(self) -> Iterator[None]:
        """Shows the table on a terminal while the campaign runs, or else prints a line about the storage and the
        workers.
        """
        if not self.console.is_terminal:
            self.console.print(self.location(), markup=False, highlight=False, soft_wrap=True)
            yield
            return
        with Live(self.table(), console=self.console, auto_refresh=False, transient=True) as self.live:
            yield

    def report(self, event: Event | None) -> None:
        """Prints an event, if there is one, and updates the table or prints a line if it is time to."""
        if event is not None:
            self.console.print(_event_text(event), soft_wrap=True)
        now = time.monotonic()
        if now - self.last_line >= (DRAW_SECONDS if self.live else LINE_SECONDS):
            self.last_line = now
            if self.live:
                self.live.update(self.table(), refresh=True)
            else:
                self.console.print(self.line(), highlight=False, soft_wrap=True)

    def table(self) -> Group:
        """Returns the table of all series, with a line about storage and workers above and a summary below."""
        table = Table(box=None, highlight=False)
        for name in ("series", "shards", "running", "programs", "a second", "failing"):
            table.add_column(name, justify="left" if name == "series" else "right", overflow="fold")
        for row in self.campaign.progress:
            table.add_row(*self._cells(row), style="red" if row.stop_reason else None)
        return Group(Text(self.location()), table, Text(self.line()))

    def location(self) -> str:
        """Returns the storage, the number of workers and the dashboard in one line."""
        workers = counted(len(self.engine.workers), "worker")
        return ", ".join(filter(None, (self.campaign.storage.url, workers, self.engine.dashboard)))

    def _cells(self, row: SeriesProgress) -> list[str]:
        amount = self.campaign.plan.amount
        of = "" if amount.shards is None else f" of {amount.shards:,}"
        fraction = row.fraction(amount)
        share = f" ({fraction:.0%})" if amount.programs is not None and fraction is not None else ""
        rate = f"{row.programs / row.seconds:,.0f}" if row.seconds else ""
        failing = f"{row.failing:,}" + (f", {len(row.given_up):,} given up" if row.given_up else "")
        counts = [f"{len(row.done):,}{of}", f"{len(row.running):,}", f"{row.programs:,}{share}"]
        return [shortened(row.series.title, 60), *counts, rate, failing]

    def line(self) -> str:
        """Returns the progress of the campaign in one line."""
        sums, seconds = self.campaign.merged.values(), time.monotonic() - self.begun
        rows, of = self.campaign.progress, self.campaign.plan.amount.shards
        done, running = (sum(map(len, some)) for some in ([row.done for row in rows], [row.running for row in rows]))
        programs = sum(row.programs for row in rows)
        tested = {rule for each in sums for rule, times in each.exercised.items() if times >= THRESHOLD}
        shards = counted(done, "shard") if of is None else f"{done:,} of {counted(of * len(rows), 'shard')}"
        parts = [
            f"{shards}, {running:,} running",
            f"{counted(programs, 'program')}, {(programs - self.programs_before) / max(seconds, 1e-9):,.0f} a second",
            f"{counted(self.campaign.causes, 'cause')} of failures",
            f"{counted(len(tested), 'rule')} tested, {sum(each.covered for each in sums):,} cells of coverage",
        ]
        seconds_left = self.seconds_left(seconds)
        parts += [f"about {duration(seconds_left)} left"] if seconds_left is not None else []
        return "; ".join(filter(None, [*parts, self.campaign.waiting.describe(self.engine, self.campaign.needs())]))

    def seconds_left(self, seconds: float) -> float | None:
        """Returns estimated seconds until the end, at the present speed or until the time limit; None if unknown."""
        if self.campaign.plan.amount.hours is not None:
            return self.campaign.time_limit.left
        fraction = self._fraction()
        return seconds * (1 - fraction) / (fraction - self.fraction) if fraction > self.fraction else None

    def _fraction(self) -> float:
        parts = [row.fraction(self.campaign.plan.amount) or 0.0 for row in self.campaign.progress]
        return sum(parts) / len(parts)


def _event_text(event: Event) -> Text:
    match event:
        case NewCause(cause, header):
            about = f"{header.framework.title}: {cause_title(cause)}: {severity_name(cause)}"
            text = f"new: {about}: {shortened(cause.shown.observed)}"
            return Text(text, style="bold red")
        case Replayed(failure, result):
            return Text(f"replayed: {failure.rule}: {REPLAY_TEXT[result.verdict]}")
        case Trouble(message):
            return Text(message, style="red")
        case _:
            assert_never(event)
