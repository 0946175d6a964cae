"""`python -m evaluation.fresh.shares`: what fresh faults would cost if a campaign gave its tests other than equal
shares.

Nothing is run. A test that finds a fault needs some number of its own programs for it, whatever its share of a run is:
with twice the share it has them after half the run. So the CPU time until a fault is found changes by the share that
the test which found it has, and by what a round of all tests costs with those shares. Both are known: the finds are
kept here, and the published run of PyTorch says what each test's programs cost.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from autograd_conformance.places import PACKAGE
from autograd_conformance.reporting.records.stream import read
from evaluation.fresh.page import FINDS, SHOWN

RUN = PACKAGE / "reports" / "published" / "torch.jsonl.gz"
"""A run of PyTorch with the suite's own shares."""

LIMIT = 4.0
"""How many times more, or less, than its own share a test may get by what is known of it."""

Shares = Callable[[str], float]
"""How many times its share in the run a test gets."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a test's programs cost in the run."""

    rule: str
    programs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Round:
    """A run: what its tests cost, and how often each rule was exercised."""

    costs: Mapping[str, Cost]
    exercised: Mapping[str, int]

    def seconds(self, shares: Shares) -> float:
        """The CPU seconds of a round with some shares."""
        return sum(cost.seconds * shares(test) for test, cost in self.costs.items())

    def ratios(self, shares: Shares, finds: Iterable[str]) -> list[float]:
        """How many times as long as with the run's own shares it takes until each of these tests finds its fault."""
        whole = self.seconds(shares) / self.seconds(equal)
        return [whole / shares(test) for test in finds]


def measured() -> Round:
    """The published run; the corpus is no draw, and left out."""
    report = read(RUN)
    drawn = [each for each in report.results if each.programs and "corpus" not in each.test]
    exercised: Counter[str] = Counter()
    for each in drawn:
        exercised.update(each.exercised)
    return Round({_name(each.test): Cost(each.rule, each.programs, each.seconds) for each in drawn}, exercised)


def found(name: str, run: Round) -> list[str]:
    """The tests that found the faults of a set; what the audit of the ops finds needs no share."""
    finds = [json.loads(line) for line in (FINDS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    return [each["test"] for each in finds if each["test"] in run.costs]


def _name(test: str) -> str:
    """A test's name as hunts write it."""
    return test.removeprefix("suites/test_").replace(".py::", "/")


def suite(test: str) -> str:
    """The suite of a test."""
    return test.partition("/")[0]


def equal(test: str) -> float:
    """The run's own shares."""
    return 1.0


def least_exercised(run: Round, power: float) -> Shares:
    """More for tests whose rules were exercised less than the median one, by a power of how much less."""
    rules = {cost.rule for cost in run.costs.values()}
    usual = statistics.median(run.exercised[rule] for rule in rules if run.exercised[rule])

    def shares(test: str) -> float:
        factor = (usual / max(1, run.exercised[run.costs[test].rule])) ** power
        return min(LIMIT, max(1 / LIMIT, factor))

    return shares


def by_suite(run: Round, weights: Mapping[str, float]) -> Shares:
    """CPU time by suites' weights; within each, the run's own shares."""
    seconds: Counter[str] = Counter()
    for test, cost in run.costs.items():
        seconds[suite(test)] += cost.seconds
    return lambda test: weights[suite(test)] / seconds[suite(test)]


def by_finds(run: Round, learned: Sequence[str], power: float = 1.0) -> Shares:
    """CPU time by how many faults each suite has found before, and one more."""
    before = Counter(map(suite, learned))
    return by_suite(run, {each: (1 + before[each]) ** power for each in map(suite, run.costs)})


def rows(run: Round) -> list[tuple[str, list[float]]]:
    """Each way to share, and the ratios of the finds of both sets."""
    sets = [found(name, run) for name in SHOWN]
    finds = [test for each in sets for test in each]
    other = list(zip(sets, reversed(sets)))
    ratios = partial(run.ratios, finds=finds)
    return [
        *(
            (f"by how little a rule was exercised, power {power:g}", ratios(least_exercised(run, power)))
            for power in (0.25, 0.5, 1)
        ),
        ("the same CPU time for each suite", ratios(by_suite(run, dict.fromkeys(map(suite, run.costs), 1.0)))),
        *(
            (
                f"by what each suite found of the other set, power {power:g}",
                [ratio for learned, sought in other for ratio in run.ratios(by_finds(run, learned, power), sought)],
            )
            for power in (0.5, 1)
        ),
    ]


def main() -> int:
    """Print the table; 0."""
    run = measured()
    print("| shares | geometric mean | mean | sooner |\n|:--|--:|--:|--:|")
    for name, ratios in rows(run):
        mean = math.exp(statistics.mean(map(math.log, ratios)))
        sooner = f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)}"
        print(f"| {name} | {mean:.2f} | {statistics.mean(ratios):.2f} | {sooner} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
