"""Whether the suites find a fault: the audit of the ops, and every test with as many programs as a profile gives it.

The tests of the rule that the fault is said to break come first, then those of its family; the first failure ends the
hunt, and is not shrunk.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from hypothesis import Phase

from autograd_conformance.checking.audit.programs import fault_of
from autograd_conformance.checking.session import Session
from autograd_conformance.checking.support.alphabet import alphabet_of
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
"""What PyTorch, which every fault is put into, is known to do otherwise."""


@dataclass(frozen=True, slots=True)
class Find:
    """What came of a hunt."""

    fault: str
    """The fault's class."""
    said: str
    """The rule that it breaks, in its author's words."""
    examples: int
    """Programs per rule."""
    test: str | None
    """The test that found it; None where it survived."""
    rule: str | None
    """The rule that was named."""
    op: str | None
    """The op that was named."""
    programs: int
    """How many programs were run."""
    seconds: float
    """CPU seconds that it took."""


def hunt(fault: type[Fault], examples: int, families: Sequence[str] | None = None) -> Find:
    """Put a fault to the suites' tests, or to those of some families."""
    warnings.simplefilter("ignore")
    began, before = time.process_time(), 0

    def find(test: str | None = None, rule: str | None = None, op: str | None = None) -> Find:
        spent = round(time.process_time() - began, 1)
        return Find(fault.__name__, fault.rule, examples, test, rule, op, before, spent)

    with alphabet.using(alphabet.current()), tempfile.TemporaryDirectory() as folder:
        session = Session(f"{fault.__module__}:{fault.__name__}", Path(folder))
        session.known_files = (KNOWN_FILE,)
        everything = alphabet_of(session.target, session.drawable)
        alphabet.use(everything)
        for op in everything.ops:
            found = fault_of(op, session.target, session.drawable)
            if found is not None and fault_of(op, InProcess(Torch()), session.drawable) is None:
                return find(f"audit[{op}]", found.rule, op)
        session.prepare()
        # ops that PyTorch itself computes wrongly
        suspect = session.faulty_ops | session.faulty_second_order | session.faulty_third_order
        sound = tuple(op for op in everything.ops if op not in suspect)
        for probe in _ordered(fault, sound, examples):
            rule, target = RULES[probe.rule], session.target
            if Capability.COUNTS_SAVED in rule.needs and target.saved_tensor_counter is not None:
                target = target.saved_tensor_counter
            if not rule.needs <= target.capabilities or (families is not None and rule.family not in families):
                continue
            check = Counting(target, known=session.known, strict=False)  # a broken SHOULD fails no run
            failing = failure(probe, check, 0, (Phase.generate,))
            before += check.first_failing or check.programs
            if failing:
                violation = failing[0].violation
                return find(probe.name, violation.rule, violation.op)
    return find()


def hunt_named(place: tuple[str, str], examples: int, families: Sequence[str] | None = None) -> Find:
    """The hunt for a fault that is named by its module and class."""
    module, name = place
    return hunt(vars(import_module(module))[name], examples, families)


def _ordered(fault: type[Fault], ops: tuple[str, ...], examples: int) -> list[Probe]:
    family = RULES[fault.rule].family
    found = probes((fault.rule,), ops, examples)
    return sorted(found, key=lambda probe: (probe.rule != fault.rule, RULES[probe.rule].family != family))
