"""Related programs: the comparison, and how a difference is shown, stored and replayed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from autograd_conformance.checking.check import Check, RuleViolated, related_as
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.failures.record import failure
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions
from autograd_conformance.frameworks.running.regions import observe
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.plugin.replay import replay
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.observations import Gradient, Observation, Returned
from autograd_conformance.programs.validation import MalformedProgram, validate
from autograd_conformance.reporting.records.encoding import decode, encode
from autograd_conformance.reporting.render import text
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.relations import codec
from autograd_conformance.rules.relations.relation import Alike, Related, Relation, relate
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.random_programs import programs
from autograd_conformance.strategies.relations import gradients, interleaving
from evaluation.mutants.relations import WalksOneRoot

TORCH = Torch()
A = Ref(0)
ONCE = "a = leaf [1, 2]; b = square a; backward b with [1, 2]"
TWICE = "a = leaf [1, 2]; b = square a; backward b with [1, 2] retain=True; backward b with [1, 2]"

QUICK = settings(
    max_examples=60, database=None, deadline=None, phases=[Phase.generate], derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


def program(source: str) -> Program:
    """A program in text form."""
    return parse(source, VOCABULARY)


def related(first: str, second: str, *alike: Alike, **about: Any) -> Related:
    """Two programs in text form."""
    return Related(about.pop("rule", "relations/sum"), program(first), program(second), alike, **about)


def compared(pair: Related, one: Observation | None = None, other: Observation | None = None) -> Relation:
    """The comparison on PyTorch, or on observations that are given."""
    return relate(pair, one or run(pair.first, TORCH), other or run(pair.second, TORCH))


def changed(observed: Observation, at: int, ref: Ref, **about: Any) -> Observation:
    """An observation in which a gradient is another one after an instruction."""
    gradient = observed[at].gradients[ref]
    assert isinstance(gradient, Gradient)
    new = replace(observed[at], gradients={**observed[at].gradients, ref: replace(gradient, **about)})
    return (*observed[:at], new, *observed[at + 1 :])


# -- gradients at the end ----------------------------------------------------------------------------------------------


def test_multiples_are_alike():
    assert compared(related(TWICE, ONCE, Alike(A, (A,), 2.0))) == Relation(None, True)


def test_a_gradient_that_is_no_such_multiple_is_a_difference():
    violation = compared(related(TWICE, ONCE, Alike(A, (A,), 3.0))).violation
    assert violation is not None
    assert (violation.rule, violation.at, violation.subject) == ("relations/sum", 3, A)
    assert violation.observed_text() == "a gets [ 4., 16.]; in the second program a gets [2., 8.]"
    assert violation.allowed_texts() == (("the gradient is 3 times that of the second program", "relations/sum"),)
    assert violation.want is not None
    assert violation.want.tolist() == [6, 24]


def test_results_of_the_functional_form_are_gradients_that_may_be_added():
    terms = "a = leaf [1, 2]; b = square a; c = sin a"
    first = f"{terms}; d = add b c; g = grad d wrt a with [1, 2]"
    second = f"{terms}; g = grad b wrt a with [1, 2]; h = grad c wrt a with [1, 2]"
    assert compared(related(first, second, Alike(Ref(4), (Ref(3), Ref(4))))) == Relation(None, True)
    wrong = compared(related(first, second, Alike(Ref(4), (Ref(3),)))).violation
    assert wrong is not None
    assert "in the second program d gets" in wrong.observed_text()


def test_rounding_is_no_difference_and_more_is():
    pair = related(ONCE, ONCE, Alike(A, (A,)))
    observed = run(pair.first, TORCH)
    near = changed(observed, 2, A, value=np.array([2.0, 8.0 * (1 + 1e-15)]))
    far = changed(observed, 2, A, value=np.array([2.0, 8.0 * (1 + 1e-12)]))
    assert compared(pair, observed, near).violation is None
    assert compared(pair, observed, far).violation is not None


@pytest.mark.parametrize("which", [0, 1])
def test_a_call_that_fails_in_one_program_only_is_a_difference(which: int):
    fails = f"{ONCE}; backward b with [1, 2]"
    pair = related(*((fails, ONCE) if which == 0 else (ONCE, fails)), Alike(A, (A,)))
    violation = compared(pair).violation
    assert violation is not None
    assert (
        violation.observed_text()
        == f"the {('first', 'second')[which]} program raises RuntimeError (graph freed) on line 4"
    )
    assert compared(related(fails, fails, Alike(A, (A,)))) == Relation(None, False)


def test_gradients_that_are_one_object_are_judged_by_another_rule():
    pair = related(*["a = leaf 1; b = leaf 2; c = multiply a b; backward c"] * 2, Alike(A, (A,), 2.0))
    observed = run(pair.first, TORCH)
    assert compared(pair, observed, observed).violation is not None
    shared = changed(observed, 3, Ref(1), identity=observed[3].gradients[A].identity)  # type: ignore[union-attr]
    assert compared(pair, observed, shared) == Relation(None, False)


def test_zeros_and_nothing_are_alike():
    first, second = "a = leaf 1; b = sign a; backward b", "a = leaf 1; b = sin a; c = detach b"
    assert compared(related(first, second, Alike(A, (A,)))) == Relation(None, False)


# -- the same instructions ---------------------------------------------------------------------------------------------

FORWARD = "a = leaf [1, 2]; b = square a; c = leaf [3, 4]; d = sin c; backward b with [1, 2]; backward d with [1, 2]"
OTHERWISE = "c = leaf [3, 4]; d = sin c; a = leaf [1, 2]; b = square a; backward b with [1, 2]; backward d with [1, 2]"
SAME = ((0, 2), (1, 3), (2, 0), (3, 1), (4, 4), (5, 5))


@pytest.mark.parametrize("exact", [True, False])
def test_only_the_order_of_instructions_may_differ(exact: bool):
    pair = related(FORWARD, OTHERWISE, same=SAME, exact=exact, rule="relations/order")
    assert compared(pair) == Relation(None, True)
    observed = run(pair.second, TORCH)
    near = changed(observed, 5, Ref(2), value=np.array([2.0, 8.0 * (1 + 2.3e-16)]))
    violation = compared(pair, other=near).violation
    assert (violation is not None) is exact
    far = compared(pair, other=changed(observed, 5, Ref(2), value=np.array([2.0, 8.5]))).violation
    assert far is not None
    assert far.observed_text() == "the gradient of a is [2., 8.], but [2. , 8.5] in the second program"
    assert compared(pair, other=changed(observed, 5, Ref(2), requires_grad=True)).violation is not None


def test_results_of_the_functional_form_may_be_a_rounding_off():
    cancels = (
        "a = leaf [1, 2, 3]; b = sin a; c = tanhshrink a; d = add b c; g = grad d wrt a with [1, 2, 3]",
        "a = leaf [1, 2, 3]; b = tanhshrink a; c = sin a; d = add c b; g = grad d wrt a with [1, 2, 3]",
    )
    pair = related(*cancels, same=((0, 0), (1, 2), (2, 1), (3, 3), (4, 4)), exact=False, rule="relations/order")
    assert compared(pair).violation is None
    outcome = run(pair.second, TORCH)[4].outcome
    assert isinstance(outcome, Returned)
    tensor = outcome.values[0]
    assert tensor is not None
    observed = run(pair.second, TORCH)
    far = (*observed[:4], replace(observed[4], outcome=Returned((replace(tensor, value=tensor.value * (1 + 1e-8)),))))
    assert compared(pair, other=far).violation is not None


def test_bits_are_not_compared_where_the_framework_gives_others_each_time():
    class Shaken(Torch):
        """Every second gradient is a rounding off."""

        count = 0

        def gradient(self, leaf: Any) -> Any:
            self.count += 1
            held = super().gradient(leaf)
            return held if held is None or self.count % 2 else held * (1 + 2.3e-16)

    class Placed(Torch):
        """The gradient of the leaf that was made second is a rounding off, each time."""

        leaves = 0

        def leaf(self, data: np.ndarray, requires_grad: bool) -> Any:
            made = super().leaf(data, requires_grad)
            self.leaves += 1
            made.is_off = self.leaves % 2 == 0
            return made

        def gradient(self, leaf: Any) -> Any:
            held = super().gradient(leaf)
            return held * (1 + 2.3e-16) if held is not None and leaf.is_off else held

    pair = related(FORWARD, OTHERWISE, same=SAME, exact=True, rule="relations/order")
    placed = InProcess(Placed())
    one, other = placed.observe(pair.first), placed.observe(pair.second)
    assert related_as(pair, one, other, placed).violation is not None
    shaken = InProcess(Shaken())
    one, other = run(pair.first, TORCH), run(pair.second, TORCH)
    near = changed(other, 5, Ref(2), value=np.array([2.0, 8.0 * (1 + 2.3e-16)]))
    far = changed(other, 5, Ref(2), value=np.array([2.0, 8.5]))
    assert related_as(pair, one, near, shaken).violation is None
    assert related_as(pair, one, far, shaken).violation is not None


def test_bits_are_not_compared_if_either_program_rarely_gives_others():
    pair = related(FORWARD, OTHERWISE, same=SAME, exact=True, rule="relations/order")
    one, other = run(pair.first, TORCH), run(pair.second, TORCH)
    near = [
        changed(observed, 5, leaf, value=np.array([2.0, 8.0 * (1 + 2.3e-16)]))
        for observed, leaf in ((one, A), (other, Ref(2)))
    ]
    assert compared(pair, one, near[1]).violation is not None
    assert related_as(pair, one, near[1], InProcess(TORCH)).violation is None
    assert related_as(pair, near[0], other, InProcess(TORCH)).violation is None
    far = changed(other, 5, Ref(2), value=np.array([2.0, 8.5]))
    assert related_as(pair, one, far, InProcess(TORCH)).violation is not None


# -- what is drawn -----------------------------------------------------------------------------------------------------

DRAWN = {
    "relations/sum": gradients.sums,
    "relations/scaling": gradients.scalings,
    "relations/sharing": gradients.sharings,
    "relations/repeated": gradients.repetitions,
    "relations/order": interleaving.orders,
    "relations/interleaved": interleaving.interleavings,
}


def test_every_rule_has_a_strategy():
    assert set(DRAWN) == {slug for slug in RULES if slug.startswith("relations/")}


@pytest.mark.parametrize("rule", DRAWN)
def test_pairs_are_sound_and_can_be_written_down(rule: str):
    @QUICK
    @given(pair=DRAWN[rule]())
    def check(pair: Related) -> None:
        assert pair.rule == rule
        for each in (pair.first, pair.second):
            assert validate(each, VOCABULARY) is each
        assert pair.alike or pair.same
        form = json.loads(json.dumps(codec.to_json(pair)))
        assert codec.from_json(form, VOCABULARY) == pair

    check()


def test_another_order_keeps_every_instruction_after_its_inputs():
    moved = 0

    @QUICK
    @given(pair=interleaving.orders())
    def check(pair: Related) -> None:
        nonlocal moved
        place = dict(pair.same)
        for at, before in enumerate(interleaving.predecessors(pair.first)):
            assert all(place[other] < place[at] for other in before)
        moved += pair.first != pair.second

    check()
    assert moved >= 30


def test_a_program_among_another_keeps_its_order():
    @QUICK
    @given(pair=interleaving.interleavings())
    def check(pair: Related) -> None:
        places = [place for _, place in pair.same]
        assert places == sorted(places)
        assert len(pair.first) < len(pair.second)

    check()


@QUICK
@given(drawn=programs(), data=st.data())
def test_separating_a_value_does_not_change_the_rest(drawn: Drawn, data: st.DataObject):
    program = drawn.program
    uses = [(at, k) for at, step in enumerate(program) for k, _ in enumerate(getattr(step, "args", ()))]
    if not uses or program.stateful:
        return
    at, k = data.draw(st.sampled_from(uses))
    value = program[at].args[k]  # type: ignore[union-attr]
    if not hasattr(program[value.at], "args"):
        return
    other, new = gradients.recompute_for_one_use(program, value, at, k, data.draw(st.booleans()))
    assert validate(other, VOCABULARY) is other
    assert len(other) > len(program)
    assert all(type(other[new[ref].at]) is type(program[ref.at]) for ref in new)


# -- on paper ----------------------------------------------------------------------------------------------------------

ROOTS = related(
    "a = leaf [1, 2]; b = square a; c = sin a; backward b, c with [1, 2], [1, 2]",
    "a = leaf [1, 2]; b = square a; c = sin a; backward b with [1, 2] retain=True; backward c with [1, 2]",
    Alike(A, (A,)),
)


def broken() -> RuleViolated:
    """How a mutant fails on two related programs."""
    check = Check(InProcess(WalksOneRoot()))
    with pytest.raises(RuleViolated) as caught:
        check(ROOTS)
    assert check.programs == 1
    assert check.exercised == {"relations/sum": 1}
    return caught.value


def test_a_failure_shows_both_programs(tmp_path):
    session = Session.of(Settings("evaluation.mutants.relations:WalksOneRoot", tmp_path))
    shown = failure(broken(), "suites/test_relations.py::test_sums", session)
    assert len((shown.other or "").splitlines()) == 5
    assert shown.diagnosis is not None
    assert "the second program breaks no rule" in shown.diagnosis
    assert decode(json.loads(json.dumps(encode(shown)))) == shown
    page = text.render(shown)
    assert page.index("# The second program") > page.index("# The first program") > page.index("The shortest program")
    assert "It must agree with:" not in page
    assert re.findall(r"  # (\d.*)", shown.script)[:4] == ["1", "2", "3", "4 <--"]
    assert "c.backward" in page
    assert shown.script.count("a.grad is") == 2
    compile(shown.script, "script", "exec")


def test_a_failure_of_two_programs_is_replayed(tmp_path):
    session = Session.of(Settings("evaluation.mutants.relations:WalksOneRoot", tmp_path))
    shown = failure(broken(), "suites/test_relations.py::test_sums", session)
    record = tmp_path / "record.json"
    record.write_text(json.dumps(encode(shown)))
    for path in (tmp_path / "replay" / "relations-sum.sums.json", record):
        replayed = replay(path, session.framework.target)
        assert (replayed.verdict, replayed.reason) == ("still failing", "relations/sum")
        assert replayed.broken is not None
        assert replayed.broken.related == ROOTS
        assert replay(path, InProcess(TORCH)).verdict == "fixed"
    tiny = Session.of(Settings("examples.tiny_adapter:Tiny", tmp_path))
    assert replay(record, tiny.framework.target).verdict == "cannot run"


@pytest.mark.parametrize(
    ("name", "value"),
    [("first", None), ("second", {}), ("relation", "no/rule"), ("alike", [["%9", ["%0"], 1]]), ("same", [[0, 99]]),
     ("alike", 3), ("alike", [["x", [], 1]])],
)  # fmt: skip
def test_a_malformed_relation_is_refused(name: str, value: object):
    form = {**codec.to_json(ROOTS), name: value}
    with pytest.raises((MalformedProgram, ValueError)):
        codec.from_json(form, VOCABULARY)
    with pytest.raises(MalformedProgram):
        codec.from_json({k: v for k, v in form.items() if k != name}, VOCABULARY)


# -- functions --------------------------------------------------------------------------------------------------------


def last_bits(observation: Observation, times: int, at: int = -1) -> Observation:
    """An observation in which each gradient that a call left is off by some units in the last place."""

    def off(value: np.ndarray) -> np.ndarray:
        return value + times * np.spacing(value)

    observed = observation[at]
    gradients = {ref: held and replace(held, value=off(held.value)) for ref, held in observed.gradients.items()}
    return (*observation[:at], replace(observed, gradients=gradients), *observation[len(observation) + at + 1 :])


LEAVES = "a = leaf [1.1, 2.3]; c = leaf [0.7, 1.9]; "
ONE = program(LEAVES + "b = exp a; d = sin b; backward d with [1, 1]")
CUT = program(LEAVES + "b = exp a; u = cos c; d = sin b; backward d with [1, 1]")
APART = program(LEAVES + "b = exp a; d = sin b; backward d with [1, 1]; u = cos c; backward u with [1, 1]")
LINES = tuple((at, at) for at in range(5))
AMONG = ((0, 0), (1, 1), (2, 2), (3, 4), (4, 5))


@pytest.mark.parametrize(
    ("second", "same", "times", "framework", "differs"),
    [
        (CUT, AMONG, 2, TorchRegions, False),  # another function computes it: its sums may be in another order
        (CUT, AMONG, 2**20, TorchRegions, True),  # and no rounding explains that
        (ONE, LINES, 2, TorchRegions, True),  # the same function
        (APART, LINES, 2, TorchRegions, True),  # and behind it, another one
        (CUT, AMONG, 2, Torch, True),  # no function anywhere
    ],
)
def test_bits_are_compared_where_the_same_functions_run(
    second: Program, same: tuple[tuple[int, int], ...], times: int, framework: type, differs: bool
) -> None:
    pair, adapter = Related("relations/interleaved", ONE, second, same=same, exact=True), framework()
    one = observe(ONE, adapter)
    at = same[-1][1] - len(second)
    relation = relate(pair, one, last_bits(observe(second, adapter), times, at))
    assert (relation.violation is not None) == differs
    assert relation.decided


def test_a_hook_may_be_called_with_the_rounding_of_another_function() -> None:
    hooked = LEAVES + "b = exp a; {}d = sin b; h = hook a observe; backward d with [1, 1]"
    first, second = (program(hooked.format(more)) for more in ("", "u = cos c; "))
    same = ((0, 0), (1, 1), (2, 2), (3, 4), (4, 5), (5, 6))
    pair, adapter = Related("relations/interleaved", first, second, same=same, exact=True), TorchRegions()
    one, other = observe(first, adapter), observe(second, adapter)
    for times, differs in ((2, False), (2**20, True)):
        (call,) = other[-1].fired
        assert call.value is not None
        fired = (replace(call, value=call.value + times * np.spacing(call.value)),)
        found = relate(pair, one, (*other[:-1], replace(other[-1], fired=fired))).violation
        assert (found is not None) == differs
