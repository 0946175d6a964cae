"""The comparison: each baseline's cases within a budget of CPU time, on one faulty framework after the other.

A round runs a baseline's cases, sweep by sweep over the ops, on PyTorch itself until the budget is spent, and says
what each of them cost. Cases that complain about PyTorch itself find nothing about a mutant and are left out. A
generated mutant's fault is in one op alone, so only the round's cases that touch this op are run on it: the others
would see PyTorch itself. What a find costs is what the round's cases cost up to it, those that were not run again
included.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from autograd_conformance.checking.session import Session
from autograd_conformance.frameworks.pytorch.eager import TorchEager
from evaluation.baselines.cases import Baseline, Case, shuffled_ops
from evaluation.baselines.substitution import with_tensor_cotangents
from evaluation.mutants.generated import Generated, candidates
from evaluation.mutants.mutant import Mutant

BUDGET = 50.0
"""CPU seconds of a round: about half of what a quick run of the suite takes."""

SHORT = 2.0
"""CPU seconds on a mutant made by hand, whose fault may be in every op, so that every case has to be run on it."""

EMPTY_SWEEPS = 3
"""Sweeps without a case after which a baseline has no more."""

ERRORS = {"slight": 1e-6, "single": 1e-4}
"""How large the relative errors of the kinds are whose fault is a small one."""


@dataclass(frozen=True)
class Round:
    """A baseline's cases with what each cost on PyTorch itself, and the ops in those that complained about PyTorch."""

    baseline: Baseline
    cases: tuple[Case, ...]
    seconds: tuple[float, ...]
    alarms: tuple[frozenset[str], ...]

    @property
    def cost(self) -> float:
        """CPU seconds of the whole round."""
        return sum(self.seconds)


def round_of(baseline: Baseline, budget: float = BUDGET, ops: Sequence[str] | None = None) -> Round:
    """As many of a baseline's cases as a budget holds."""
    with tempfile.TemporaryDirectory() as folder:  # programs are drawn from what PyTorch has, less what it gets wrong
        Session("torch", Path(folder)).prepare()
    honest, names = with_tensor_cotangents(TorchEager)(), shuffled_ops() if ops is None else tuple(ops)
    cases: list[Case] = []
    seconds: list[float] = []
    alarms: list[frozenset[str]] = []
    spent, empty = 0.0, 0
    next(baseline.cases(0, names[:1]), None)  # what a tool has to load is not counted
    for number in count():
        empty += 1
        began = time.process_time()
        for case in baseline.cases(number, names):
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
        if spent >= budget or empty >= EMPTY_SWEEPS:
            break
    return Round(baseline, tuple(cases), tuple(seconds), tuple(alarms))


@dataclass(frozen=True, slots=True)
class Find:
    """What a baseline did with a mutant."""

    baseline: str
    mutant: str
    could: bool
    """Whether it could see the fault in principle."""
    found: bool
    cases: int
    """After how many of its cases."""
    seconds: float
    """At what cost in CPU seconds."""


def compare(made: Round, mutant: type[Mutant]) -> Find:
    """A round on a mutant."""
    could = can_detect(made.baseline, mutant)
    if not could:
        return Find(made.baseline.name, mutant.name, False, False, 0, 0.0)
    framework: TorchEager = with_tensor_cotangents(mutant)()
    by_op = issubclass(mutant, Generated)
    spent = ran = 0.0
    for number, (case, cost) in enumerate(zip(made.cases, made.seconds, strict=True), 1):
        spent += cost
        if by_op and mutant.op not in case.ops:  # type: ignore[attr-defined]
            continue
        began = time.process_time()
        if case.complains(framework):
            return Find(made.baseline.name, mutant.name, True, True, number, round(spent, 3))
        ran += time.process_time() - began
        if not by_op and ran > SHORT:
            return Find(made.baseline.name, mutant.name, True, False, number, round(spent, 3))
    return Find(made.baseline.name, mutant.name, True, False, len(made.cases), round(spent, 3))


def can_detect(baseline: Baseline, mutant: type[Mutant]) -> bool:
    """Whether a baseline could see a mutant's fault in principle.

    A generated mutant: if the baseline computes in the dtype, to the precision and to the order that the fault needs.
    One made by hand: if it changes any of the calls that the baseline makes; that is generous, since many faults are
    in the second such call of a program alone.
    """
    if issubclass(mutant, Generated):
        kind = candidates()[mutant.__name__][1]
        exact = ERRORS.get(kind, 1.0) > baseline.tolerance
        return exact and (kind != "bent" or baseline.orders > 1) and (kind != "single" or baseline.float32)
    return bool(changed(mutant) & baseline.calls)


def changed(mutant: type[Mutant]) -> set[str]:
    """The adapter's calls that a mutant changes."""
    own = (kind for kind in mutant.__mro__ if issubclass(kind, Mutant) and kind is not Mutant)
    return {name for kind in own for name in vars(kind) if callable(getattr(TorchEager, name, None))}
