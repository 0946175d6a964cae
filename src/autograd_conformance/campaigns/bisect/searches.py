"""Searches over a plan's versions: which steps are run yet, and what those that were come to.

Every version is tried, whatever came of the others: so a finding that began, ended and began again is told as such, and
where there are as many workers as versions it takes no longer than one of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from autograd_conformance.campaigns.bisect.outcome import Trial, bisected
from autograd_conformance.campaigns.bisect.plan import Search, SearchPlan
from autograd_conformance.campaigns.bisect.step import VERDICTS, Step, from_json
from autograd_conformance.campaigns.bisect.work import Tried, try_step
from autograd_conformance.campaigns.cluster.engine import Ended, Engine
from autograd_conformance.campaigns.cluster.waiting import Waiting
from autograd_conformance.campaigns.execution.progress import TRIES
from autograd_conformance.campaigns.shards.work import NotDone
from autograd_conformance.campaigns.storage.sharing import Sharing
from autograd_conformance.campaigns.storage.storage import Storage, StorageError
from autograd_conformance.reporting.render.bisected import Bisected


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a step: a trial, or, where it could not be had, why."""

    step: Step
    trial: Trial | None
    said: str = ""


class Searches:
    """What a plan's searches come to, as steps end."""

    def __init__(self, plan: SearchPlan, storage: Storage, suite: str, waiting: Waiting | None = None) -> None:
        self.plan, self.storage, self.suite = plan, storage, suite
        self.waiting = waiting or Waiting()
        self.trials: dict[Step, Trial] = {}
        """What came of steps."""
        self.given_up: dict[Step, str] = {}
        """Steps that could not be had, and why."""
        self._tried: Counter[Step] = Counter()
        """How often steps were tried in vain."""
        self._lacking: set[object] = set()
        """The environments that workers were found to lack, as often as it takes to give up."""
        self._refusers: defaultdict[object, set[str]] = defaultdict(set)
        """The addresses of workers that lack an environment, or the suite: others have its next step, where there are
        any.
        """
        self._sharing = Sharing(storage)

    def take_up(self) -> int:
        """Count what is kept; how many verdicts that were."""
        steps = {step.name: step for step in self.plan.steps}
        there = [name for name in self.storage.names(VERDICTS) if name in steps]
        for name, data in self.storage.read_all(there).items():
            try:
                self.trials[steps[name]] = from_json(data)
            except ValueError as error:
                raise StorageError(
                    f"{self.storage.url}: {name} cannot be read: {error}; remove it, and the step is run again"
                ) from None
        return len(there)

    def go_on(self, engine: Engine) -> Iterator[Came | None]:
        """Run what is to be run yet; what came of it, and now and then nothing.

        `StorageError`, `NoCluster`, `NoWorkers`.
        """
        try:
            for step in dict.fromkeys(self.plan.steps):
                if step not in self.trials:
                    self._begin(engine, step)
            while engine.busy:
                for ended in engine.wait(0.5):
                    yield from self._ended(ended, engine)
                self.waiting.look(engine, (step.resources for step in self.left))
                yield None
        finally:
            engine.stop()

    def _begin(self, engine: Engine, step: Step) -> None:
        engine.begin(
            step, try_step, step, self.storage, self.suite,
            resources=step.resources, first=False, apart_from=self._refusers[step.environment],
        )  # fmt: skip

    def _ended(self, ended: Ended, engine: Engine) -> Iterator[Came]:
        step: Step = ended.task
        match ended.answer:
            case Tried(trial=trial, worker=worker, kept=kept):
                if kept:
                    self._sharing.see(step.name, worker)
                self.trials[step] = trial
                yield Came(step, trial)
            case NotDone(why="storage", said=said, worker=worker):
                raise StorageError(f"{said} (on {worker})")
            case NotDone(why=why, said=said, worker=worker) as not_done:
                if not_done.is_of_worker:
                    self._refusers[step.environment].add(ended.at)
                yield from self._in_vain(step, f"{said} (on {worker})", engine, lacking=why == "lacking")
            case _ if ended.how == "failed":
                yield from self._in_vain(step, ended.said, engine, lacking=False)
            case _:  # lost with its scheduler
                self._begin(engine, step)

    def _in_vain(self, step: Step, said: str, engine: Engine, *, lacking: bool) -> Iterator[Came]:
        """Have a step tried again, by whichever worker is free, or give it up."""
        self._tried[step] += 1
        if self._tried[step] < TRIES and not (lacking and step.environment in self._lacking):
            self._begin(engine, step)
            return
        if lacking:
            self._lacking.add(step.environment)
        self.given_up[step] = said
        yield Came(step, None, said)

    @property
    def results(self) -> Iterator[Bisected]:
        """What the searches come to so far."""
        return (self.result(search) for search in self.plan.searches)

    def result(self, search: Search) -> Bisected:
        """What a search comes to so far."""
        trials = {at: trial for at, step in enumerate(search.steps) if (trial := self._trial(step)) is not None}
        return bisected(search.sought.title, search.framework, [step.label for step in search.steps], trials)

    def _trial(self, step: Step) -> Trial | None:
        if step in self.given_up:
            return Trial("skipped", f"it could not be had: {self.given_up[step]}")
        return self.trials.get(step)

    @property
    def left(self) -> set[Step]:
        """The steps that have not ended."""
        return set(self.plan.steps) - self.trials.keys() - self.given_up.keys()

    @property
    def missing(self) -> str | None:
        """What of the plan is not done, in words; None where all is."""
        left = len(self.left)
        return f"{left:,} of {len(set(self.plan.steps)):,} verdicts are not there" if left else None
