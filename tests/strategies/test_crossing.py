"""Crossed programs: valid, repeatable, within claims, and with meetings that no drawn program had."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from hypothesis import given, settings

from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.interactions.meetings import meetings
from autograd_conformance.interactions.reachable import reachable
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.hazards import Hazard
from autograd_conformance.programs.language import Apply, BackwardCall, Delete, Hook, InPlace, Leaf, Program
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.validation import validate
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.spared import is_spared
from autograd_conformance.strategies.crossing import crossed
from autograd_conformance.strategies.crossing.donors import HANDLE, donors
from autograd_conformance.strategies.crossing.drawing import Crossing
from autograd_conformance.strategies.crossing.novelty import novelty, numbers

SEEDS = range(60)


def programs() -> Iterator[Drawn]:
    drawn = (Crossing(Random(seed)).drawn() for seed in SEEDS)
    return (each for each in drawn if each is not None)


def test_each_program_is_valid_and_has_a_call() -> None:
    found = [each.program for each in programs()]
    assert len(found) > len(SEEDS) / 2
    for program in found:
        validate(program, VOCABULARY)
        assert any(isinstance(step, BackwardCall) for step in program)
        dropped = [ref for step in program if isinstance(step, Delete) for ref in step.values]
        assert not any(isinstance(program[ref.at], Leaf) for ref in dropped)


def test_a_number_gives_the_same_program_again() -> None:
    assert [each.program for each in programs()] == [each.program for each in programs()]


def test_many_programs_have_meetings_that_no_recorded_program_had() -> None:
    facts = [*reachable().facts]
    known = [frozenset(facts[at] for at in each) for each in reachable().meetings]
    new = [any(not any(each <= other for other in known) for each in meetings(case.program)) for case in programs()]
    assert sum(new) > 0.15 * len(new)


def test_what_met_is_not_new() -> None:
    facts = [*reachable().facts]
    for meeting in reachable().meetings[:50]:
        first, *rest = (facts[at] for at in meeting)
        assert novelty(numbers([first]), numbers(rest)) == 0


def test_a_fact_that_no_program_had_is_new() -> None:
    leaf, dance, call = numbers(["is a leaf"]), numbers(["dance"]), numbers(["backward"])
    assert novelty(dance, leaf) > novelty(call, leaf) == 0


def test_no_program_has_what_ends_the_process() -> None:
    found = 0
    for case in programs():
        reference = case.reference.empty()
        for at, step in enumerate(case.program):
            if isinstance(step, (Hook, InPlace, BackwardCall)) and at not in case.reference.skipped:
                found += 1
                assert not is_spared(reference, step, Hazard)
            if at in case.reference.skipped:
                reference.skip(step)
            else:
                reference.add(step, case.program.mode(at))
    assert found > len(SEEDS) / 4


SMALL = ("add", "multiply", "sum", "sin")


def test_a_small_framework_gets_what_it_claims() -> None:
    class Small(Torch):
        capabilities = frozenset({Capability.IMPERATIVE, Capability.COTANGENTS, Capability.RETAIN, Capability.FREES})
        dtypes = ("float32",)
        writes = ()
        optimizers = {}
        modules = {}
        ops = frozenset(SMALL)

    target, found = InProcess(Small()), 0
    with alphabet.using(alphabet_of(target, ("float32",))):
        for case in programs():
            assert not unsupported_by(case.program, target)
            found += 1
    assert found


def test_faulty_ops_are_left_out() -> None:
    used = {step.op for case in programs() for step in case.program if isinstance(step, Apply)}
    faulty = frozenset(sorted(used)[: len(used) // 2])
    wrong = replace(alphabet.EVERYTHING.without(faulty), excluded=faulty)
    once = replace(alphabet.EVERYTHING, first_order_only=faulty)
    for limited in (wrong, once):
        with alphabet.using(limited):
            assert not any(limited.uses_faulty(case.program) for case in programs())


def test_donors_have_a_form_for_each_operand_and_handles_of_hooks_among_them() -> None:
    assert any(HANDLE in forms for forms in donors())
    assert all(len(forms) == len(operands(donor.step)) for forms, given in donors().items() for donor in given)


@settings(max_examples=5, deadline=None, database=None)
@given(case=crossed())
def test_a_drawn_program_takes_instructions(case: Drawn) -> None:
    assert isinstance(case.program, Program)
    validate(case.program, VOCABULARY)
