"""What is said of two related programs: what each breaks by itself, in words and as data."""

from __future__ import annotations

from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.harness.failures import related as relations
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.text import parse
from autograd_conformance.reports.records import Deviation
from autograd_conformance.rules.relations.relation import Related
from tests.mutants.graphs import DiamondOnce

FAN_OUT = parse("a = leaf [1.5, 2]; b = square a; c = add b a; backward c with [3, 4]", VOCABULARY)
CHAIN = parse("a = leaf [1.5, 2]; b = square a; c = sin b; backward c with [3, 4]", VOCABULARY)


def test_what_one_of_two_programs_breaks_by_itself():
    broken = relations.alone(Related("relations/order", FAN_OUT, CHAIN), InProcess(DiamondOnce()))
    told = "By itself, the first program breaks gradients/fan-out on line 4: returned with another gradient; "
    assert relations.told(broken) == f"{told}the second program breaks no rule."
    (part,) = relations.parts(broken)
    assert (part.rule, part.deviation) == ("gradients/fan-out", Deviation("value", "other gradient, leaf"))
    assert "only the first" in str(part.diagnosis)


def test_two_programs_that_break_no_rule_by_themselves():
    broken = relations.alone(Related("relations/order", CHAIN, CHAIN), InProcess(DiamondOnce()))
    assert (broken, relations.parts(broken)) == ((None, None), ())
