"""Compares the baselines: runs each one's cases on faulty frameworks, within a budget of CPU time.

A round runs a baseline's cases on PyTorch itself, sweep by sweep over the ops, until the budget is spent, and measures
the cost of each case. Cases that complain about PyTorch itself are left out. A generated mutant's fault is in one op
only, so only the round's cases that use this op run on it; the others would test PyTorch itself. The cost of a find is
the cost of all the round's cases up to it, including those that did not run on the mutant.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.frameworks.pytorch.eager import TorchEager
from evaluation.baselines.cases import Baseline, Case, shuffled_ops
from evaluation.baselines.substitution import with_tensor_cotangents
from evaluation.mutants.generated import Generated, candidates
from evaluation.mutants.mutant import Mutant

BUDGET = 50.0
"""CPU seconds of a round: about half of what a quick run of the suite takes."""

SHORT = 2.0
"""CPU seconds for a handmade mutant, on which every case has to run, since its fault may be in any op."""

EMPTY_SWEEPS = 3
"""Number of sweeps without a case after which a baseline is exhausted."""

ERRORS = {"slight": 1e-6, "single": 1e-4}
"""Relative errors of the kinds of faults that are small."""


@dataclass(frozen=True)
class Round:
    """A baseline's cases with their CPU seconds on PyTorch itself, and the ops of the cases that complained about
    PyTorch.
    """

    baseline: Baseline
    cases: tuple[Case, ...]
    seconds: tuple[float, ...]
    alarms: tuple[frozenset[str], ...]

    @property
    def cost(self) -> float:
        """CPU seconds of the whole round."""
        return sum(self.seconds)


def round_of(baseline: Baseline, budget: float = BUDGET, ops: Sequence[str] | None = None) -> Round:
    """Run as many of a baseline's cases on PyTorch as the budget allows."""
    FrameworkUnderTest(Settings("torch")).prepare()  # programs use PyTorch's ops without those that it gets wrong
    honest, names = with_tensor_cotangents(TorchEager)(), shuffled_ops() if ops is None else tuple(ops)
    cases: list[Case] = []
    seconds: list[float] = []
    alarms: list[frozenset[str]] = []
    spent, empty = 0.0, 0
    next(baseline.cases(0, names[:1]), None)  # a tool's loading time is not counted
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
    """The result of a baseline on a mutant."""

    baseline: str
    mutant: str
    could: bool
    """Whether the baseline could detect the fault in principle."""
    found: bool
    cases: int
    """Number of cases up to the find, or in all."""
    seconds: float
    """CPU seconds of these cases."""


def compare(made: Round, mutant: type[Mutant]) -> Find:
    """Run a round's cases on a mutant."""
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
    """Whether a baseline could detect a mutant's fault in principle.

    For a generated mutant: whether the baseline uses the dtype, precision and order of derivatives that the fault
    needs. For a handmade mutant: whether it changes any call that the baseline makes. That is generous, since many
    faults need a second such call in a program.
    """
    if issubclass(mutant, Generated):
        kind = candidates()[mutant.__name__][1]
        exact = ERRORS.get(kind, 1.0) > baseline.tolerance
        return exact and (kind != "bent" or baseline.orders > 1) and (kind != "single" or baseline.float32)
    return bool(changed(mutant) & baseline.calls)


def changed(mutant: type[Mutant]) -> set[str]:
    """The adapter methods that a mutant overrides."""
    own = (kind for kind in mutant.__mro__ if issubclass(kind, Mutant) and kind is not Mutant)
    return {name for kind in own for name in vars(kind) if callable(getattr(TorchEager, name, None))}
