"""The baselines as cases: a case runs one check on a framework and reports whether the check complains."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.running.runner import literal
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Apply, Attrs, Leaf, Literal, Program
from evaluation.baselines import opinfo, suite
from evaluation.baselines.fuzzers import expectation, random_graphs
from evaluation.baselines.substitution import OWN, substituted

Cases = Callable[[int, tuple[str, ...]], Iterator["Case"]]


@dataclass(frozen=True)
class Case:
    """One check of a baseline: the ops that it runs, and a function that returns True if it complains about a
    framework.
    """

    ops: frozenset[str]
    complains: Callable[[TorchEager], bool]


@dataclass(frozen=True)
class Baseline:
    """A tool that people use today."""

    name: str
    what: str
    cases: Cases
    """The cases of a sweep, by the number of the sweep and the ops."""
    calls: frozenset[str]
    """The adapter methods that it calls."""
    float32: bool
    """Whether it computes in float32 too."""
    tolerance: float
    """The smallest relative error that it distinguishes from rounding."""
    orders: int
    """The highest order of derivatives that it checks."""


# -- gradcheck and gradgradcheck over the catalogue --------------------------------------------------------------------

CHECKS: dict[int, Callable[..., bool]] = {1: torch.autograd.gradcheck, 2: torch.autograd.gradgradcheck}


def _gradchecks(order: int) -> Cases:
    def cases(number: int, ops: tuple[str, ...]) -> Iterator[Case]:
        for op in ops:
            program = audit.sample(op, 5000 + number, "float64")
            if program is not None:
                yield Case(frozenset({op}), _checking(program, order))

    return cases


def _checking(program: Program, order: int) -> Callable[[TorchEager], bool]:
    leaves = [step for step in program if isinstance(step, Leaf)]
    (use,) = (step for step in program if isinstance(step, Apply))
    order_of = [ref.at for ref in use.args]

    def complains(mutant: TorchEager) -> bool:
        def function(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            made = mutant.apply(use.op, [tensors[at] for at in order_of], use.attrs)
            return tuple(y for y in made if y.requires_grad or not torch.is_grad_enabled())

        return _complains(mutant, order, function, [(leaf.value, leaf.requires_grad) for leaf in leaves])

    return complains


def _complains(
    mutant: TorchEager, order: int, function: Callable[..., Any], leaves: list[tuple[Literal, bool]]
) -> bool:
    torch.manual_seed(0)
    with substituted(mutant), warnings.catch_warnings(action="ignore"):
        given = tuple(mutant.leaf(literal(value), requires) for value, requires in leaves)
        try:
            return not CHECKS[order](function, given, raise_exception=True)
        except Exception:  # gradcheck complains by raising; an error of the framework counts as a complaint
            return True


# -- PyTorch's own samples ---------------------------------------------------------------------------------------------


def _samples(number: int, ops: tuple[str, ...]) -> Iterator[Case]:
    for op in ops:
        for order in (1, 2):
            sample = opinfo.sample(op, number, order)
            if sample is not None:
                yield Case(frozenset({op}), _sampled(op, sample, order))


def _sampled(op: str, sample: opinfo.Sample, order: int) -> Callable[[TorchEager], bool]:
    def complains(mutant: TorchEager) -> bool:
        attrs: Attrs = ((OWN, sample.function),)  # type: ignore[assignment]
        torch.manual_seed(0)
        with substituted(mutant), warnings.catch_warnings(action="ignore"):
            given = tuple(mutant.leaf(_array(x), x.requires_grad) for x in sample.tensors)

            def function(*tensors: torch.Tensor) -> Any:
                return sample.output(mutant.apply(op, list(tensors), attrs))

            try:
                return not CHECKS[order](
                    function, given, fast_mode=sample.fast, nondet_tol=sample.nondeterminism, raise_exception=True
                )
            except Exception:
                return True

    return complains


def _array(x: torch.Tensor) -> np.ndarray:
    """A tensor as a contiguous float64 array, also for an empty tensor, whose shape `tolist` alone would lose."""
    return np.array(x.detach().reshape(-1).tolist(), dtype="float64").reshape(tuple(x.shape))


# -- fuzzers -----------------------------------------------------------------------------------------------------------

LOOSE = 1e-3
"""The relative tolerance of published fuzzers."""


def _one_call(number: int, ops: tuple[str, ...]) -> Iterator[Case]:
    for op in ops:
        for dtype in ("float64", "float32"):
            program = audit.sample(op, 9000 + number, dtype)
            if program is not None:
                yield Case(frozenset({op}), expectation(program, LOOSE))


def _graphs(number: int, ops: tuple[str, ...]) -> Iterator[Case]:
    for program in random_graphs(number):
        yield Case(frozenset(s.op for s in program if isinstance(s, Apply)), expectation(program, LOOSE))


def _ours(number: int, ops: tuple[str, ...]) -> Iterator[Case]:
    for touched, complains in suite.cases(number, ops):
        yield Case(touched, complains)


RUN = frozenset({"leaf", "apply", "backward", "gradient"})
ALL = frozenset(name for name in dir(TorchEager) if not name.startswith("__"))

OURS = "this suite"

BASELINES: dict[str, Baseline] = {
    baseline.name: baseline
    for baseline in (
        Baseline(
            "gradcheck", "`torch.autograd.gradcheck` with its defaults on each op with sample inputs of the catalogue",
            _gradchecks(1), frozenset({"leaf", "apply", "grad"}), False, 1e-3, 1,
        ),
        Baseline(
            "gradgradcheck", "`torch.autograd.gradgradcheck` with its defaults on the same inputs",
            _gradchecks(2), frozenset({"leaf", "apply", "grad"}), False, 1e-3, 2,
        ),
        Baseline(
            "OpInfo", "gradcheck and gradgradcheck as PyTorch's tests call them, on the samples that its OpInfo"
            " database has for the catalogue's ops",
            _samples, frozenset({"leaf", "apply", "grad"}), False, 1e-3, 2,
        ),
        Baseline(
            "one-call fuzzer", "one op on random inputs, its gradient compared with the reference's to a relative 1e-3",
            _one_call, RUN, True, LOOSE, 1,
        ),
        Baseline(
            "graph fuzzer", "a random graph and one backward call, its gradients compared with the reference's to a"
            " relative 1e-3",
            _graphs, RUN, True, LOOSE, 1,
        ),
        Baseline(OURS, "one program per op and two per test of the suites, in turn", _ours, ALL, True, 0.0, 3),
    )
}  # fmt: skip


def shuffled_ops() -> tuple[str, ...]:
    """The catalogue's ops in a fixed random order, so that an exhausted budget does not favour some kinds of ops."""
    names = sorted(OPS)
    random.Random(0).shuffle(names)
    return tuple(names)
