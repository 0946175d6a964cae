"""`python -m evaluation.fresh.recorded OUT --set fifth`: draws the programs of a whole run once, judges each fresh
fault on them, and writes a line of JSON for each fault to OUT.

A hunt for one fault then costs no drawing, so that a set with many survivors is measured in minutes. Each fault is
judged in a forked process, since some leave PyTorch changed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from autograd_conformance.checking.audit.outcome import AuditResult
from autograd_conformance.checking.audit.programs import audit, fault_of
from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.unsupported import UnsupportedShape
from evaluation.fresh.fault import Fault
from evaluation.fresh.hunt import KNOWN_FILE, Find
from evaluation.fresh.sets import SETS, faults_of
from evaluation.mutants.probes import QUICK, Probe, probes
from evaluation.recorded.drawing import draw

Case = Program | Drawn | Related


@dataclass
class Recording(Check):
    """A check that keeps the programs of one test, and runs none."""

    cases: list[Case] | None = None

    def __call__(self, case: Case) -> None:
        assert self.cases is not None
        self.cases.append(case)


@dataclass(frozen=True, slots=True)
class Test:
    """A test with all of its programs."""

    name: str
    rule: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The programs of a whole run of PyTorch, by test."""

    tests: tuple[Test, ...]
    audited: AuditResult
    """The ops that PyTorch itself computes wrongly; the programs do not use them."""

    @classmethod
    def draw(cls, examples: int, seed: int) -> Recorded:
        """Draws the programs that a run of PyTorch with `examples` programs per rule draws."""
        framework = FrameworkUnderTest(Settings("torch", known_files=(KNOWN_FILE,)))
        alphabet.use(framework.alphabet)
        audited = audit(framework.target, framework.drawable, False)
        framework.adopt_audit(audited)
        framework.prepare()
        drawn = [drawn_by(probe, framework, seed) for probe in probes((), tuple(framework.alphabet.ops), examples)]
        return cls(tuple(_right(test, framework) for test in drawn), audited)


def drawn_by(probe: Probe, framework: FrameworkUnderTest, seed: int) -> Test:
    """Returns a test with the programs that it draws for a framework."""
    cases: list[Case] = []
    check = Recording(framework.target, cases=cases)
    draw(probe, check, seed)
    return Test(probe.name, probe.rule, tuple(cases))


def _right(test: Test, framework: FrameworkUnderTest) -> Test:
    """Returns a test without the programs that fail on PyTorch itself."""
    check = check_of(test, framework)
    if check is None:
        return test
    return replace(test, cases=tuple(case for case in test.cases if not broken_by(check, case)))


def check_of(test: Test, framework: FrameworkUnderTest) -> Check | None:
    """Returns a check of a test's programs; None if the framework lacks what the test's rule needs."""
    target, needs = framework.target, RULES[test.rule].needs
    if Capability.COUNTS_SAVED in needs and target.saved_tensor_counter is not None:
        target = target.saved_tensor_counter
    return Check(target, known=framework.known, strict=False) if needs <= target.capabilities else None


def broken_by(check: Check, case: Case) -> RuleViolated | None:
    """Returns the violation that a program shows; None if it shows none."""
    try:
        check(case)
    except RuleViolated as broken:
        return broken
    except UnsupportedShape:
        return None
    return None


def hunt(fault: type[Fault], recorded: Recorded, examples: int, most: int) -> dict[str, Any]:
    """Judges the recorded programs on a fault, until `most` of them break a MUST. Returns what the first one broke,
    with the numbers of programs that ran and that broke a rule.
    """
    warnings.simplefilter("ignore")
    began = time.process_time()
    framework = FrameworkUnderTest(Settings(f"{fault.__module__}:{fault.__name__}", known_files=(KNOWN_FILE,)))
    framework.adopt_audit(recorded.audited)
    framework.prepare()
    for op in alphabet.current().ops:
        found = fault_of(op, framework.target, framework.drawable)
        if found is not None:
            find = Find(fault.__name__, fault.rule, examples, f"audit[{op}]", found.rule, op, 0, 0.0)
            return {**asdict(find), "failing": 1, "seconds": round(time.process_time() - began, 1)}
    first = Find(fault.__name__, fault.rule, examples, None, None, None, 0, 0.0)
    programs = failing = 0
    family = RULES[fault.rule].family
    for test in sorted(recorded.tests, key=lambda test: (test.rule != fault.rule, RULES[test.rule].family != family)):
        check = check_of(test, framework)
        for case in test.cases if check is not None and failing < most else ():
            assert check is not None
            programs += 1
            broken = broken_by(check, case)
            failing += broken is not None
            if broken is not None and first.test is None:
                violation = broken.violation
                first = replace(first, test=test.name, rule=violation.rule, op=violation.op, programs=programs)
            if failing >= most:
                break
    first = first if first.test else replace(first, programs=programs)
    return {**asdict(replace(first, seconds=round(time.process_time() - began, 1))), "failing": failing}


_recorded: Recorded | None = None


def _hunt_named(place: tuple[str, str, int, int]) -> dict[str, Any]:
    name, fault, examples, most = place
    assert _recorded is not None
    return hunt(next(each for each in faults_of(name) if each.__name__ == fault), _recorded, examples, most)


def main() -> int:
    global _recorded
    parser = argparse.ArgumentParser(prog="python -m evaluation.fresh.recorded", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="the file for the results")
    parser.add_argument("--set", choices=SETS, default="fifth", help="the set of faults (default: fifth)")
    parser.add_argument(
        "--examples", type=int, default=QUICK, metavar="N", help=f"programs per rule (default: {QUICK})"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the programs (default: 0)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("--most", type=int, default=1, metavar="N", help="failing programs to look for (default: 1)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    began = time.process_time()
    _recorded = Recorded.draw(options.examples, options.seed)
    count = sum(len(test.cases) for test in _recorded.tests)
    print(f"{count} programs drawn in {time.process_time() - began:.0f} CPU seconds", flush=True)
    places = [(options.set, fault.__name__, options.examples, options.most) for fault in faults_of(options.set)]
    killed = 0
    context = multiprocessing.get_context("fork")
    with options.out.open("w") as out, context.Pool(options.jobs, maxtasksperchild=1) as pool:
        for find in pool.imap_unordered(_hunt_named, places, chunksize=1):
            print(json.dumps(find), file=out, flush=True)
            killed += find["test"] is not None
            what = f"{find['rule']} ({find['test']})" if find["test"] else "SURVIVED"
            counted = f"{find['programs']:6} programs {find['seconds']:6.1f} s  {find['failing']} fail"
            print(f"{find['fault']:28} {counted}  {what}", flush=True)
    print(f"{killed} of {len(places)} found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
