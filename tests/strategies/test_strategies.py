"""Counts features of drawn programs: if the situations of rules do not occur often enough, passing a rule means
nothing.

The floors are about half of the shares observed when they were set. `pytest -s` prints the tables.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.checking.support.unsupported import unsupported_by, unsupported_forms
from autograd_conformance.frameworks.loading.requirements import CLAIMS_OF
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import known
from autograd_conformance.ops.catalogue import VOCABULARY, WRITES
from autograd_conformance.ops.limits import Limit
from autograd_conformance.ops.needs import needs
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Apply, Backward, Grad, Program, SetRequiresGrad
from autograd_conformance.programs.validation import validate
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES, Level
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.rules.situations import FEW_DIGITS
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.drafts.ops import Ops
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness.choices import Choices
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.random_programs import programs
from autograd_conformance.strategies.sequences import sequences
from autograd_conformance.strategies.situations import gradients
from tests.frameworks.adapters.limited import Limited
from tests.strategies.census import features, programs_of, situations, size

N = 1500
EACH = 60
PER_RULE = 60
SUITES = sorted((Path(__file__).parents[2] / "suites").glob("test_*.py"))
INEXACT = frozenset({"hardsigmoid", "digamma", "matrix_exp", "kron", "batch_norm_affine"})
"""Ops in which PyTorch has known faults, or less accuracy than their dtype allows."""

SITUATIONS: dict[str, Callable[[], st.SearchStrategy[Program | Drawn]]] = {
    name: make for name, make in situations().items() if name not in ("single_ops", "single_writes")
}

for profile, examples in {"counting": PER_RULE, "limiting": PER_RULE // 4}.items():
    settings.register_profile(
        profile, database=None, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck),
        max_examples=examples, derandomize=True,
    )  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def exact_ops() -> Iterator[None]:
    """Draw without the ops that PyTorch is known to get wrong."""
    with alphabet.using(alphabet.Alphabet(tuple(OPS)).without(INEXACT)):
        yield


@cache
def counts(name: str, count: int) -> tuple[Counter[str], Counter[str], int]:
    """Number of programs of a strategy with each feature, sums over all programs, and the number of programs."""
    strategy = programs() if name == "programs" else SITUATIONS[name]()
    counted, sums = Counter[str](), Counter[str]()

    @seed(20250130)
    @settings(settings.get_profile("counting"), max_examples=count)
    @given(drawn=strategy)
    def collect(drawn: Program | Drawn) -> None:
        (program,) = programs_of(drawn)
        counted.update(features(program))
        ops, calls = size(program)
        sums.update({"programs": 1, "ops": ops, "calls": calls})
        sums.update(f"op {step.op}" for step in program if isinstance(step, Apply))
        assert validate(program, VOCABULARY) is program

    collect()
    return counted, sums, sums["programs"]


# -- features ----------------------------------------------------------------------------------------------------------

FLOORS = {
    "diamond": (5, 3),
    "value used eight times or more": (0, 0.2),
    "same value as both arguments": (10, 15),
    "several roots on one subgraph": (3, 0.6),
    "independent graphs that share leaves": (7, 3),
    "root rebuilt after its graph was freed": (0, 0.8),
    "new root on a freed subgraph": (1, 0.6),
    "freed graph walked again": (9, 3.5),
    "freed graph that saved nothing, walked again": (3, 0.5),
    "op after a backward, walked later": (20, 2.5),
    "backward called three times or more": (20, 6),
    "leaf that requires no grad": (12, 8),
    "unused leaf": (7, 3.5),
    "leaves of equal value": (0.4, 4),
    "zero among the values": (20, 11),
    "cotangent with zeros": (15, 7),
    "rank 0": (7, 5),
    "rank 1": (30, 25),
    "rank 2": (35, 25),
    "rank 3": (16, 6),
    "rank 4": (7, 2.5),
    "dimension of 0": (11, 1.5),
    "dimension of 1": (30, 10),
    "float32": (25, 23),
    "float64": (25, 25),
    "another default dtype": (2, 1.5),
    "assigned gradient": (0, 1.5),
    "call restricted to inputs": (0, 2),
    "create_graph": (0, 3),
    "detached in place": (0, 1),
    "functional call": (0, 8),
    "grad modes inside one another": (0, 2.5),
    "gradient as a value": (0, 3.5),
    "hook after accumulation": (0, 0.8),
    "hook that is removed": (0, 1.5),
    "hook that would misshape": (0, 0.6),
    "hook that would observe": (0, 2),
    "hook that would raise": (0, 0.5),
    "hook that would replace": (0, 0.8),
    "hook that would scale": (0, 1.5),
    "legal instruction after an error": (14, 10),
    "optimizer's step": (0, 2),
    "recorded write": (0, 6),
    "retained gradient": (0, 1),
    "several calls with create_graph": (0, 1),
    "several hooks on one value": (0, 2),
    "switch off": (0, 1),
    "switch on": (0, 0.9),
    "unrecorded write": (0, 3.5),
    "view of a view": (2.5, 2),
    "view, detached": (0.1, 0.8),
    "write to a detached value": (0, 0.2),
    "write to a gradient": (0, 0.6),
    "write to a leaf that requires grad": (0, 1.5),
    "write to a view": (0, 3),
    "write to what has views": (0, 1),
}
"""Smallest percentage of programs with each feature: of `programs()`, and of all situations."""


def missing(counted: Counter[str], total: int, which: int) -> dict[str, str]:
    """The features that too few programs have; prints the table."""
    print(f"\nof {total} {('drawn by programs()', 'drawn by all situations')[which]}:")
    for name, count in counted.most_common():
        print(f"{count:7} {count / total:6.1%}  {name}")
    return {
        name: f"{counted[name]} of {total}"
        for name, floors in FLOORS.items()
        if 100 * counted[name] < floors[which] * total
    }


def test_programs_have_every_feature():
    counted, _, total = counts("programs", N)
    assert total == N
    assert not missing(counted, total, 0)


def test_situations_have_every_feature():
    counted = sum((counts(name, EACH)[0] for name in SITUATIONS), Counter[str]())
    assert not missing(counted, EACH * len(SITUATIONS), 1)


def test_no_feature_goes_uncounted():
    everything = counts("programs", N)[0] + sum((counts(name, EACH)[0] for name in SITUATIONS), Counter[str]())
    assert set(everything) == set(FLOORS)


# -- sizes and ops -----------------------------------------------------------------------------------------------------


def test_programs_are_of_a_size():
    _, sums, total = counts("programs", N)
    ops, calls = sums["ops"] / total, sums["calls"] / total
    print(f"\nprograms(): {ops:.1f} ops and {calls:.1f} calls on average")
    assert 6 <= ops <= 12
    assert 2.5 <= calls <= 5


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_situation_computes_and_calls(name: str):
    _, sums, total = counts(name, EACH)
    assert total == EACH
    assert sums["ops"] >= 0.7 * total
    assert sums["calls"] >= 0.9 * total


@pytest.mark.slow
def test_nearly_every_op_is_drawn():
    """Each op also has a separate test. This test is about ops in combination, of which a run may miss a few."""
    sums = sum((counts(name, EACH)[1] for name in SITUATIONS), counts("programs", N)[1])
    used = Counter({name: sums[f"op {name}"] for name in OPS if sums[f"op {name}"]})
    rarest, common = used.most_common()[:-9:-1], used.most_common(8)
    print(f"\n{len(used)} of {len(OPS)} ops in {sums['programs']} programs; most: {common}; least: {rarest}")
    assert not INEXACT & set(used)
    assert len(used) >= 0.97 * len(OPS)


@pytest.mark.parametrize("name", sorted(set(OPS) - INEXACT))
def test_an_op_is_drawn_by_itself(name: str):
    """Another op replaces one with tied operands or large results, but not too often."""
    applied = []

    @settings(settings.get_profile("counting"), max_examples=10)
    @given(drawn=gradients.single_ops(name))
    def check(drawn: Drawn) -> None:
        applied.extend(step.op for step in drawn.program if isinstance(step, Apply))

    check()
    assert applied.count(name) >= 3, applied


# -- rules -------------------------------------------------------------------------------------------------------------

TORCH, COUNTING = Torch(), TorchSaved()
KNOWN = known("torch", device="cpu")
SAMPLED = {"op": sorted(set(OPS) - INEXACT)[::10], "write": sorted(set(WRITES) - {f"{op}_" for op in INEXACT})[::5]}
"""Names of the ops and writes for which tests of one op or write are run."""


def suite_tests(profile: str) -> Iterator[tuple[str, Callable[..., None]]]:
    """All tests of the suites with their rules, and with the settings of a profile if they draw."""
    before = settings.get_current_profile_name()
    settings.load_profile(profile)
    try:
        for path in SUITES:
            if path.stem == "test_units":  # situations of regions are counted in test_regions.py
                continue
            spec = importlib.util.spec_from_file_location(f"counted_{path.stem}", path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            for function in vars(module).values():
                marks = [mark for mark in getattr(function, "pytestmark", ()) if mark.name == "rule"]
                if marks:
                    yield marks[0].args[0], function
    finally:
        settings.load_profile(before)


ALL_TESTS = list(suite_tests("counting"))


def draws_alone(test: Callable[..., None]) -> bool:
    """Whether a test's only fixtures are a check, and an op or a write."""
    asks = set(inspect.signature(test).parameters) - {"check", "op", "write"}
    return hasattr(test, "hypothesis") and not asks


TESTS = [(rule, test) for rule, test in ALL_TESTS if draws_alone(test)]
SHORT_TESTS = [(rule, test) for rule, test in suite_tests("limiting") if draws_alone(test)]
IDS = [f"{rule} {test.__name__}" for rule, test in TESTS]
LEAST = {
    "test_graph": 0.2,
    "test_op": 0.4,
    "test_again": 0.4,
    "test_constant": 0.4,
    "test_walked_only": 0.7,
    "test_zero_to_none": 0.6,
    "test_zero_to_zeros": 0.6,
    "hooks/retained": 0.7,
    "memory/retained": 0.7,
    "test_cycles": 0.6,
    "gradients/digits": 0.5,
    "test_root_raises": 0.6,
    "test_several_results": 0.5,
    "test_called_beside_writes": 0.35,
    "sequences/history": 0.5,
    "writes/recorded": 0.35,
    "views/history": 0.45,
    "test_created_graphs": 0.5,
}
"""Smallest share of a test's programs that must exercise its rule, if that is not 0.8.

Half of the programs of single ops contain another op for the layout of an operand or cotangent. An op occurs several
times in programs of `test_again`, with or without separate calls. Of 600 programs each, a share of 0.80 drew a cycle
that counts, 0.76 cleared an existing gradient, 0.80 had a call that keeps saved tensors, and 0.80 to 0.92 traversed a
value that retains its gradient. In a third to a half of the programs of the last three, a call may raise, because a
value that it needs was written to or its graph was freed, and does: nothing is compared there.
"""

LEAST_PROGRAMS = {"test_rounds": 40}
"""Number of programs of tests that draw fewer than others."""


def all_of(test: Callable[..., None], check: Callable[[Program | Drawn | Related], None]) -> None:
    """Run a test, for some ops if it has a parameter for the op."""
    parameters = [name for name in ("op", "write") if name in inspect.signature(test).parameters]
    for name in parameters:
        for value in SAMPLED[name]:
            if name != "op" or value in alphabet.current().ops:
                test(check=check, **{name: value})
    if not parameters:
        test(check=check)


def test_every_rule_has_a_test():
    """Every rule except those of level INFO, which judge nothing."""
    judged = {slug for slug, rule in RULES.items() if rule.level is not Level.INFO}
    assert not judged - {rule for rule, _ in ALL_TESTS}


def test_every_situation_has_a_test():
    text = "".join(path.read_text(encoding="utf-8") for path in SUITES)
    assert not [name for name in SITUATIONS if not re.search(rf"\b\w+\.{name}\(", text)]


@pytest.mark.parametrize(("rule", "test"), TESTS, ids=IDS)
def test_a_rule_is_put_to_the_test_by_its_own_suite(rule: str, test: Callable[..., None]):
    framework = COUNTING if Capability.COUNTS_SAVED in RULES[rule].needs else TORCH
    checked = Check(InProcess(framework), known=KNOWN)
    exercised = 0

    def check(case: Program | Drawn | Related) -> None:
        nonlocal exercised
        before = checked.exercised[rule]
        checked(case)
        exercised += checked.exercised[rule] > before

    current = alphabet.current()
    few = FEW_DIGITS in RULES[rule].situation
    with alphabet.using(replace(current, dtypes=("bfloat16",)) if few else current):
        all_of(test, check)
    print(f"\n{rule}, {test.__name__}: {exercised} of {checked.programs} programs")
    assert checked.programs >= LEAST_PROGRAMS.get(test.__name__, PER_RULE)
    assert exercised >= checked.programs * LEAST.get(test.__name__, LEAST.get(rule, 0.8))


def test_a_drawn_program_is_judged_by_the_reference_that_it_was_drawn_with():
    program, other = parse("a = leaf 3; b = sin a"), parse("a = leaf 4; b = sin a")
    check = Check(InProcess(TORCH))
    check(program)
    check(Drawn(program, Reference(program)))
    with pytest.raises(RuleViolated):
        check(Drawn(program, Reference(other)))


# -- frameworks that can less ------------------------------------------------------------------------------------------

SMALL = ("add", "multiply", "negative", "sum", "exp", "reshape", "select", "clone", "tanh")
"""The ops of a small framework."""


@pytest.mark.parametrize("ops", [tuple(sorted(set(OPS) - INEXACT)), SMALL], ids=["all ops", "few ops"])
@pytest.mark.parametrize(("rule", "test"), SHORT_TESTS, ids=IDS)
def test_programs_need_only_claimed_capabilities(rule: str, test: Callable[..., None], ops: tuple[str, ...]):
    claims = RULES[rule].needs | {Capability.IMPERATIVE, Capability.FREES}
    for claim, others in CLAIMS_OF.items():
        claims |= {others[0]} if claim in claims and not claims & {*others} else set()
    drawn_from = alphabet.Alphabet(tuple(op for op in OPS if op in ops), capabilities=claims)

    def check(case: Program | Drawn | Related) -> None:
        for program in programs_of(case):
            assert needs(program) <= claims
            assert {step.op for step in program if isinstance(step, Apply)} <= set(ops)

    with alphabet.using(drawn_from):
        try:
            all_of(test, check)
        except Unsupported:
            pytest.skip("not applicable")


@pytest.mark.parametrize(("rule", "test"), SHORT_TESTS, ids=IDS)
def test_programs_stay_within_limits(rule: str, test: Callable[..., None]):
    target = InProcess(Limited())

    def check(case: Program | Drawn | Related) -> None:
        for program in programs_of(case):
            assert not unsupported_by(program, target)

    with alphabet.using(alphabet_of(target, ("float64", "float32"))):
        try:
            all_of(test, check)
        except (Unsupported, Unsatisfiable):
            pytest.skip("not applicable")


def test_without_limits_programs_exceed_them():
    target, found = InProcess(Limited()), Counter[str]()

    @settings(settings.get_profile("counting"), max_examples=400)
    @given(programs())
    def drawn(case: Drawn) -> None:
        found.update(words.partition(" ")[0] for words in unsupported_forms(case.program, target))

    drawn()
    assert found.keys() >= {"sum", "add", "multiply", "matmul"}


@pytest.mark.parametrize("claimed", [True, False])
@pytest.mark.parametrize("strategy", [programs, sequences])
def test_cotangents_of_other_shapes_are_for_frameworks_that_claim_to_refuse_them(
    strategy: Callable[[], st.SearchStrategy[Drawn]], claimed: bool
):
    other = 0

    @settings(settings.get_profile("counting"), max_examples=25)
    @given(strategy())
    def drawn(case: Drawn) -> None:
        nonlocal other
        for call in case.program:
            if isinstance(call, Backward):
                pairs = zip(call.roots, call.cotangents)
                other += sum(c is not None and c.shape != np.shape(case.reference.values[root]) for root, c in pairs)

    claims = frozenset(Capability) - (frozenset() if claimed else {Capability.COTANGENT_CHECK})
    with alphabet.using(replace(alphabet.EVERYTHING, ops=SMALL, capabilities=claims)):
        drawn()
    assert (other > 0) is claimed


@pytest.mark.parametrize("strategy", [programs, sequences])
def test_without_cotangents_a_root_is_a_number_although_no_sum_is_over_all_dimensions(
    strategy: Callable[[], st.SearchStrategy[Drawn]],
):
    calls = 0

    @settings(settings.get_profile("counting"), max_examples=25)
    @given(strategy())
    def drawn(case: Drawn) -> None:
        nonlocal calls
        for call in case.program:
            if isinstance(call, Backward):
                calls += 1
                assert call.cotangents == (None,) * len(call.roots)

    claims = frozenset(Capability) - {Capability.COTANGENTS}
    single = {"sum": Limit({"dim": ((), (0,), (1,), (2,))})}
    with alphabet.using(replace(alphabet.EVERYTHING, ops=SMALL, capabilities=claims, limits=single)):
        drawn()
    assert calls > 10


def test_a_call_that_only_the_functional_form_can_make_has_inputs():
    @settings(settings.get_profile("counting"), max_examples=5)
    @given(st.data())
    def drawn(data: st.DataObject) -> None:
        draft = Draft(Choices(data.draw), tracked=False)
        leaf = draft.ops.required()
        made = draft.actions.backward_call([leaf], [None], None, True)
        assert isinstance(made, Grad) and made.inputs == (leaf,)
        draft.script.add(SetRequiresGrad(leaf, False))
        assert draft.actions.backward_call([leaf], [None], None, True) == Backward((leaf,), (None,), None)

    claims = frozenset(Capability) - {Capability.CREATES_IN_LEAVES}
    with alphabet.using(replace(alphabet.EVERYTHING, ops=SMALL, capabilities=claims)):
        drawn()


@pytest.mark.parametrize("op", ["cos", "atan", "silu", "gelu"])
def test_a_nonlinear_value_is_made_without_the_usual_ops(op: str):
    @settings(settings.get_profile("counting"), max_examples=10)
    @given(st.data())
    def drawn(data: st.DataObject) -> None:
        draft = Draft(Choices(data.draw), tracked=False)
        made = draft.ops.nonlinear(draft.ops.required())
        assert isinstance(step := draft.reference.steps[made.at], Apply) and step.op == op

    with alphabet.using(alphabet.Alphabet((op,))):
        drawn()


def test_the_replacement_of_a_view_is_in_the_domain(monkeypatch: pytest.MonkeyPatch):
    """An op of `CALM` replaces a view that is too large; its result must be in the op's domain."""
    monkeypatch.setattr(Choices, "rarely", lambda self, rarity: rarity == "beside")
    monkeypatch.setattr(Ops, "largest", 1)
    row, calm = OPS["binary_cross_entropy"], 0

    @settings(settings.get_profile("counting"), max_examples=50)
    @given(st.data())
    def drawn(data: st.DataObject) -> None:
        nonlocal calm
        draft = Draft(Choices(data.draw), tracked=False)
        draft.ops.draw("binary_cross_entropy", fresh=True)
        for step in draft.reference.steps:
            if isinstance(step, Apply) and step.op == "binary_cross_entropy":
                assert all(row.domain(k).holds(draft.reference.values[ref]) for k, ref in enumerate(step.args))
            calm += isinstance(step, Apply) and step.op == "negative"

    with alphabet.using(alphabet.Alphabet(("binary_cross_entropy", "reshape", "negative"))):
        drawn()
    assert calm
