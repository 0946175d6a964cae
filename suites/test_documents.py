"""Documents: what the articles claim, claim by claim, and the situations that their examples are instances of.

A test passes where the framework behaves as the official semantics say, which may be other than what an article says.
What the programs of a claim show of the article goes into the report.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks.base import Framework
from harness.checking import Broken
from harness.claims import observing
from harness.replay import needs
from rules.documents import CLAIMS
from rules.documents.claim import Claim
from rules.documents.decide import came_true, verdict
from rules.language import Apply, Program
from rules.ops import OPS
from rules.text import parse
from strategies.documents import DOCUMENTED

rule = pytest.mark.rule
KNOWN = frozenset(OPS)
TESTABLE = [claim for claim in CLAIMS if not claim.untestable]


@rule("documents/claims")
@pytest.mark.parametrize("claim", TESTABLE, ids=lambda claim: claim.key)
def test_claim(check, claim: Claim):
    found: list[bool | None] = []
    observe = observing(check.framework)
    broken, lacking = None, set()
    for case in (*claim.right, *claim.wrong):
        program = parse(case.program, KNOWN)
        missing = _missing(program, check.framework)
        lacking |= missing
        if missing:
            found.append(None)
            continue
        try:
            check(program)
        except Broken as error:
            broken = broken or error
        found.append(came_true(case, observe(case)))
    check.articles[claim.key] = verdict(claim, found)
    if broken:
        raise broken
    if not check.programs:
        pytest.skip(f"needs {', '.join(sorted(lacking))}")


@rule("documents/claims")
@pytest.mark.parametrize("name", DOCUMENTED)
@given(data=st.data())
def test_situation(check, name: str, data: st.DataObject):
    check(data.draw(DOCUMENTED[name]))


def _missing(program: Program, framework: Framework) -> set[str]:
    """What a program asks of a framework that the framework does not claim."""
    asked = needs(program)
    ops = {step.op for step in program if isinstance(step, Apply)} - set(framework.ops)
    return {need.value for need in asked - set(framework.claims)} | {f"the op {op}" for op in ops}
