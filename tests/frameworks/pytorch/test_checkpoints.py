"""PyTorch's checkpoints with captured operands, reentrant, selective, and compiled: which instructions they accept, and
verdicts.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from torch.utils._python_dispatch import TorchDispatchMode

from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.modes.checkpoints import (
    TorchCheckpoint,
    TorchCheckpointCaptured,
    TorchCheckpointReentrant,
    TorchCheckpointSelective,
    TorchCompileCheckpoint,
)
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Kind, Raised, Returned
from autograd_conformance.rules.violations.expected import ExpectedError
from autograd_conformance.rules.violations.violation import Allowed

A = "a = leaf [1, 2]"
MADE = {each.name: InProcess(each()) for each in (TorchCheckpointCaptured, TorchCheckpointReentrant)}
CAPTURED, REENTRANT = MADE.values()

every = pytest.mark.parametrize("target", MADE.values(), ids=MADE)

RIGHT = [
    f"{A}; b = square a; c = sin b; backward c with [1, 2] retain=True; backward c with [1, 2]",
    f"{A}; b = square a; c = sin b; d = exp a; backward c with [1, 1]; backward d with [1, 1]",
    f"{A}; b = square a; write b exp_; c = sin b; backward c with [1, 2]",
    f"{A}; b = sin a; c = detach b; d = multiply b c; backward d with [1, 2]",
    f"{A}; no_grad: b = sin a; c = multiply a b; backward c with [1, 2]",
    "a = leaf f32 [1.5, 2]; c = leaf [3, 4]; b = sin a; d = multiply b c; backward d with [5, 6]",  # b is shown late
    "a = leaf f32 [1, 2]; b = sin a; c = clone b; d = sin a; e = leaf [3, 4]; f = multiply d e; backward f with [1, 2]",
    f"{A}; b = leaf [3, 4] const; c = square b; d = multiply a c; e = sin c; backward d with [1, 2]",
    f"{A}; b = reshape a shape=(2,1); c = square b; write c exp_; backward c with [[1], [2]]",
    f"{A}; b = square a; c = narrow b dim=0 start=0 length=1; write c exp_; d = detach b; backward b with [1, 2]",
]


@pytest.mark.parametrize("text", RIGHT)
@every
def test_what_pytorch_does_is_right(text: str, target: InProcess):
    program = parse(text, VOCABULARY)
    assert violation_of(program, target) is None
    assert first_violation(program, target.observe_printed(program), target) is None


@every
def test_they_are_adapters(target: InProcess):
    smoke(target.adapter)


@pytest.mark.parametrize("changes", ["write a exp_", "no_grad: write a exp_", "requires a True"])
def test_what_a_function_finds_changed_gives_any_numbers(changes: str):
    """The documentation warns about changed captured values, but not about changed arguments."""
    text = f"a = leaf [1, 2] const; b = leaf [3, 4]; c = multiply a b; {changes}; backward c with [1, 1]"
    program = parse(text, VOCABULARY)
    assert CAPTURED.observe(program)[-1].gradients[Ref(1)].value.tolist() != [1, 2]
    assert violation_of(program, CAPTURED) is None
    assert (violation_of(program, InProcess(TorchCheckpoint())) is None) == ("write" in changes)  # it is refused there


def test_what_a_function_finds_changed_may_be_refused_by_its_ops():
    text = "a = leaf [[1, 2], [3, -1]]; b = inv a; c = multiply a b; {} a zero_; backward b with [[1, 2], [3, 4]]"
    for changes in ("no_grad: write", "hook b observe; no_grad: write"):
        program = parse(text.format(changes), VOCABULARY)
        outcome = CAPTURED.observe(program)[-1].outcome
        assert isinstance(outcome, Raised) and outcome.kind is Kind.UNKNOWN
        assert violation_of(program, CAPTURED) is None


def test_what_it_finds_as_it_was_gives_the_right_ones():
    wrong = f"{A}; b = leaf [3, 4]; c = multiply a b; requires a False; write a exp_; d = sin b; backward d with [1, 1]"
    program = parse(wrong, VOCABULARY)
    observation = list(CAPTURED.observe(program))
    gradient = observation[-1].gradients[Ref(1)]
    observation[-1] = replace(
        observation[-1], gradients={Ref(0): None, Ref(1): replace(gradient, value=gradient.value + 1)}
    )
    assert first_violation(program, observation, CAPTURED) is not None


@pytest.mark.parametrize(
    ("written", "rule"),
    [("b", "writes/unsaved-works"), ("a", None), ("c", None)],
    ids=["result", "input", "view of it"],
)
def test_only_what_a_function_was_given_may_be_missed_by_its_derivative(written: str, rule: str | None):
    target = InProcess(TorchCheckpoint())
    text = f"{A} const; c = expand_dims a dim=0; w = leaf [3, 4]; b = multiply a w; d = sigmoid b; e = sin d"
    program = parse(f"{text}; hook w observe; write {written} exp_; backward e with [1, 1]", VOCABULARY)
    observation = list(target.observe(program))
    assert first_violation(program, observation, target) is None
    raised = Raised(Kind.MODIFIED, "RuntimeError", "modified by an inplace operation")
    observation[-1] = replace(observation[-1], outcome=raised, gradients={Ref(2): None})
    violation = first_violation(program, observation, target)
    assert (None if violation is None else violation.rule) == rule


@pytest.mark.parametrize(
    ("text", "units"),
    [
        (f"{A}; b = square a; c = leaf [3, 4] const; d = square c; e = sin b; f = multiply d e", [(1,), (3,), (4, 5)]),
        (f"{A}; b = square a; c = detach b; d = multiply b c", [(1,), (3,)]),
        (f"{A}; b = square a; no_grad: c = sin b; d = cos b", [(1,), (2,), (3,)]),
        (f"{A}; b = leaf [3, 4] const; write b mul_ a; c = sin b; d = leaf [1, 2] const; e = exp d", [(3,), (5,)]),
        (f"{A}; b = square a; requires b False; c = leaf [3, 4] const; d = tanh c; e = tanh b", [(1,), (4,), (5,)]),
        (
            f"{A}; b = square a; c = detach b; hook a observe; write b neg_; d = tanh b; e = square c",
            [(1,), (5,), (6,)],
        ),
        (f"{A}; write a exp_; requires a False; b = sin a; c = leaf [3, 4]; d = sin c", [(3,), (5,)]),
        (
            f"{A} const; b, c = unstack a dim=0; d = leaf 3; hook d observe; write b mul_ d; e = sin a; f = sin d",
            [(5,), (6,)],
        ),
        (f"{A}; b = dropout_mask a p=0.5 seed=1; c = dropout a b p=0.5 seed=1; d = sin b", [(2,), (3,)]),
        (f"{A}; requires a False; b = square a; detach_ b; requires a True; c = sin b; d = sin a", [(2,), (5,), (6,)]),
        (f"{A} const; b = leaf [3, 4]; c = reshape b shape=(2,1); detach_ c; d = sin a; e = sin c", [(4,)]),
        (f"{A}; b = reshape a shape=(1, 2); detach_ b; c = sin a; d = sin b; e = multiply a b", [(3,), (5,)]),
    ],
)
def test_a_reentrant_function_gives_out_what_requires_grad_or_nothing_that_does(
    text: str, units: list[tuple[int, ...]]
):
    program = parse(text, VOCABULARY)
    assert [each.region for each in REENTRANT.observe(program) if each.region] == units
    assert violation_of(program, REENTRANT) is None


def test_a_function_of_constants_alone_is_refused_where_its_leaves_were_frozen():
    program = parse(f"{A}; b = square a; requires a False; backward b with [1, 1]", VOCABULARY)
    outcome = REENTRANT.observe(program)[-1].outcome
    assert isinstance(outcome, Raised)
    assert outcome.kind is Kind.RECOMPUTED


FROZEN = [
    "requires b False; e = add c d",
    "detach_ b; e = add c d",
    "write d mul_ b; requires b False; e = add c d",
    "hook c raise; e = add c d; requires b False",
    "hook c misshape; e = add c d; requires b False",
    "backward c with [1, 1]; requires b False; e = add c d",
]
"""Instructions after two regions, the second of which is frozen. In the last three, a call after them would raise."""


@pytest.mark.parametrize("then", FROZEN)
@pytest.mark.parametrize("mode", [TorchCheckpoint, TorchCheckpointReentrant])
def test_a_frozen_function_is_a_known_difference_whatever_else_the_call_would_have_met(
    then: str, mode: type[TorchCheckpoint | TorchCheckpointReentrant]
):
    target, ends = InProcess(mode()), "backward e with [1, 1]"
    text = f"{A}; b = leaf [3, 4]; c = square a; hook a observe; d = square b; {then}; {ends}"
    program = parse(text, VOCABULARY)
    violation = violation_of(program, target)
    assert violation is not None and violation.at == len(program) - 1
    assert any(is_known(entry, program, violation) for entry in known(mode.name))
    rule = "errors/cotangent-shape"
    due_at_once = replace(violation, rule=rule, allowed=(Allowed(ExpectedError(Kind.COTANGENT_SHAPE), rule),))
    assert not any(is_known(entry, program, due_at_once) for entry in known(mode.name))


@pytest.mark.parametrize(
    "then", ["write d sin_", "no_grad: write d sin_; backward d with [1, 1]"], ids=["recorded", "unrecorded"]
)
@pytest.mark.parametrize(
    ("layer", "shape", "known_so"),
    [("linear_bias a b c", "[1, 2]", True), ("linear_bias a b c", "[[1, 2]]", False), ("matmul a b", "[1, 2]", False)],
)
def test_what_a_reentrant_function_gives_may_be_a_view_of_what_nobody_sees(
    layer: str, shape: str, known_so: bool, then: str
):
    ends = then.replace("[1, 1]", "[[1, 1]]") if shape == "[[1, 2]]" else then
    text = f"a = leaf {shape}; b = leaf [[1, 2], [3, 4]]; c = leaf [5, 6]; d = {layer}; hook d observe; {ends}"
    program = parse(text, VOCABULARY)
    violation = violation_of(program, REENTRANT)
    assert (violation is not None) == known_so
    if violation is not None:
        (entry,) = (entry for entry in known(REENTRANT.name) if is_known(entry, program, violation))
        assert not entry.inherited
    assert violation_of(program, CAPTURED) is None


def test_neither_may_such_a_view_of_constants_be_written_to():
    program = parse(f"{A} const; b = inner a a; c = leaf 3; hook c observe; write b mul_ c", VOCABULARY)
    violation = violation_of(program, REENTRANT)
    assert violation is not None
    assert any(is_known(entry, program, violation) for entry in known(REENTRANT.name) if not entry.inherited)


@pytest.mark.parametrize("target", [CAPTURED, InProcess(TorchCheckpoint())])
def test_a_view_that_a_function_makes_under_no_grad_is_known_beside_what_else_it_gives(target: InProcess):
    program = parse(f"{A}; no_grad: b = expand_dims a dim=0; c = square a", VOCABULARY)
    violation = violation_of(program, target)
    assert violation is not None and violation.regions[violation.at] == (1, 2)
    assert any(is_known(entry, program, violation) for entry in known("torch"))


SELECTIVE = InProcess(TorchCheckpointSelective())


@pytest.mark.parametrize("text", RIGHT)
def test_a_selective_checkpoint_is_right(text: str):
    program = parse(text, VOCABULARY)
    assert violation_of(program, SELECTIVE) is None
    assert first_violation(program, SELECTIVE.observe_printed(program), SELECTIVE) is None


@pytest.mark.parametrize(
    ("text", "units"),
    [
        (f"{A}; b = exp a; c = multiply a b; backward c with [1, 1]", [(1, 2)]),
        (
            f"{A}; b = exp a; c = multiply a b; backward c with [1, 1] retain=True; d = sin b; backward c with [1, 1]",
            [(4,)],
        ),
        (f"{A}; b = exp a; c = multiply a b; d = sin a; write c neg_; backward d with [1, 1]", [(3,)]),
        (f"{A}; b = exp a; c = reshape b shape=(2,1); write c neg_; d = sin a; backward d with [1, 1]", [(4,)]),
        (f"{A}; b = exp a; backward b with [1, 1]; c = leaf 3; d = sin c; backward d", [(1,), (4,)]),
        (f"{A}; b = exp a; c = sin a; backward b with [1, 1]; backward c with [1, 1]", [(1,), (2,)]),
        (f"{A}; b = exp a; c = grad b wrt a with [1, 1] create=True; backward c with [1, 1]", []),
    ],
    ids=["one call", "two calls", "written", "view written", "call elsewhere", "two calls, one region", "second order"],
)
def test_a_selective_checkpoint_has_what_one_call_passes_and_nobody_writes_to(text: str, units: list[tuple[int, ...]]):
    program = parse(text, VOCABULARY)
    assert [each.region for each in SELECTIVE.observe(program) if each.region] == units
    assert violation_of(program, SELECTIVE) is None


def test_a_selective_checkpoint_recomputes_what_it_did_not_save(monkeypatch: pytest.MonkeyPatch):
    ran: list[str] = []

    class Records(TorchDispatchMode):
        def __torch_dispatch__(self, op, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            ran.append(op.name())
            return op(*args, **(kwargs or {}))

    backward = TorchCheckpointSelective.backward
    monkeypatch.setattr(TorchCheckpointSelective, "backward", lambda *given: (ran.clear(), backward(*given))[1])
    with Records():
        InProcess(TorchCheckpointSelective()).observe(
            parse(f"{A}; b = exp a; c = tanh b; d = sin c; e = tanh d; backward e with [1, 1]", VOCABULARY)
        )
    assert "aten::tanh" in ran and not {"aten::exp", "aten::sin"} & {*ran}


def test_a_checkpoint_can_be_compiled():
    target = InProcess(TorchCompileCheckpoint())
    program = parse(f"{A}; b = square a; c = sin b; backward c with [1, 2]", VOCABULARY)
    for seen in (target.observe(program), target.observe_printed(program)):
        assert first_violation(program, seen, target) is None
        assert all(isinstance(each.outcome, Returned) for each in seen)
    assert [*target.simpler_modes()] == ["without the checkpoint", "without torch.compile", "with neither"]
