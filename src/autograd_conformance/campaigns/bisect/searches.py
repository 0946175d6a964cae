"""The bisections of a plan on a cluster: schedules a step for each version, and summarises the outcomes.

Each version is tried, whatever the outcomes of the others are. Therefore a finding that began, ended and began again is
reported as such, and with enough workers a bisection takes no longer than one step.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from autograd_conformance.campaigns.bisect.outcome import Trial, bisected
from autograd_conformance.campaigns.bisect.plan import Search, SearchPlan
from autograd_conformance.campaigns.bisect.step import VERDICTS, Step, from_json
from autograd_conformance.campaigns.bisect.work import StepDone, try_step
from autograd_conformance.campaigns.cluster.engine import Engine, TaskEnd
from autograd_conformance.campaigns.cluster.waiting import Waiting
from autograd_conformance.campaigns.execution.progress import TRIES
from autograd_conformance.campaigns.shards.work import TaskFailure
from autograd_conformance.campaigns.storage.sharing import Sharing
from autograd_conformance.campaigns.storage.storage import Storage, StorageError
from autograd_conformance.reporting.render.bisected import Bisected


@dataclass(frozen=True, slots=True)
class StepEvent:
    """The end of running a failure's program in one version of a framework: the outcome, or the reason why there is
    none.
    """

    step: Step
    trial: Trial | None
    reason: str = ""


class Searches:
    """The bisections of a plan, with the outcomes so far."""

    def __init__(self, plan: SearchPlan, storage: Storage, suite: str, waiting: Waiting | None = None) -> None:
        self.plan, self.storage, self.suite = plan, storage, suite
        self.waiting = waiting or Waiting()
        self.trials: dict[Step, Trial] = {}
        """The outcome of each finished step, which ran one finding's program in one version."""
        self.given_up: dict[Step, str] = {}
        """The steps that were given up, each with the reason."""
        self._attempts: Counter[Step] = Counter()
        """Number of failed attempts of each step."""
        self._missing_environments: set[object] = set()
        """Environments for which a step was given up because a worker did not have the environment: other steps that do
        not find it are not retried."""
        self._rejecting_workers: defaultdict[object, set[str]] = defaultdict(set)
        """For each environment, the addresses of workers that do not have it, or have another suite. The next step that
        needs this environment goes to other workers, if there are any.
        """
        self._sharing = Sharing(storage)

    def resume(self) -> int:
        """Reads the outcomes in the storage; returns their number."""
        steps = {step.name: step for step in self.plan.steps}
        stored = [name for name in self.storage.names(VERDICTS) if name in steps]
        for name, data in self.storage.read_all(stored).items():
            try:
                self.trials[steps[name]] = from_json(data)
            except ValueError as error:
                raise StorageError(
                    f"{self.storage.url}: {name} cannot be read: {error}; remove it, and the step is run again"
                ) from None
        return len(stored)

    def run(self, engine: Engine) -> Iterator[StepEvent | None]:
        """Runs the remaining steps; yields an event for each step that ended, and None about twice a second.

        Raises `StorageError`, `NoCluster` or `NoWorkers`.
        """
        try:
            for step in dict.fromkeys(self.plan.steps):
                if step not in self.trials:
                    self._submit(engine, step)
            while engine.busy:
                for ended in engine.wait(0.5):
                    yield from self._collect(ended, engine)
                self.waiting.check(engine, (step.resources for step in self.remaining))
                yield None
        finally:
            engine.stop()

    def _submit(self, engine: Engine, step: Step) -> None:
        engine.submit(
            step, try_step, step, self.storage, self.suite,
            resources=step.resources, first=False, avoid=self._rejecting_workers[step.environment],
        )  # fmt: skip

    def _collect(self, ended: TaskEnd, engine: Engine) -> Iterator[StepEvent]:
        step: Step = ended.task
        match ended.result:
            case StepDone(trial=trial, worker=worker, is_stored=is_stored):
                if is_stored:
                    self._sharing.check(step.name, worker)
                self.trials[step] = trial
                yield StepEvent(step, trial)
            case TaskFailure(kind="storage", reason=reason, worker=worker):
                raise StorageError(f"{reason} (on {worker})")
            case TaskFailure(kind=kind, reason=reason, worker=worker) as not_done:
                if not_done.depends_on_worker:
                    self._rejecting_workers[step.environment].add(ended.worker)
                yield from self._retry_or_give_up(
                    step, f"{reason} (on {worker})", engine, no_environment=kind == "no environment"
                )
            case _ if ended.outcome == "failed":
                yield from self._retry_or_give_up(step, ended.reason, engine, no_environment=False)
            case _:  # the scheduler lost the task
                self._submit(engine, step)

    def _retry_or_give_up(
        self, step: Step, reason: str, engine: Engine, *, no_environment: bool
    ) -> Iterator[StepEvent]:
        """Submits a failed step again, or gives it up and yields the event that says so."""
        self._attempts[step] += 1
        if self._attempts[step] < TRIES and not (no_environment and step.environment in self._missing_environments):
            self._submit(engine, step)
            return
        if no_environment:
            self._missing_environments.add(step.environment)
        self.given_up[step] = reason
        yield StepEvent(step, None, reason)

    @property
    def results(self) -> Iterator[Bisected]:
        """The outcomes in all versions, and the changes between versions, of each bisection so far."""
        return (self.result(search) for search in self.plan.searches)

    def result(self, search: Search) -> Bisected:
        """Returns the outcomes in all versions, and the changes between versions, of one bisection so far."""
        trials = {at: trial for at, step in enumerate(search.steps) if (trial := self._trial(step)) is not None}
        return bisected(search.finding_files.title, search.framework, [step.label for step in search.steps], trials)

    def _trial(self, step: Step) -> Trial | None:
        if step in self.given_up:
            return Trial("skipped", f"given up: {self.given_up[step]}")
        return self.trials.get(step)

    @property
    def remaining(self) -> set[Step]:
        """The steps that have not ended."""
        return set(self.plan.steps) - self.trials.keys() - self.given_up.keys()

    @property
    def missing(self) -> str | None:
        """The part of the plan that is not done, as text: "3 of 12 verdicts are missing"; None if all is done."""
        remaining = len(self.remaining)
        return f"{remaining:,} of {len(set(self.plan.steps)):,} verdicts are missing" if remaining else None
