"""Pairs of related programs: the violations that each program shows in isolation, as text and as data."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any

import pytest

from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.failures import related as relations
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.unreduced import unreduced_script
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.reporting.drawing.pictures import pictures
from autograd_conformance.reporting.records.encoding import decode, encode
from autograd_conformance.reporting.records.failure import Allowed, Category, Failure
from autograd_conformance.rules.relations import codec as relations_codec
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.rules.violations.observed import OtherGradient, ReturnedUnexpectedly
from autograd_conformance.rules.violations.pairs import OutcomesDiffer, SameOutcome, SameValue, ValuesDiffer
from autograd_conformance.rules.violations.shared import Place
from autograd_conformance.rules.violations.violation import Allowed as RuleAllowed
from autograd_conformance.rules.violations.violation import Violation
from evaluation.mutants.graphs import DiamondOnce

FAN_OUT = parse("a = leaf [1.5, 2]; b = square a; c = add b a; backward c with [3, 4]", VOCABULARY)
CHAIN = parse("a = leaf [1.5, 2]; b = square a; c = sin b; backward c with [3, 4]", VOCABULARY)


def separate(related: Related) -> tuple[Case | None, Case | None]:
    """The violations that two programs show in isolation on a faulty framework."""
    target, violation = InProcess(DiamondOnce()), Violation(related.rule, 3, ReturnedUnexpectedly(), ())
    return relations.separate_cases(Case(related.first, (), violation, target, related))


def test_what_one_of_two_programs_breaks_by_itself():
    broken = separate(Related("relations/order", FAN_OUT, CHAIN))
    told = "In isolation, the first program breaks gradients/fan-out on line 4: returned with another gradient; "
    assert relations.describe(broken) == f"{told}the second program breaks no rule."
    (part,) = relations.parts(broken)
    assert (part.rule, part.deviation) == ("gradients/fan-out", Category("value", "other gradient, leaf"))
    assert "only the first" in str(part.diagnosis)
    assert (part.second, part.at) == (False, 3) and part.flow is not None
    assert part.flow.first is not None and part.flow.first.name == "a"


def test_the_drawing_is_marked_where_the_program_that_is_wrong_goes_wrong():
    related = Related("relations/order", CHAIN, FAN_OUT)
    failure = Failure(
        verdict="fail", rule=related.rule, level="MUST", sentence="", test="",
        program=relations_codec.to_json(related), at=3, observed="another gradient",
        allowed=(Allowed("the same", related.rule),), code="a\nb\nc\nd", other="a\nb\nc\nd", script="",
        parts=relations.parts(separate(related)),
    )  # fmt: skip
    assert decode(encode(failure)) == failure
    right, wrong = pictures(failure)
    assert "observed" not in right.svg and "fails" not in right.title
    assert "expected" in wrong.svg and "line 4 fails" in wrong.title
    parted, _ = pictures(replace(failure, parts=()))
    assert "observed" in parted.svg and "line 4 fails" in parted.title
    assert wrong.words[-1].startswith("The first wrong gradient is that of a (line 1)")


def test_two_programs_that_break_no_rule_by_themselves():
    broken = separate(Related("relations/order", CHAIN, CHAIN))
    assert (broken, relations.parts(broken)) == ((None, None), ())


# -- scripts -----------------------------------------------------------------------------------------------------------

ONCE = parse("a = leaf [1, 2]; b = square a; backward b with [3, 4]", VOCABULARY)
TWICE = parse("a = leaf [1, 2]; b = square a; backward b with [3, 4]; backward b with [3, 4]", VOCABULARY)


def script(first: Program, second: Program, runs: bool = True, **about: object) -> tuple[str, list[str]]:
    """The script of a violation, and its output."""
    target = InProcess(Torch())
    related = Related("relations/order", first, second, same=((0, 0), (1, 1), (2, 2)))
    made = relations.script(Case(first, target.observe(first), violation(**about), target, related), runs)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(made, {})
    return made, printed.getvalue().splitlines()


def violation(**about: Any) -> Violation:
    return Violation("relations/order", **{"allowed": (), **about})


@pytest.mark.parametrize("runs", [True, False])
def test_a_script_of_two_programs_prints_both_values_and_the_allowed_one(runs: bool):
    same = (RuleAllowed(SameValue("a", gradient=True), "relations/order"),)
    differ = ValuesDiffer("a", True, None, None)
    _, lines = script(ONCE, ONCE, runs, at=2, observed=differ, subject=Ref(0), allowed=same)
    value = "tensor([ 6., 16.], dtype=torch.float64)"
    assert lines == [
        f"The first program: a.grad is {value}",
        f"The second program: a.grad is {value}",
        "allowed: the gradient of a is the same in both programs",
    ]


@pytest.mark.parametrize("runs", [True, False])
def test_a_script_of_two_programs_prints_the_outcomes_that_differ(runs: bool):
    target = InProcess(Torch())
    first, second = target.observe(ONCE)[2].outcome, target.observe(TWICE)[3].outcome
    differ = OutcomesDiffer(first, second, 3)
    _, lines = script(
        ONCE, TWICE, runs, at=2, observed=differ, allowed=(RuleAllowed(SameOutcome(), "relations/order"),)
    )
    assert lines[0] == "The first program: line 3 returns"
    assert lines[1].startswith("The second program: line 4 raises Trying to backward through the graph a second time")
    assert lines[-1].startswith("allowed: ")


@pytest.mark.parametrize("related", [None, Related("relations/order", ONCE, ONCE, same=((0, 0), (1, 1), (2, 2)))])
def test_the_script_of_a_failure_that_is_not_reduced_prints_too(related: Related | None):
    target = InProcess(Torch())
    found = violation(at=2, observed=OtherGradient(Place.LEAF), subject=Ref(0), allowed=())
    allowed = (RuleAllowed(SameValue("a", gradient=True), "relations/order"),)
    broken = RuleViolated(ONCE, target.observe(ONCE), replace(found, allowed=allowed), target, related)
    assert unreduced_script(broken).count("print(") == (2 if related is None else 4), "the second's call may raise"
