"""Strategies of networks: both ways to call one agree, all settings occur, and faults in modules are detected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.modules import MODULES, TABLE
from autograd_conformance.ops.rows.domains import ANY
from autograd_conformance.ops.tables import OPS as ALL
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Apply, Backward, Literal, Program, Ref, Shape, Step
from autograd_conformance.programs.observations import Gradient, Observation
from autograd_conformance.programs.validation import validate
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.rounding.bounds import gradient_bound
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.judge.judgement import Judgement
from autograd_conformance.rules.relations.relation import Related, relate
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness.choices import Choices
from autograd_conformance.strategies.networks import (
    CELLS,
    Network,
    Recurrent,
    convolutional,
    layer_norm,
    linear,
    mlp,
    recurrent,
    transformer,
)
from autograd_conformance.strategies.networks.recurrent import Settings
from autograd_conformance.strategies.relations import networks as relations
from autograd_conformance.strategies.situations import networks as situations
from autograd_conformance.strategies.situations import recurrent as sequences
from examples.tiny_adapter import CAPABILITIES, OPS

TORCH = Torch()

KINDS: dict[str, Callable[[Draft], Network]] = {
    "linear": lambda a: linear(a, 1 + a.below(3), 2, bool(a.below(2))),
    "mlp": lambda a: mlp(a, 2, 1),
    "layer norm": layer_norm,
    "convolutional": convolutional,
    "attention": lambda a: transformer(a, "attention"),
    "encoder": lambda a: transformer(a, "encoder"),
    **{cell: lambda a, cell=cell: recurrent(a, cell) for cell in CELLS},  # type: ignore[misc]
}

PLAIN = settings(
    max_examples=40, database=None, deadline=None, phases=[Phase.generate], derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@pytest.fixture(autouse=True)
def modules() -> Iterator[alphabet.Alphabet]:
    """An alphabet with all modules."""
    with alphabet.using(replace(alphabet.current(), modules=tuple(MODULES))) as whole:
        yield whole


def drawn(strategy: st.SearchStrategy[Drawn], count: int = 40) -> list[Program]:
    """Programs drawn from a strategy."""
    found: list[Program] = []

    @settings(PLAIN, max_examples=count)
    @given(strategy)
    def draw(drawn: Drawn) -> None:
        found.append(drawn.program)

    draw()
    return found


def judged(
    program: Program, seen: Observation | None = None, claims: frozenset[Capability] = TORCH.capabilities
) -> Judgement:
    """The judgement of PyTorch's run of a program, or of a given observation."""
    reference = Reference() if program.stateful else Reference(program)
    return judge(program, seen or run(program, TORCH), reference, claims)


def exercised(program: Program) -> Counter[str]:
    """Number of programs of PyTorch that exercise each rule, all without a violation."""
    judgement = judged(program)
    assert judgement.violation is None
    return Counter(judgement.exercised)


def text(source: str) -> Program:
    """A program from its text."""
    return parse(source, VOCABULARY)


# -- both ways ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_both_ways_give_the_same(kind: str):
    @PLAIN
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        a = Draft(Choices(data.draw), "float64")
        network = KINDS[kind](a)
        inputs = network.inputs(a)
        here, there = network.module(a, *inputs), network.composed(a, *inputs)
        assert len(here) == len(there)
        for one, other in zip(here, there, strict=True):
            np.testing.assert_allclose(a.reference.values[one], a.reference.values[other], rtol=0, atol=1e-13)

    agree()


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_named_leaves_that_saturate_nothing(kind: str):
    @PLAIN
    @given(st.data())
    def named(data: st.DataObject) -> None:
        a = Draft(Choices(data.draw))
        network = KINDS[kind](a)
        assert len(network.names) == len(set(network.names)) == len(network.operands)
        assert set(network.parameters) == set(network.operands) <= set(a.script.leaves)
        assert len(set(network.parameters)) == len(network.parameters)
        assert all(np.abs(a.reference.values[ref]).max() <= 1 for ref in network.parameters)

    named()


def test_parameters_are_shared_now_and_then():
    shared = Counter[bool]()

    @settings(PLAIN, max_examples=200)
    @given(st.data())
    def count(data: st.DataObject) -> None:
        network = recurrent(Draft(Choices(data.draw)))
        shared[len(network.parameters) < len(network.operands)] += 1

    count()
    assert shared[True] > 5
    assert shared[False] > 50


@pytest.mark.parametrize("lacking", ["claim", "modules"])
def test_without_modules_networks_are_composed(modules: alphabet.Alphabet, lacking: str):
    claims = modules.capabilities - ({Capability.MODULES} if lacking == "claim" else set())
    alphabet.use(replace(modules, capabilities=claims, modules=() if lacking == "modules" else modules.modules))

    @PLAIN
    @given(st.data())
    def compose(data: st.DataObject) -> None:
        a = Draft(Choices(data.draw))
        network = data.draw(st.sampled_from(list(KINDS.values())))(a)
        network.call(a, *network.inputs(a))
        assert not any(isinstance(s, Apply) and s.op in MODULES for s in a.reference.steps)

    compose()


# -- what occurs -------------------------------------------------------------------------------------------------------


def test_every_setting_of_a_recurrent_network_occurs():
    seen = Counter[object]()
    for program in drawn(sequences.single(), 400):
        for step in program:
            if isinstance(step, Apply) and step.op in MODULES:
                seen[step.op] += 1
                seen.update(dict(step.attrs).items())
    wanted = [
        ("layers", 2),
        ("directions", 2),
        ("batch_first", True),
        ("bias", False),
        ("state", True),
        ("state", False),
    ]
    assert all(seen[each] >= 20 for each in (*wanted, "nn_rnn", "nn_gru", "nn_lstm"))


def test_every_module_occurs():
    seen = Counter[str]()
    for strategy in (situations.single(), situations.several()):
        seen.update(s.op for p in drawn(strategy, 300) for s in p if isinstance(s, Apply) and s.op in TABLE)
    assert set(seen) == {name for name in TABLE if name not in {f"nn_{cell}" for cell in CELLS}}
    assert min(seen.values()) >= 5


@pytest.mark.parametrize("strategy", [sequences.detached_states, sequences.carried_states])
def test_sequences_in_parts_carry_their_state_as_named(strategy: Callable[[], st.SearchStrategy[Drawn]]):
    rule = {"detached_states": "recurrent/detached-state", "carried_states": "recurrent/carried-state"}
    counts, stepped = Counter[bool](), 0
    for program in drawn(strategy(), 50):
        judgement = judged(program)
        counts[rule[strategy.__name__] in judgement.exercised] += 1
        stepped += any(isinstance(step, Step) for step in program)
    assert counts[True] >= 25
    assert 5 <= stepped <= 30


def test_few_ops_are_enough_for_sequences_in_parts(modules: alphabet.Alphabet):
    alphabet.use(alphabet.Alphabet(tuple(name for name in ALL if name in OPS), capabilities=frozenset(CAPABILITIES)))
    found = Counter[str]()
    for strategy in (sequences.detached_states(), sequences.carried_states()):
        for program in drawn(strategy, 30):
            found.update(exercised(program).keys())
    assert found["recurrent/detached-state"] > 20
    assert found["recurrent/carried-state"] > 10


# -- which calls meet a sequence in parts ------------------------------------------------------------------------------

FIRST = "w = leaf [2, 3]; x = leaf [1, 4] const; h = multiply x w; a = tanh h; backward a with [1, 1]; "


@pytest.mark.parametrize(
    ("rest", "rule", "meets"),
    [
        ("d = detach a; b = multiply d w; backward b with [1, 1]", "detached", True),
        ("d = detach a; y = sin d; b = multiply y w; backward b with [1, 1]", "detached", True),
        ("d = detach a; b = add d w; backward b with [1, 1]", "detached", False),
        ("d = detach x; b = multiply d w; backward b with [1, 1]", "detached", False),
        ("v = leaf [1, 1]; d = detach a; b = multiply d v; backward b with [1, 1]", "detached", False),
        ("b = multiply a w; backward b with [1, 1]", "carried", True),
        ("y = sin a; b = multiply y w; backward b with [1, 1]", "carried", True),
        ("backward a with [1, 1]", "carried", False),
        ("b = add a w; backward b with [1, 1]", "carried", False),
        ("y = multiply x w; b = add y a; backward b with [1, 1]", "carried", False),
        ("v = leaf [1, 1]; b = multiply a v; backward b with [1, 1]", "carried", False),
    ],
)
def test_a_state_is_distinguished_from_the_same_op_on_the_same_parameter(rest: str, rule: str, meets: bool):
    assert (f"recurrent/{rule}-state" in exercised(text(FIRST + rest))) == meets


# -- what is wrong is seen, and what is right is not blamed ------------------------------------------------------------


def long_sequence(cell: str, dtype: str) -> tuple[Program, Reference, Recurrent]:
    """Twelve steps of a cell, and a call on the output."""
    random = np.random.default_rng(5)
    a = Draft(Choices(lambda strategy: 0), dtype)
    a.operands.tensor = lambda shape, dtype=dtype, domain=ANY: _literal(random, shape, dtype)  # type: ignore[method-assign]
    network = recurrent(a, cell, 2, 2, Settings(layers=2, directions=2, state=True))
    x = network.sequence(a, 12, 1, True)
    out, *_ = network.module(a, x, *network.first(a, x, True))
    a.actions.backward(out)
    return a.program(), a.reference, network


def _literal(random: np.random.Generator, shape: Shape, dtype: str) -> Literal:
    return Literal(tuple((random.integers(-8, 9, int(np.prod(shape))) / 8).tolist()), shape, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("cell", CELLS)
def test_the_bound_of_a_long_sequence_is_neither_tight_nor_wide(cell: str, dtype: str):
    program, reference, network = long_sequence(cell, dtype)
    call = program[len(program) - 1]
    assert isinstance(call, Backward)
    seen = run(program, TORCH)[-1]
    for ref in network.parameters:
        expected = reference.pullbacks.of(call)[ref]
        bound, gradient = gradient_bound(reference, call, ref, dtype).array(), seen.gradients[ref]
        assert gradient is not None
        assert (np.abs(gradient.value - expected) <= bound / 4).all()
        assert bound.max() <= (1e-2 if dtype == "float32" else 1e-10) * np.abs(expected).max()


def scaled(observation: Observation, ref: Ref, factor: float) -> Observation:
    """The observation with one gradient at the end multiplied by a number."""
    gradient = observation[-1].gradients[ref]
    assert isinstance(gradient, Gradient)
    wrong = replace(gradient, value=gradient.value * factor)
    return (*observation[:-1], replace(observation[-1], gradients={**observation[-1].gradients, ref: wrong}))


@pytest.mark.parametrize("cell", CELLS)
def test_an_error_of_a_millionth_is_detected_in_every_parameter_and_blamed_on_the_module(cell: str):
    program, _, network = long_sequence(cell, "float64")
    observation = run(program, TORCH)
    assert judged(program, observation).violation is None
    for ref in network.parameters:
        violation = judged(program, scaled(observation, ref, 1 + 1e-6)).violation
        assert violation is not None
        assert (violation.rule, violation.subject) == ("recurrent/gradient", ref)


def test_other_modules_have_a_rule_of_their_own():
    program = text("w = leaf [[1, 2]]; x = leaf [[3, 4]]; y = nn_linear x w bias=False; backward y")
    violation = judged(program, scaled(run(program, TORCH), Ref(0), 2.0)).violation
    assert violation is not None
    assert violation.rule == "networks/gradient"
    without = TORCH.capabilities - {Capability.MODULES}
    violation = judged(program, scaled(run(program, TORCH), Ref(0), 3.0), without).violation
    assert violation is not None
    assert violation.rule == "gradients/graph"


# -- pairs -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("pair", [relations.modules, relations.recurrent_modules, relations.packed])
def test_pairs_compare_only_a_modules_results(pair: Callable[[], st.SearchStrategy[Related]]):
    used = Counter[bool]()

    @settings(PLAIN, max_examples=25)
    @given(pair())
    def compared(related: Related) -> None:
        for program in (related.first, related.second):
            validate(program)
        ops = [{s.op for s in p if isinstance(s, Apply)} for p in (related.first, related.second)]
        assert ops[0] & MODULES.keys()
        assert related.rule == "recurrent/packed" or not ops[1] & MODULES.keys()
        assert sum(isinstance(s, Apply) for s in related.first) <= 12
        one, other = run(related.first, TORCH), run(related.second, TORCH)
        relation = relate(related, one, other)
        assert relation.violation is None
        alike = next(a for a in related.alike if one[-1].gradients[a.first] is not None)
        gradient = one[-1].gradients[alike.first]
        assert gradient is not None
        if np.abs(gradient.value).max() > 1e-2:  # a hundredth of a smaller one may be within the rounding of float32
            used[True] += 1
            assert relate(related, scaled(one, alike.first, 1.01), other).violation is not None

    compared()
    assert used[True] > 12
