"""Known differences that a run writes cover the failures that they describe, and nothing else.

The same run passes with them, except for failures that could not be written, and other faults of the same rule fail.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import Phase

from autograd_conformance.checking.check import Check
from autograd_conformance.checking.counts.tally import Tally
from autograd_conformance.checking.session import ProcessState, Session
from autograd_conformance.failures import advisory
from autograd_conformance.known_differences import Known, known, read
from autograd_conformance.plugin.recording.known_update import Update, update
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.alphabet import CORE
from evaluation.mutants import MUTANTS
from evaluation.mutants.kill import failure, prepared
from evaluation.mutants.mutant import Mutant
from evaluation.mutants.probes import probes

PROGRAMS = 30
"""Approximate number of programs of each test."""

OPS = 4
"""Number of ops that are tested one by one if the audit finds no faulty op."""

DESCRIBED = {
    "derivatives": ("sin-at-zero", "exp-off", "sin-flipped"),
    "views": ("transposes-copy", "detach-rounds", "copies-on-write"),
    "modes": ("no-grad-ignored-by-some", "no-grad-ignored", "enable-grad-ends-no-grad"),
    "hooks": ("hook-once", "hook-never-called", "hook-called-twice"),
    "moved hooks": ("hooks-lost-by-writes", "hook-never-called", "hook-called-twice"),
    "writes": ("leaf-views-written", "leaves-written"),
    "graphs": ("diamond-once", "use-once", "fan-out-of-seven"),
}
"""For each family, a fault that an entry can describe, then other faults of the same rule, which the entry must not
cover.
"""

UNDESCRIBED = {
    "accumulation": ("overwrites", "keeps-first", "averages"),
    "accumulation of zeros": ("forgets-at-zero", "overwrites", "keeps-first"),
    "lifetime": ("checks-root-only", "never-frees", "silent-when-freed"),
    "errors": ("cotangent-broadcast", "cotangent-reshaped", "wrong-kind"),
    "detach": ("detach-rounds", "detach-keeps-history", "forgets-detach"),
    "memory": ("frees-unwalked", "keeps-what-it-walked", "leaks-in-the-long-run"),
    "functional": ("inner-input-halved", "inner-input-blocks", "inner-input-gets-none"),
    "optimizers": ("skipped-as-zero", "step-moves-idle", "skipped-forgets"),
    "training": ("clips-twice", "clips-each-leaf", "clips-up"),
}
"""For each family, a fault that every program exercising the rule shows, so that no entry can describe it,
and others.
"""


def mutant_of(name: str) -> type[Mutant]:
    return MUTANTS[f"mutants/{name}"]


def failing_tests(mutant: type[Mutant], rule: str, entries: tuple[Known, ...]) -> list[str]:
    """The tests of a rule that fail on a mutant with some known differences."""
    with alphabet.using(alphabet.current()):
        framework, failed = prepared(mutant), []
        for probe in probes((rule,), tuple(sorted(framework.faulty_ops)) or CORE[:OPS], PROGRAMS):
            check = Check(framework.target, (*known(mutant.framework, device="cpu"), *entries), rule)
            if probe.rule == rule and failure(probe, check, 0, [Phase.generate]) is not None:
                failed.append(probe.name)
        return failed


def updated(mutant: type[Mutant], rule: str, path: Path) -> Update:
    """The known differences that the tests of a rule write, and the failures that cannot be written."""
    with alphabet.using(alphabet.current()):
        framework, tally = prepared(mutant), Tally()
        settings = replace(framework.settings, folder=path.parent)
        session = Session(settings, framework, ProcessState(settings))
        for probe in probes((rule,), tuple(sorted(framework.faulty_ops)) or CORE[:OPS], PROGRAMS):
            if probe.rule == rule:
                check = Check(
                    framework.target, known(mutant.framework, device="cpu"), rule, leaves_out=framework.leaves_out
                )
                assert failure(probe, check, 0, [Phase.generate]) is None
                advisory.shorten_findings(check, session.process)
                tally.add(Tally.from_json(check.tally().to_json()))
        return update(path, tally.findings, tally.common, session, date(2026, 11, 25))


@pytest.mark.slow
@pytest.mark.parametrize("names", DESCRIBED.values(), ids=DESCRIBED)
def test_described_failures_are_written_and_cover_nothing_else(names: tuple[str, ...], tmp_path: Path) -> None:
    mutant, *others = map(mutant_of, names)
    path, rule = tmp_path / "known.toml", mutant.killed_by[0]
    found = updated(mutant, rule, path)
    entries = read(path)
    assert len(entries) == len(found.written) > 0 and not found.unwritten
    assert not failing_tests(mutant, rule, entries)
    for other in others:
        assert failing_tests(other, rule, entries), other.fault


@pytest.mark.slow
@pytest.mark.parametrize("names", UNDESCRIBED.values(), ids=UNDESCRIBED)
def test_other_failures_are_not_written_and_still_fail(names: tuple[str, ...], tmp_path: Path) -> None:
    mutant, *others = map(mutant_of, names)
    path, rule = tmp_path / "known.toml", mutant.killed_by[0]
    found = updated(mutant, rule, path)
    entries = read(path)
    assert found.unwritten and len(entries) == len(found.written)
    assert f"# {found.lines()[0]}\n" in path.read_text()
    assert found.lines()[0].endswith("could not be written as known differences, because nothing names the case:")
    for each in (mutant, *others):
        assert failing_tests(each, rule, entries), each.fault
