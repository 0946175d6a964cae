"""Hunts for a fault: runs the audit of the ops and the suites' tests, with as many programs as in a profile.

The tests of the rule that the author named run first, then those of its family. The first failure ends the hunt and is
not shrunk.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from hypothesis import Phase

from autograd_conformance.checking.audit.programs import fault_of
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences.file import shipped
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.strategies.building import alphabet
from evaluation.fresh.fault import Fault
from evaluation.mutants.kill import Counting, failure
from evaluation.mutants.probes import Probe, probes

KNOWN_FILE = shipped("torch")
"""The known differences of PyTorch, which every fault changes."""


@dataclass(frozen=True, slots=True)
class Find:
    """The result of a hunt."""

    fault: str
    """Name of the fault's class."""
    said: str
    """The rule that the fault violates, according to its author."""
    examples: int
    """Programs per rule."""
    test: str | None
    """The test that found the fault; None if it survived."""
    rule: str | None
    """The rule that was reported."""
    op: str | None
    """The op that was reported."""
    programs: int
    """Number of programs that ran."""
    seconds: float
    """CPU seconds of the hunt."""


def hunt(fault: type[Fault], examples: int, families: Sequence[str] | None = None) -> Find:
    """Run the suites' tests, or those of some families, on a fault until one fails."""
    warnings.simplefilter("ignore")
    began, before = time.process_time(), 0

    def find(test: str | None = None, rule: str | None = None, op: str | None = None) -> Find:
        spent = round(time.process_time() - began, 1)
        return Find(fault.__name__, fault.rule, examples, test, rule, op, before, spent)

    with alphabet.using(alphabet.current()):
        framework = FrameworkUnderTest(Settings(f"{fault.__module__}:{fault.__name__}", known_files=(KNOWN_FILE,)))
        everything = framework.alphabet
        alphabet.use(everything)
        for op in everything.ops:
            found = fault_of(op, framework.target, framework.drawable)
            if found is not None and fault_of(op, InProcess(Torch()), framework.drawable) is None:
                return find(f"audit[{op}]", found.rule, op)
        framework.prepare()
        # ops that PyTorch itself computes wrongly
        suspect = framework.faulty_ops | framework.faulty_second_order | framework.faulty_third_order
        sound = tuple(op for op in everything.ops if op not in suspect)
        for probe in _ordered(fault, sound, examples):
            rule, target = RULES[probe.rule], framework.target
            if Capability.COUNTS_SAVED in rule.needs and target.saved_tensor_counter is not None:
                target = target.saved_tensor_counter
            if not rule.needs <= target.capabilities or (families is not None and rule.family not in families):
                continue
            check = Counting(target, known=framework.known, strict=False)  # violating a SHOULD fails no run
            failing = failure(probe, check, 0, (Phase.generate,))
            before += check.first_failing or check.programs
            if failing:
                violation = failing[0].violation
                return find(probe.name, violation.rule, violation.op)
    return find()


def hunt_named(place: tuple[str, str], examples: int, families: Sequence[str] | None = None) -> Find:
    """Hunt for a fault, given the names of its module and class."""
    module, name = place
    return hunt(vars(import_module(module))[name], examples, families)


def _ordered(fault: type[Fault], ops: tuple[str, ...], examples: int) -> list[Probe]:
    family = RULES[fault.rule].family
    found = probes((fault.rule,), ops, examples)
    return sorted(found, key=lambda probe: (probe.rule != fault.rule, RULES[probe.rule].family != family))
