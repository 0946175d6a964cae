"""The notes of a run about its audit, which runs each op alone before the tests."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_conformance.checking.audit.outcome import PASSES_ALONE, AuditResult
from autograd_conformance.reporting.prose import counted

NAMED = 8
"""Largest number of ops that a note names."""


def audit_notes(audited: AuditResult, left_out: Collection[str]) -> Iterator[str]:
    """Yields a note about the ops that the audit had no time or no programs to run, and one about the ops that went
    wrong in it, but not in a fresh process. `left_out` are the ops that the tests of others do not use.
    """
    if audited.untried:
        used = "so only the tests of these ops use them"
        if not audited.untried.issubset(left_out):
            used = "so one that is wrong may also fail tests that are not about it"
        yield (
            f"{counted(len(audited.untried), 'op')} could not run alone before the tests in their part of the run's "
            f"budget (--programs or --seconds), {used}"
        )
    ops = sorted(op for op, each in audited.undecided.items() if each.ran_alone)
    if ops:
        named = f"{', '.join(ops[:NAMED])}{', ...' if len(ops) > NAMED else ''}"
        each = "it" if len(ops) == 1 else "each of them"
        yield f"{counted(len(ops), 'op')} ({named}) went wrong after other programs, but {each} {PASSES_ALONE}"
