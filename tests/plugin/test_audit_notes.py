"""The notes of a report about ops that did not run alone before the tests."""

from __future__ import annotations

from autograd_conformance.checking.audit.outcome import NOTHING_FOUND, AuditResult
from autograd_conformance.plugin.recording.audit_notes import audit_notes


def test_a_note_says_which_tests_use_ops_that_did_not_run_alone() -> None:
    untried = AuditResult(untried=frozenset({"exp", "sin"}))
    (left_out,) = audit_notes(untried, {"exp", "sin"})
    (used,) = audit_notes(untried, {"sin"})
    assert left_out.startswith("2 ops could not run alone") and "only the tests of these ops use them" in left_out
    assert used.startswith("2 ops could not run alone") and "may also fail tests that are not about it" in used
    assert not list(audit_notes(NOTHING_FOUND, set()))
