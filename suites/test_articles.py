"""Articles: tests of the claims of five articles about `retain_graph`, and of programs that generalise the articles'
examples.

A test passes if the framework follows the official semantics, which may differ from an article's claim. Whether the
programs of a claim confirm the claim is recorded in the report.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.checking.skips import NotApplicable
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.claims.articles import CLAIMS
from autograd_conformance.claims.articles.claim import Claim
from autograd_conformance.claims.articles.decide import came_true, verdict
from autograd_conformance.claims.records import case_runner
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.strategies.articles import DOCUMENTED

rule = pytest.mark.rule
TESTABLE = [claim for claim in CLAIMS if not claim.untestable]


@rule("articles/claims")
@pytest.mark.parametrize("claim", TESTABLE, ids=lambda claim: claim.key)
def test_claim(check, claim: Claim):
    outcomes: list[bool | None] = []
    observe = case_runner(check.target)
    first, all_missing = None, set()
    for case in (*claim.right, *claim.wrong):
        program = parse(case.program)
        missing = unsupported_by(program, check.target)
        all_missing |= missing
        if missing:
            outcomes.append(None)
            continue
        try:
            check(program)
        except RuleViolated as error:
            first = first or error
        outcomes.append(came_true(case, observe(case)))
    check.articles[claim.key] = verdict(claim, outcomes)
    if first:
        raise first
    if not check.programs:
        raise NotApplicable(f"needs {', '.join(sorted(all_missing))}")


@rule("articles/claims")
@pytest.mark.parametrize("name", DOCUMENTED)
@given(data=st.data())
def test_situation(check, name: str, data: st.DataObject):
    check(data.draw(DOCUMENTED[name]))
