"""Documents: what the articles claim, claim by claim, and the situations that their examples are instances of.

A test passes where the framework behaves as the official semantics say, which may be other than what an article says.
What the programs of a claim show of the article goes into the report.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd_conformance.frameworks.base import Target
from autograd_conformance.harness.check import Broken
from autograd_conformance.harness.pages.claims import observing
from autograd_conformance.programs.capabilities import needs
from autograd_conformance.programs.language import Apply, InPlace, Leaf, Program
from autograd_conformance.programs.text import parse
from autograd_conformance.rules.articles import CLAIMS
from autograd_conformance.rules.articles.claim import Claim
from autograd_conformance.rules.articles.decide import came_true, verdict
from autograd_conformance.strategies.articles import DOCUMENTED
from autograd_conformance.strategies.building.action_builder import writes_of

rule = pytest.mark.rule
TESTABLE = [claim for claim in CLAIMS if not claim.untestable]


@rule("articles/claims")
@pytest.mark.parametrize("claim", TESTABLE, ids=lambda claim: claim.key)
def test_claim(check, claim: Claim):
    found: list[bool | None] = []
    observe = observing(check.target)
    broken, lacking = None, set()
    for case in (*claim.right, *claim.wrong):
        program = parse(case.program)
        missing = _missing(program, check.target)
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


@rule("articles/claims")
@pytest.mark.parametrize("name", DOCUMENTED)
@given(data=st.data())
def test_situation(check, name: str, data: st.DataObject):
    check(data.draw(DOCUMENTED[name]))


def _missing(program: Program, target: Target) -> set[str]:
    """The capabilities, ops and dtypes that a program needs and the framework does not claim."""
    asked = needs(program)
    had = {Apply: set(target.ops), InPlace: set(writes_of(tuple(target.ops))[1])}
    ops = {step.op for step in program if isinstance(step, Apply | InPlace) and step.op not in had[type(step)]}
    missing = {need.value for need in asked - target.capabilities} | {f"the op {op}" for op in ops}
    missing |= {step.value.dtype for step in program if isinstance(step, Leaf)} - {*target.dtypes}
    shaped = any(isinstance(step, Leaf) and step.value.shape for step in program)
    return missing | ({"tensors of several elements"} if target.traits.scalars and shaped else set())
