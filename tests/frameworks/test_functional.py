"""Functional frameworks: programs become functions, which are nested for derivatives of higher order."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograd_conformance.adapters.hips_autograd.adapter import HipsAutograd
from autograd_conformance.checking.check import violation_of
from autograd_conformance.failures.listing import listing
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.known_differences.conditions.computed import DuplicateRoot
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.needs import needs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.differentiated_functions import body, reads
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Backward, Grad, Program
from autograd_conformance.programs.observations import Returned
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.unsupported import Unsupported
from tests.strategies.census import programs_of
from tests.strategies.test_strategies import TESTS, all_of

AUTOGRAD = InProcess(HipsAutograd())
ENTRIES = known("autograd")

ZEROS = "materialize=True"
FIRST = f"a = leaf [2, 3]; b = multiply a a; c = grad b wrt a with [1, 1] {ZEROS}"
SECOND = (
    f"a = leaf [2, 3]; b = sin a; c = grad b wrt a with [1, 1] create=True {ZEROS}; d = multiply c a; "
    f"e = grad d wrt a with [1, 2] {ZEROS}"
)
THIRD = SECOND.replace(f"[1, 2] {ZEROS}", f"[1, 2] create=True {ZEROS}; f = grad e wrt a with [3, 1] {ZEROS}")
PLAIN = SECOND.replace("create=True ", "")
SEVERAL = f"a = leaf [2, 3]; b = leaf [1, 4]; c = multiply a b; d, e = grad c, a wrt a, b with [1, 2], [3, 4] {ZEROS}"
CLOSED = f"a = leaf [2, 3]; b = leaf [1, 4]; c = exp a; d = multiply c b; e = grad d wrt b with [1, 2] {ZEROS}"
THROUGH = (
    f"a = leaf [2, 3]; b = leaf [1, 4]; c = exp a; d = multiply c b; e = multiply d b; "
    f"f = grad e wrt b with [1, 1] create=True {ZEROS}; g, h = grad f wrt a, b with [1, 2] {ZEROS}"
)
DELETED = FIRST + f"; d = multiply c a; drop c; e = grad d wrt a with [1, 1] {ZEROS}"
UNUSED = f"a = leaf [2, 3]; b = leaf 1; c = exp a; d, e = grad c wrt b, a with [1, 1] {ZEROS}"
IMPLICIT = f"a = leaf 2; b = exp a; c = grad b wrt a create=True {ZEROS}; d = grad c wrt a {ZEROS}"
OF_NUMBER = f"a = leaf 2; b = exp a; c = grad b wrt a with 3 {ZEROS}"
PRINTED = (THROUGH, SEVERAL, OF_NUMBER)
"""Programs whose code is tested: calls in calls, several roots, and a root of one number, which is not in a tuple."""
PROGRAMS = (FIRST, SECOND, THIRD, PLAIN, SEVERAL, CLOSED, THROUGH, DELETED, UNUSED, IMPLICIT)


def program_of(text: str) -> Program:
    """Parse a program."""
    return parse(text, VOCABULARY)


# -- functions of programs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "within", "closed"),
    [
        (FIRST, [1], "a"),
        (SEVERAL, [2], "ab"),
        (CLOSED, [3], "bc"),
        (PLAIN, [3], "ac"),  # a gradient without history is a constant
        (SECOND, [2, 3], "a"),
        (THROUGH, [2, 5], "ab"),  # the inner function closes over c, which the outer one computes
        (DELETED, [3], "ac"),
        (UNUSED, [2], "ab"),
    ],
)
def test_the_body_of_a_function_leads_from_inputs_to_roots(text: str, within: list[int], closed: str):
    program = program_of(text)
    call = program[len(program) - 1]
    assert isinstance(call, Grad)
    assert list(body(program, call)) == within
    assert {ref.at for ref in reads(program, call)} == {"abcdefgh".index(name) for name in closed}


# -- HIPS autograd -----------------------------------------------------------------------------------------------------


def test_it_is_an_adapter():
    smoke(HipsAutograd())
    with pytest.raises(ValueError, match="CPU only"):
        HipsAutograd("cuda")


@pytest.mark.parametrize("text", PROGRAMS)
def test_derivatives_of_every_order_are_right(text: str):
    program = program_of(text)
    assert violation_of(program, AUTOGRAD) is None
    seen = AUTOGRAD.observe(program)
    assert all(isinstance(each.outcome, Returned) for each in seen)


@pytest.mark.parametrize("text", PROGRAMS)
def test_printed_code_does_the_same(text: str):
    program = program_of(text)
    printed = AUTOGRAD.observe_printed(program)
    reference = Reference(program, AUTOGRAD.traits)
    assert judge(program, printed, reference, AUTOGRAD.capabilities).violation is None
    assert [type(each.outcome) for each in printed] == [Returned] * len(program)


def test_a_script_runs_alone(tmp_path: Path):
    text = listing(program_of(THROUGH), AUTOGRAD)
    assert len(re.findall(r"^def function", text, flags=re.MULTILINE)) == 2
    assert len(re.findall(r"^    def function", text, flags=re.MULTILINE)) == 1
    script = tmp_path / "script.py"
    script.write_text(f"{text}print(h)\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (result,) = [seen.outcome for seen in AUTOGRAD.observe(program_of(THROUGH))][-1:]
    assert isinstance(result, Returned)
    assert done.stdout.strip() == str(result.values[1].value)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.rule} {entry.op}")
def test_each_difference_shows_in_its_witness(entry):
    violation = violation_of(entry.witness, AUTOGRAD)
    assert violation is not None
    assert is_known(entry, entry.witness, violation)


# -- faults ------------------------------------------------------------------------------------------------------------


class Forgets(HipsAutograd):
    """The last argument of a function is treated as a constant."""

    def vjp(self, function, values, cotangents):
        *rest, last = super().vjp(function, values, cotangents)
        return [*rest, 0 * last]


class Weights(HipsAutograd):
    """Cotangents are ignored."""

    def vjp(self, function, values, cotangents):
        return super().vjp(function, values, [0 * each + 1 for each in cotangents])


class Flat(HipsAutograd):
    """Inside a function, a gradient is doubled."""

    depth = 0

    def vjp(self, function, values, cotangents):
        self.depth += 1
        made = super().vjp(function, values, cotangents)
        self.depth -= 1
        return [2 * each for each in made] if self.depth else made


class Writes(HipsAutograd):
    """A call writes to its cotangents."""

    def vjp(self, function, values, cotangents):
        made = super().vjp(function, values, cotangents)
        cotangents[0][...] = 7
        return made


@pytest.mark.parametrize(
    ("fault", "text", "rule"),
    [
        (Forgets, FIRST, "gradients/op"),
        (Forgets, SEVERAL, "gradients/op"),
        (Weights, SEVERAL, "gradients/cotangent"),
        (Flat, SECOND, "higher/op"),
        (Writes, FIRST, "gradients/cotangent-kept"),
    ],
)
def test_a_fault_breaks_a_rule(fault: Callable[[], HipsAutograd], text: str, rule: str):
    violation = violation_of(program_of(text), InProcess(fault()))
    assert violation is not None
    assert violation.rule == rule


# -- what is drawn -----------------------------------------------------------------------------------------------------

DRAWN = [(rule, test) for rule, test in TESTS if rule.partition("/")[0] in ("gradients", "functional", "relations")]
DRAWN = [(rule, test) for rule, test in DRAWN if RULES[rule].needs <= HipsAutograd.capabilities]


@pytest.mark.parametrize(("rule", "test"), DRAWN, ids=lambda each: getattr(each, "__name__", each))
def test_gradients_are_asked_for_in_the_functional_form_alone(rule: str, test: Callable[..., None]):
    claims = HipsAutograd.capabilities
    calls: list[Grad] = []

    def check(case: Program | Drawn | Related) -> None:
        for program in programs_of(case):
            assert needs(program) <= claims
            assert not any(isinstance(step, Backward) for step in program)
            calls.extend(step for step in program if isinstance(step, Grad))

    with alphabet.using(alphabet.Alphabet(tuple(sorted(HipsAutograd.ops)), capabilities=claims)):
        try:
            all_of(test, check)
        except Unsupported:
            pytest.skip("not applicable")
    assert calls
    assert all(call.materialize_grads and call.allow_unused is None for call in calls)


def test_a_claim_lets_other_inputs_in():
    inner = program_of(f"a = leaf 2; b = exp a; c = exp b; d = grad c wrt b with 1 {ZEROS}")
    twice = program_of(f"a = leaf 2; b = exp a; c, d = grad b wrt a, a with 1 {ZEROS}")
    options = program_of("a = leaf 2; b = exp a; c = grad b wrt a with 1 unused=True")
    assert Capability.ANY_INPUTS in needs(inner) & needs(twice)
    assert Capability.UNUSED in needs(options) - needs(inner)
    assert {Capability.UNUSED, Capability.ANY_INPUTS}.isdisjoint(needs(program_of(SEVERAL)))


# -- known differences -------------------------------------------------------------------------------------------------


class Loses(HipsAutograd):
    """Only the last of several cotangents is used."""

    def vjp(self, function, values, cotangents):
        return super().vjp(function, values, [*(0 * each for each in cotangents[:-1]), cotangents[-1]])


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (f"a = leaf [1, 2]; b = sin a; c = grad b, b wrt a with [1, 1], [2, 2] {ZEROS}", True),
        (f"a = leaf [1, 2]; b = sin a; c = grad b, a wrt a with [1, 1], [2, 2] {ZEROS}", True),
        (f"a = leaf [1, 2]; b = sin a; c = exp a; d = grad b, c wrt a with [1, 1], [2, 2] {ZEROS}", False),
    ],
)
def test_an_entry_can_be_about_roots_that_stand_twice(text: str, holds: bool):
    (entry,) = [each for each in known("mlx") if each.get(DuplicateRoot)]
    program = program_of(text)
    violation = violation_of(program, InProcess(Loses()))
    assert violation is not None
    assert is_known(entry, program, violation) is holds
