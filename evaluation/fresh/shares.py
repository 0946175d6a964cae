"""`python -m evaluation.fresh.shares`: estimates the cost of finding fresh faults with other shares of programs for
tests.

No test runs. A test needs a certain number of programs to find a fault; with twice the share of a run, it has them
after half the run. So the CPU time until a fault is found depends on the share of the test that finds it, and on the
cost of a round of all tests with these shares. Both are known: the finds are stored here, and the published run of
PyTorch has the cost of each test's programs.
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

from autograd_conformance.package.places import PACKAGE
from autograd_conformance.reporting.records.stream import read
from evaluation.fresh.page import FINDS, SHOWN

RUN = PACKAGE / "reports" / "published" / "torch.jsonl.gz"
"""The published run of PyTorch, with the suite's own shares."""

LIMIT = 4.0
"""Largest factor by which a test's share may grow or shrink."""

Shares = Callable[[str], float]
"""A function from a test to the factor of its share in the run."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a test's programs in the run."""

    rule: str
    programs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Round:
    """A run: the costs of its tests, and how often each rule was exercised."""

    costs: Mapping[str, Cost]
    exercised: Mapping[str, int]

    def seconds(self, shares: Shares) -> float:
        """CPU seconds of a round with these shares."""
        return sum(cost.seconds * shares(test) for test, cost in self.costs.items())

    def ratios(self, shares: Shares, finds: Iterable[str]) -> list[float]:
        """Time until each of these tests finds its fault, relative to the time with the run's own shares."""
        whole = self.seconds(shares) / self.seconds(equal)
        return [whole / shares(test) for test in finds]


def measured() -> Round:
    """The published run without the corpus, whose programs are not drawn."""
    report = read(RUN)
    drawn = [each for each in report.results if each.programs and "corpus" not in each.test]
    exercised: Counter[str] = Counter()
    for each in drawn:
        exercised.update(each.exercised)
    return Round({_name(each.test): Cost(each.rule, each.programs, each.seconds) for each in drawn}, exercised)


def found(name: str, run: Round) -> list[str]:
    """The tests that found the faults of a set, without the finds of the audit, which has no share."""
    finds = [json.loads(line) for line in (FINDS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    return [each["test"] for each in finds if each["test"] in run.costs]


def _name(test: str) -> str:
    """A test's name as in the results of hunts."""
    return test.removeprefix("suites/test_").replace(".py::", "/")


def suite(test: str) -> str:
    """The suite of a test."""
    return test.partition("/")[0]


def equal(test: str) -> float:
    """The factor 1: the run's own shares."""
    return 1.0


def least_exercised(run: Round, power: float) -> Shares:
    """Larger shares for tests whose rules were exercised less than the median rule: a power of the ratio."""
    rules = {cost.rule for cost in run.costs.values()}
    usual = statistics.median(run.exercised[rule] for rule in rules if run.exercised[rule])

    def shares(test: str) -> float:
        factor = (usual / max(1, run.exercised[run.costs[test].rule])) ** power
        return min(LIMIT, max(1 / LIMIT, factor))

    return shares


def by_suite(run: Round, weights: Mapping[str, float]) -> Shares:
    """CPU time by weights of the suites; within a suite, the run's own shares."""
    seconds: Counter[str] = Counter()
    for test, cost in run.costs.items():
        seconds[suite(test)] += cost.seconds
    return lambda test: weights[suite(test)] / seconds[suite(test)]


def by_finds(run: Round, learned: Sequence[str], power: float = 1.0) -> Shares:
    """CPU time by the number of faults that each suite found before, plus one."""
    before = Counter(map(suite, learned))
    return by_suite(run, {each: (1 + before[each]) ** power for each in map(suite, run.costs)})


def rows(run: Round) -> list[tuple[str, list[float]]]:
    """Each way to share, with the ratios for the finds of both sets."""
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
