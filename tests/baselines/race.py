"""The race: each rival's cases within a budget of CPU time, on one faulty framework after the other.

A lap runs a rival's cases round by round on PyTorch itself until the budget is spent, and says what each of them cost.
Cases that complain about PyTorch itself find nothing about a member and are left out. A generated member lies about one
op alone, so only the lap's cases that touch this op are run on it: the others would see PyTorch itself. What a find
costs is what the lap's cases cost up to it, those that were not run again included.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.harness.session import Session

from tests.baselines.cases import Case, Rival, shuffled_ops
from tests.baselines.faulty import opened
from tests.mutants.generated import Generated, candidates
from tests.mutants.kit import Member

BUDGET = 50.0
"""CPU seconds of a lap: about half of what a quick run of the suite takes."""

SHORT = 2.0
"""CPU seconds on a member made by hand, which may lie about every op, so that every case has to be run on it."""

EMPTY_ROUNDS = 3
"""Rounds without a case after which a rival has no more."""

ERRORS = {"slight": 1e-6, "single": 1e-4}
"""How large the relative errors of the kinds are whose lie is a small one."""


@dataclass(frozen=True)
class Lap:
    """A rival's cases with what each cost on PyTorch itself, and the ops in those that complained about PyTorch."""

    rival: Rival
    cases: tuple[Case, ...]
    seconds: tuple[float, ...]
    alarms: tuple[frozenset[str], ...]

    @property
    def cost(self) -> float:
        """CPU seconds of the whole lap."""
        return sum(self.seconds)


def lap(rival: Rival, budget: float = BUDGET, ops: Sequence[str] | None = None) -> Lap:
    """As many of a rival's cases as a budget holds."""
    with tempfile.TemporaryDirectory() as folder:  # programs are drawn from what PyTorch has, less what it gets wrong
        Session("torch", Path(folder), wrong=frozenset()).prepare()
    honest, names = opened(TorchEager)(), shuffled_ops() if ops is None else tuple(ops)
    cases: list[Case] = []
    seconds: list[float] = []
    alarms: list[frozenset[str]] = []
    spent, empty = 0.0, 0
    next(rival.cases(0, names[:1]), None)  # what a tool has to load is not counted
    for number in count():
        empty += 1
        began = time.process_time()
        for case in rival.cases(number, names):
            complains = case.complains(honest)
            took = time.process_time() - began
            began = time.process_time()
            spent, empty = spent + took, 0
            if complains:
                alarms.append(case.ops)
            else:
                cases.append(case)
                seconds.append(took)
            if spent >= budget:
                break
        if spent >= budget or empty >= EMPTY_ROUNDS:
            break
    return Lap(rival, tuple(cases), tuple(seconds), tuple(alarms))


@dataclass(frozen=True, slots=True)
class Find:
    """What a rival did with a member: whether it could see the lie in principle, whether it did, after how many of its
    cases, at what cost in CPU seconds.
    """

    rival: str
    member: str
    could: bool
    found: bool
    cases: int
    seconds: float


def race(made: Lap, member: type[Member]) -> Find:
    """A lap on a member."""
    could = sees(made.rival, member)
    if not could:
        return Find(made.rival.name, member.name, False, False, 0, 0.0)
    framework: TorchEager = opened(member)()
    by_op = issubclass(member, Generated)
    spent = ran = 0.0
    for number, (case, cost) in enumerate(zip(made.cases, made.seconds, strict=True), 1):
        spent += cost
        if by_op and member.op not in case.ops:  # type: ignore[attr-defined]
            continue
        began = time.process_time()
        if case.complains(framework):
            return Find(made.rival.name, member.name, True, True, number, round(spent, 3))
        ran += time.process_time() - began
        if not by_op and ran > SHORT:
            return Find(made.rival.name, member.name, True, False, number, round(spent, 3))
    return Find(made.rival.name, member.name, True, False, len(made.cases), round(spent, 3))


def sees(rival: Rival, member: type[Member]) -> bool:
    """Whether a rival could see a member's lie in principle.

    A generated member: if the rival computes in the dtype, to the precision and to the order that the lie needs. One
    made by hand: if it changes any of the calls that the rival makes; that is generous, since many lie in the second
    such call of a program alone.
    """
    if issubclass(member, Generated):
        kind = candidates()[member.__name__][1]
        exact = ERRORS.get(kind, 1.0) > rival.tolerance
        return exact and (kind != "bent" or rival.orders > 1) and (kind != "single" or rival.float32)
    return bool(changed(member) & rival.calls)


def changed(member: type[Member]) -> set[str]:
    """The adapter's calls that a member changes."""
    own = (kind for kind in member.__mro__ if issubclass(kind, Member) and kind is not Member)
    return {name for kind in own for name in vars(kind) if callable(getattr(TorchEager, name, None))}
