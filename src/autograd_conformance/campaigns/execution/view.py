"""The view of a campaign while it runs: a table that is drawn anew on a terminal, and lines now and then elsewhere."""

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
from autograd_conformance.campaigns.execution.events import Confirmed, Event, Found, Trouble
from autograd_conformance.campaigns.execution.progress import Row
from autograd_conformance.campaigns.execution.results import ALONE
from autograd_conformance.reporting.analysis.verdicts import THRESHOLD
from autograd_conformance.reporting.prose import counted, duration, shortened
from autograd_conformance.reporting.render.failures import cause_title, severity_name

ELSEWHERE = 30.0
"""Seconds between two lines where nothing can be drawn anew."""

ON_TERMINAL = 0.5
"""Seconds between two drawings."""


class View:
    """What is seen of a campaign."""

    def __init__(self, campaign: Campaign, engine: Engine, console: Console) -> None:
        self.campaign, self.engine, self.console = campaign, engine, console
        self.begun = self.said = time.monotonic()
        self.kept = sum(row.programs for row in campaign.rows)
        """How many programs had been judged before this command began."""
        self.part = self._part()
        """Which part of the campaign had been done then."""
        self.live: Live | None = None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Draw it while the campaign goes on."""
        if not self.console.is_terminal:
            self.console.print(self.place(), markup=False, highlight=False, soft_wrap=True)
            yield
            return
        with Live(self.drawn(), console=self.console, auto_refresh=False, transient=True) as self.live:
            yield

    def tell(self, event: Event | None) -> None:
        """Say what happened, and how far the campaign is where it is time to."""
        if event is not None:
            self.console.print(_told(event), soft_wrap=True)
        now = time.monotonic()
        if now - self.said >= (ON_TERMINAL if self.live else ELSEWHERE):
            self.said = now
            if self.live:
                self.live.update(self.drawn(), refresh=True)
            else:
                self.console.print(self.line(), highlight=False, soft_wrap=True)

    def drawn(self) -> Group:
        """The table, with a line above that says where, and one below that sums up."""
        table = Table(box=None, highlight=False)
        for name in ("series", "shards", "under way", "programs", "a second", "failing"):
            table.add_column(name, justify="left" if name == "series" else "right", overflow="fold")
        for row in self.campaign.rows:
            table.add_row(*self._cells(row), style="red" if row.stopped else None)
        return Group(Text(self.place()), table, Text(self.line()))

    def place(self) -> str:
        """Where it is kept, and who works on it."""
        workers = counted(len(self.engine.workers), "worker")
        return ", ".join(filter(None, (self.campaign.storage.url, workers, self.engine.dashboard)))

    def _cells(self, row: Row) -> list[str]:
        amount = self.campaign.plan.amount
        of = "" if amount.shards is None else f" of {amount.shards:,}"
        part = row.part(amount)
        share = f" ({part:.0%})" if amount.programs is not None and part is not None else ""
        rate = f"{row.programs / row.seconds:,.0f}" if row.seconds else ""
        failing = f"{row.failing:,}" + (f", {len(row.given_up):,} given up" if row.given_up else "")
        counts = [f"{len(row.done):,}{of}", f"{len(row.running):,}", f"{row.programs:,}{share}"]
        return [shortened(row.series.title, 60), *counts, rate, failing]

    def line(self) -> str:
        """How far the campaign is, in one line."""
        sums, seconds = self.campaign.sums.values(), time.monotonic() - self.begun
        rows, of = self.campaign.rows, self.campaign.plan.amount.shards
        done, running = (sum(map(len, some)) for some in ([row.done for row in rows], [row.running for row in rows]))
        programs = sum(row.programs for row in rows)
        tested = {rule for each in sums for rule, times in each.exercised.items() if times >= THRESHOLD}
        shards = counted(done, "shard") if of is None else f"{done:,} of {counted(of * len(rows), 'shard')}"
        parts = [
            f"{shards}, {running:,} under way",
            f"{counted(programs, 'program')}, {(programs - self.kept) / max(seconds, 1e-9):,.0f} a second",
            f"{counted(self.campaign.causes, 'cause')} of failures",
            f"{counted(len(tested), 'rule')} tested, {sum(each.covered for each in sums):,} cells of coverage",
        ]
        left = self.left(seconds)
        parts += [f"about {duration(left)} left"] if left is not None else []
        return "; ".join(filter(None, [*parts, self.campaign.waiting.told(self.engine, self.campaign.needs())]))

    def left(self, seconds: float) -> float | None:
        """About how many seconds it takes yet: as fast as until now, or until the limit."""
        if self.campaign.plan.amount.hours is not None:
            return self.campaign.hours.left
        part = self._part()
        return seconds * (1 - part) / (part - self.part) if part > self.part else None

    def _part(self) -> float:
        parts = [row.part(self.campaign.plan.amount) or 0.0 for row in self.campaign.rows]
        return sum(parts) / len(parts)


def _told(event: Event) -> Text:
    match event:
        case Found(cause, header):
            about = f"{header.framework.title}: {cause_title(cause)}: {severity_name(cause)}"
            text = f"new: {about}: {shortened(cause.shown.observed)}"
            return Text(text, style="bold red")
        case Confirmed(failure, again):
            return Text(f"alone: {failure.rule}: {ALONE[again.verdict]}")
        case Trouble(said):
            return Text(said, style="red")
        case _:
            assert_never(event)
