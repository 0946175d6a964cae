"""Pairs of related programs: the violations that each program shows in isolation, as text and as data."""

from __future__ import annotations

from dataclasses import replace

from autograd_conformance.failures import related as relations
from autograd_conformance.failures.case import Case
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reporting.drawing.pictures import pictures
from autograd_conformance.reporting.records.encoding import decode, encode
from autograd_conformance.reporting.records.failure import Allowed, Category, Failure
from autograd_conformance.rules.relations import codec as relations_codec
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.rules.violations.observed import ReturnedUnexpectedly
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
