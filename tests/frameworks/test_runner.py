"""The runner with PyTorch's adapter: outcomes of instructions, kinds of errors, and printed code."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import numpy as np
import pytest

from autograd_conformance.frameworks.adapter import HookRaised
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.observations import (
    HookCall,
    Kind,
    Observation,
    Raised,
    Returned,
    Skipped,
    StepObservation,
)

TORCH = Torch()
SUM = "dim=(0,) keepdim=False"
A = f"a = leaf [1, 2]; b = square a; s = sum b {SUM}"


def observed(text: str, framework: Torch = TORCH) -> tuple[Program, Observation]:
    """A program and its observation; any warning fails the test."""
    program = parse(text, VOCABULARY)
    with warnings.catch_warnings(action="error"):
        warnings.filterwarnings("ignore", message="Using backward.. with create_graph=True")
        return program, run(program, framework)


def last(text: str) -> StepObservation:
    """The observation of the last instruction."""
    return observed(text)[1][-1]


def held(seen: StepObservation, *refs: Ref) -> list[Any]:
    """The gradients of some values, as lists."""
    return [None if g is None else g.value.tolist() for g in (seen.gradients[r] for r in refs)]


def values(seen: StepObservation) -> list[Any]:
    """The results of an instruction, as lists."""
    assert isinstance(seen.outcome, Returned)
    return [None if t is None else t.value.tolist() for t in seen.outcome.values]


def fired(seen: StepObservation) -> list[tuple[int, list[float]]]:
    """The hooks that were called, in order."""
    return [(f.hook.at, np.asarray(f.value).tolist()) for f in seen.fired]


# -- what instructions do ----------------------------------------------------------------------------------------------


def test_a_write_shows_every_value_with_its_memory_and_strides():
    seen = last("a = leaf [[1, 2], [3, 4], [5, 6]] const; v = matrix_transpose a; c = clone a; write v mul_ v")
    assert seen.outcome == Returned()
    a, v, c = (seen.values[Ref(at)] for at in range(3))
    assert a.value.tolist() == [[1, 4], [9, 16], [25, 36]]
    assert v.value.tolist() == a.value.T.tolist()
    assert a.memory == v.memory != c.memory
    assert (a.strides, v.strides) == ((2, 1), (1, 2))


def test_nothing_of_an_empty_tensor_can_be_shared():
    assert last("a = leaf (0,) []").outcome.values[0].memory is None  # type: ignore[union-attr]


def test_only_what_changes_values_shows_all_of_them():
    _, seen = observed(f"{A}; backward s; step a sgd lr=0.5; detach_ b; write b zero_")
    assert [sorted(r.at for r in each.values) for each in seen] == [[], [], [], [], [0, 1, 2], [0, 1, 2], [0, 1, 2]]


def test_a_refused_write_shows_that_it_wrote_nothing():
    seen = last("a = leaf [1, 2]; write a zero_")
    assert seen.values[Ref(0)].value.tolist() == [1, 2]


def test_detaching_in_place_makes_a_leaf():
    _, seen = observed(f"{A}; detach_ b; t = sum b {SUM}; backward t")
    assert isinstance(seen[3].outcome, Returned)
    assert seen[5].outcome.kind is Kind.NO_GRAD  # type: ignore[union-attr]


def test_requires_grad_is_switched():
    _, seen = observed(f"a = leaf [1, 2] const; requires a True; s = sum a {SUM}; backward s; requires a False; exp a")
    assert held(seen[3], Ref(0)) == [[1, 1]]
    assert seen[2].outcome.values[0].requires_grad  # type: ignore[union-attr]
    assert not seen[5].outcome.values[0].requires_grad  # type: ignore[union-attr]


def test_backward_accumulates_into_its_inputs_alone_and_these_may_be_no_leaves():
    _, seen = observed(f"{A}; c = leaf [3, 4]; d = multiply b c; t = sum d {SUM}; backward t inputs b, c")
    assert held(seen[-1], Ref(0), Ref(1), Ref(3)) == [None, [3, 4], [1, 4]]


def test_the_functional_form_gives_values_and_holds_nothing():
    program, seen = observed(f"{A}; g, h = grad s wrt a, b create=True; i = square g; t = sum i {SUM}; backward t")
    assert values(seen[3]) == [[2, 4], [1, 1]]
    assert held(seen[3], Ref(0)) == [None]
    assert seen[3].outcome.values[0].requires_grad  # type: ignore[union-attr]
    assert held(seen[-1], Ref(0)) == [[8, 16]]
    assert Ref(3) not in seen[-1].gradients
    assert len(seen) == len(program)


def test_an_input_that_is_not_used_makes_no_value():
    _, seen = observed(f"{A}; c = leaf [3, 4]; g, h = grad s wrt c, a unused=True; exp h; exp g")
    assert values(seen[4]) == [None, [2, 4]]
    assert isinstance(seen[5].outcome, Returned)
    assert seen[6] == StepObservation(Skipped())


def test_an_input_that_is_not_used_is_filled_with_zeros_where_that_is_asked():
    seen = last(f"{A}; c = leaf [3, 4]; g = grad s wrt c with 2 materialize=True")
    assert values(seen) == [[0, 0]]


def test_a_value_that_retains_its_gradient_holds_it():
    _, seen = observed(f"{A}; retain b; backward s")
    assert held(seen[3], Ref(0), Ref(1)) == [None, None]
    assert held(seen[4], Ref(0), Ref(1)) == [[2, 4], [1, 1]]


def test_a_gradient_that_is_assigned_to_no_leaf_is_seen():
    seen = last(f"{A}; assign b a")
    assert held(seen, Ref(1)) == [[1, 2]]


def test_hooks_are_called_in_order_and_change_what_flows():
    _, seen = observed(f"""{A}
        k = hook b scale 2.0; l = hook b observe; m = hook a observe accumulated; n = hook a replace -1.5
        backward s retain=True; unhook k; unhook n; backward s; zero a
    """)
    assert [each.outcome for each in seen[3:7]] == [Returned()] * 4
    assert fired(seen[7]) == [(3, [1, 1]), (4, [2, 2]), (6, [4, 8]), (5, [-1.5, -1.5])]
    assert held(seen[7], Ref(0)) == [[-1.5, -1.5]]
    assert fired(seen[10]) == [(4, [1, 1]), (5, [0.5, 2.5])]
    assert seen[11].fired == ()


def test_hooks_are_called_with_copies():
    seen = last(f"{A}; k = hook a observe; backward s retain=True; backward s")
    assert seen.fired == (HookCall(Ref(3), seen.fired[0].value, "float64"),)
    assert seen.fired[0].value.tolist() == [2, 4]  # type: ignore[union-attr]


def test_an_exception_of_a_hook_is_known():
    outcome = last(f"{A}; k = hook b raise; backward s").outcome
    assert isinstance(outcome, Raised)
    assert (outcome.kind, outcome.type) == (Kind.HOOK_RAISED, HookRaised.__name__)


def test_it_is_known_in_whatever_it_is_wrapped():
    class Wrapping(Torch):
        def backward(self, *call: Any, **options: Any) -> None:
            try:
                super().backward(*call, **options)
            except HookRaised as error:
                raise ValueError("the engine failed") from error

    outcome = observed(f"{A}; k = hook b raise; backward s", Wrapping())[1][-1].outcome
    assert isinstance(outcome, Raised)
    assert (outcome.kind, outcome.type) == (Kind.HOOK_RAISED, "ValueError")


def test_what_is_dropped_is_seen_no_more():
    _, seen = observed(f"{A}; drop b, s; c = leaf [1, 2] const; write c zero_; drop a; zero c")
    assert [r.at for r in seen[3].gradients] == [0]
    assert [r.at for r in seen[5].values] == [0, 4]
    assert [r.at for r in seen[7].gradients] == [4]


def test_a_gradient_is_seen_whole():
    gradient = last(f"{A}; backward s create=True").gradients[Ref(0)]
    assert gradient is not None
    assert (gradient.dtype, gradient.requires_grad, gradient.strides) == ("float64", True, (1,))
    assert gradient.memory == gradient.identity


# -- grad modes --------------------------------------------------------------------------------------------------------


class Watching(Torch):
    """PyTorch that records which grad modes are entered and left."""

    def reset(self) -> None:
        super().reset()
        self.log: list[str] = []

    def mode(self, name: str) -> Any:
        return _Watched(super().mode(name), name, self.log)


class _Watched:
    def __init__(self, context: Any, name: str, log: list[str]) -> None:
        self.context, self.name, self.log = context, name, log

    def __enter__(self) -> None:
        self.context.__enter__()
        self.log.append(f"+{self.name}")

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.context.__exit__(kind, error, trace)
        self.log.append(f"-{self.name}" + ("" if kind is None else f" {kind.__name__}"))


def test_instructions_under_a_common_prefix_stand_in_the_same_block():
    torch = Watching()
    _, seen = observed(
        """a = leaf [1, 2]; no_grad: b = square a; no_grad: enable_grad: c = square a; no_grad: enable_grad: d = exp c
        no_grad: e = exp d; f = exp d; no_grad: g = exp a""",
        torch,
    )
    assert torch.log == ["+no_grad", "+enable_grad", "-enable_grad", "-no_grad", "+no_grad", "-no_grad"]
    flags = [each.outcome.values[0].requires_grad for each in seen]  # type: ignore[union-attr]
    assert flags == [True, False, True, True, False, True, False]


def test_an_exception_leaves_every_block_and_the_next_instruction_enters_them_again():
    torch = Watching()
    _, seen = observed(
        "a = leaf [1, 2]; no_grad: enable_grad: write a zero_; no_grad: enable_grad: b = exp a; no_grad: write a zero_",
        torch,
    )
    assert torch.log == [
        "+no_grad", "+enable_grad", "-enable_grad RuntimeError", "-no_grad RuntimeError",
        "+no_grad", "+enable_grad", "-enable_grad", "-no_grad",
    ]  # fmt: skip
    assert isinstance(seen[1].outcome, Raised)
    assert isinstance(seen[3].outcome, Returned)


def test_the_mode_after_a_program_is_the_one_before_it():
    import torch

    for text in ("no_grad: a = leaf 1", "no_grad: a = leaf 1; no_grad: backward a"):
        observed(text)
        assert torch.is_grad_enabled()


# -- the adapters ------------------------------------------------------------------------------------------------------


def test_pytorch_claims_all_but_counting():
    assert set(Capability) - Torch.capabilities == {Capability.COUNTS_SAVED}
    smoke(TORCH)
    smoke(TorchSaved())


@pytest.mark.parametrize(
    ("claim", "method"),
    [
        (Capability.WRITES, "write"),
        (Capability.DETACHES_IN_PLACE, "detach_in_place"),
        (Capability.HOOKS, "hook_result"),
        (Capability.MODES, "mode"),
        (Capability.AUTOCAST, "mode"),
        (Capability.DEFAULT_DTYPE, "default_dtype"),
    ],
)
def test_a_claim_without_its_method_is_the_adapters_fault(claim: Capability, method: str):
    class Lacking(Torch):
        capabilities = Torch.capabilities - ({Capability.MODES, Capability.AUTOCAST} - {claim})

    setattr(Lacking, method, None)
    with pytest.raises(AdapterError, match=rf"lacks {method}\(\), as it claims .*{claim.name}"):
        smoke(Lacking())
    Lacking.capabilities = Lacking.capabilities - {claim}
    smoke(Lacking())


def test_a_claim_without_its_keyword_is_the_adapters_fault():
    class Lacking(Torch):
        def backward(self, roots, cotangents, retain_graph, create_graph=False):  # type: ignore[no-untyped-def]
            super().backward(roots, cotangents, retain_graph, create_graph)

    with pytest.raises(AdapterError, match="lacks backward's keyword inputs, as it claims INPUTS"):
        smoke(Lacking())


COUNTED = {
    f"{A}; backward s": [0, 1, 1, 0],
    f"{A}; backward s retain=True; drop b, s": [0, 1, 1, 1, 0],
    f"{A}; g = grad s wrt a; h = exp a; drop h": [0, 1, 1, 0, 1, 0],
    "a = leaf [1, 2]; b = exp a; write b mul_ b; no_grad: c = exp b": [0, 1, 3, 3],
}


@pytest.mark.parametrize("text", COUNTED)
def test_saved_tensors_are_counted(text: str):
    assert [each.saved for each in observed(text, TorchSaved())[1]] == COUNTED[text]


def test_counting_changes_no_gradient_of_a_gradient():
    text = f"{A}; c = exp b; t = sum c {SUM}; backward t create=True; g = held a; u = sum g {SUM}; backward u"
    seen, plain = observed(text, TorchSaved())[1], last(text)
    assert held(seen[-1], Ref(0)) == held(plain, Ref(0))
    assert seen[5].saved > seen[4].saved > seen[-1].saved >= 0  # type: ignore[operator]


def test_a_gradient_with_a_graph_is_let_go():
    """The gradient, its graph and the leaf form a reference cycle, which nothing else would break."""
    import torch

    def tensors() -> int:
        gc.collect()
        return sum(type(each) is torch.Tensor for each in gc.get_objects())

    TORCH.reset()
    before = tensors()
    for _ in range(5):
        observed(f"{A}; retain b; requires a True; backward s inputs a, b create=True")
    TORCH.reset()
    assert tensors() <= before
