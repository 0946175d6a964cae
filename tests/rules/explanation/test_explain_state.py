"""Notes on failures of programs with state: one for each line that matters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Gradient, HookCall, Kind, Raised, Returned, StepObservation
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.explanation.context import context_of
from autograd_conformance.rules.explanation.explain import explain
from tests.rules.judge.tampering import CLAIMS, Tamper, does, gradient, holds, judged, tampered, to, value

A = "a = leaf [1, 2]"
H = "a = leaf 3; b = multiply a a; c = negative b"


def notes(text: str, tamper: Tamper, of: str = "a") -> list[str]:
    """The notes on a failure, each after the number of its line."""
    program, observation = tampered(text, tamper, of=of)
    violation = judged(program, observation).violation
    assert violation is not None
    return [f"{n}: {t}" for n, t in explain(context_of(program, observation, Reference(program), CLAIMS, violation))]


def returned(*numbers: float) -> Tamper:
    """The call returned although it raised, and the leaf holds these numbers."""
    held = Gradient(np.array(numbers, dtype=float), "float64", 99)
    return lambda observed, leaf: replace(observed, outcome=Returned(), gradients={**observed.gradients, leaf: held})


def now(change: Callable[[np.ndarray], np.ndarray]) -> Tamper:
    """A value differs after a write."""

    def tamper(observed: StepObservation, ref: Ref) -> StepObservation:
        other = replace(observed.values[ref], value=np.array(change(observed.values[ref].value)))
        return replace(observed, values={**observed.values, ref: other})

    return tamper


def fired(change: Callable[[tuple[HookCall, ...]], tuple[HookCall, ...]]) -> Tamper:
    """Other calls of hooks were observed."""
    return lambda observed, ref: replace(observed, fired=change(observed.fired))


MODIFIED = Raised(Kind.MODIFIED, "RuntimeError", "modified by an inplace operation")
NOTHING = does(Returned((None,)))

STORIES: list[tuple[str, Tamper, str, list[str]]] = [
    # writes and views: the owner of the memory, the ops that may have saved it, recorded or not
    (f"{A}; b = multiply a a; no_grad: write a mul_scalar_ scalar=3.0; backward b with [1, 1]", returned(6, 12), "a", [
        "2: multiply's derivative needs a as it is here.",
        "3: changes a; it is not recorded, because it runs under no_grad: the history of a stays as it was. The value"
        " that multiply on line 2 may have saved is overwritten here.",
        "4: multiply on line 2 was recorded before line 3 wrote to tensors that it may have saved: this call must"
        " raise, or use the values as they were recorded. It reaches a through line 2; a held no gradient, so it has"
        " to hold [2., 4.], but it holds [ 6., 12.].",
    ]),
    (f"{A}; b = exp a; v = select b dim=0 index=0; write v zero_; backward b with [1, 1]", returned(1, 1), "a", [
        "2: exp may save b as it is here: its derivative may be computed from it.",
        "3: c is a view of b: they share memory.",
        "4: changes c, and with it b, in the same memory; it is recorded: from here on c is its result. The value that"
        " exp on line 2 may have saved is overwritten here.",
        "5: exp on line 2 was recorded before line 4 wrote to tensors that it may have saved: this call must raise, or"
        " use the values as they were recorded. It reaches a through lines 2, 3 and 4; a held no gradient, so it has"
        " to hold [0.          , 7.3890560989], but it holds [1., 1.].",
    ]),
    (f"{A}; b = sin a; c = multiply b b; d = multiply b c; e = grad d wrt a with [1, 1] create=True;"
     " no_grad: write b exp_; backward e with [1, 1]", returned(5, 5), "a", [
        "2: sin may save b as it is here: its derivative may be computed from it.",
        "3: multiply's derivative needs b as it is here.",
        "4: multiply's derivative needs b and c as they are here.",
        "5: e is the gradient with respect to a. create_graph=True records the call itself, so its result is"
        " differentiable.",
        "6: changes b; it is not recorded, because it runs under no_grad: the history of b stays as it was. The value"
        " that sin on line 2, multiply on line 3, multiply on line 4 and the derivative of multiply on line 5 may have"
        " saved is overwritten here.",
        "7: sin on line 2, multiply on line 3, multiply on line 4 and the derivative of multiply on line 5 were"
        " recorded before line 6 wrote to tensors that they may have saved: this call must raise, or use the values as"
        " they were recorded. It reaches a through line 5; a held no gradient, so it has to hold [-0.3135832205,"
        " -1.3106579411], but it holds [5., 5.].",
    ]),
    (f"{A}; b = negative a; write b add_scalar_ scalar=1.0; backward b with [1, 1]", does(MODIFIED), "a", [
        "3: changes b; it is recorded: from here on b is its result.",
        "4: walks lines 2 and 3; no earlier call did, so no tensor that it needs is freed, and no derivative needs the"
        " values that line 3 wrote to: it must return.",
    ]),
    (f"{A}; v = select a dim=0 index=0; write v zero_", does(Returned()), "a", [
        "2: b is a view of a: they share memory.",
        "3: b is a view of a, which is a leaf that requires grad, and the write would be recorded: it must raise (leaf"
        " written in place).",
    ]),
    (f"{A}; b = negative a; v = select b dim=0 index=0; write v zero_", now(to(5, 6)), "b", [
        "3: c is a view of b: they share memory.",
        "4: b shares c's memory, so the write shows in it: it has to be [ 0., -2.], but it is [5., 6.].",
    ]),
    (f"{A}; b = negative a; c = sin b; write b zero_", now(to(5, 6)), "c", [
        "4: c shares no memory with b: it has to stay as it was, but it changed.",
    ]),
    # grad modes and switches
    (f"{A}; no_grad: b = square a; c = multiply a b; backward c with [1, 2]", returned(3, 24), "a", [
        "2: is not recorded, because it runs under no_grad: b is a constant from here on.",
        "4: reaches a through line 3; a held no gradient, so it has to hold [1., 8.], but it holds [ 3., 24.].",
    ]),
    (f"{A}; no_grad: enable_grad: b = exp a", value(requires_grad=False), "a", [
        "2: enable_grad is the innermost mode, and a requires grad, so b must, too, but it does not.",
    ]),
    ("a = leaf 3; b = leaf 4; c = multiply a b; requires a False; backward c",
     holds(Gradient(np.array(4.0), "float64")), "a", [
        "4: a requires no grad from here on.",
        "5: a requires no grad: a's gradient has to stay none, but it is 4.",
    ]),
    (f"{A}; b = exp a; requires b False", does(Returned()), "a", [
        "3: b is no leaf: it requires grad because of what it was computed from: it must raise (not a leaf).",
    ]),
    # the functional form, inputs, gradients of gradients
    (f"{H}; d = leaf 1; g = grad c wrt d", NOTHING, "a", [
        "5: the outputs do not depend on d: it must raise (unused input).",
    ]),
    (f"{H}; g = grad c wrt a; h = grad c wrt a", does(Returned((None,))), "a", [
        "2: multiply saves values that its derivative needs.",
        "3: negative needs nothing saved.",
        "4: walks lines 2 and 3; it does not retain the graph, so the tensors that they saved are freed. d is the"
        " gradient with respect to a.",
        "5: has to walk line 2 again, but line 4 freed the tensors that it saved: it must raise.",
    ]),
    (f"{H}; backward c inputs b", holds(Gradient(np.array(4.0), "float64")), "a", [
        "4: adds only to b: a's gradient has to stay none, but it is 4.",
    ]),
    ("a = leaf 3; b = square a; backward b; g = held a; backward g", does(Returned()), "a", [
        "4: c is the gradient that a holds, not a copy of it.",
        "5: c requires no grad: it must raise (no grad).",
    ]),
    ("a = leaf 3; b = square a; g = grad b wrt a create=True; backward g", gradient(lambda g: g + 1), "a", [
        "3: c is the gradient with respect to a. create_graph=True records the call itself, so its result is"
        " differentiable.",
        "4: reaches a through line 3; a held no gradient, so it has to hold 2, but it holds 3.",
    ]),
    # hooks, retained gradients, detaching in place
    (f"{H}; k = hook b scale 2.0; backward c", gradient(lambda g: g / 2), "a", [
        "4: the hook is called with b's gradient, and multiplies it by 2.",
        "5: reaches a through lines 2 and 3 (with the hook of line 4); a held no gradient, so it has to hold -12, but"
        " it holds -6.",
    ]),
    (f"{H}; k = hook b observe; unhook k; backward c", fired(lambda f: (HookCall(Ref(3), np.array(1.0)),)), "a", [
        "4: the hook is called with b's gradient, and changes nothing.",
        "5: removes the hook of line 4: it is not called any more.",
        "6: the hook on b was removed: it must not be called, but it was called.",
    ]),
    (f"{H}; retain b; backward c", gradient(lambda g: g * 3), "b", [
        "4: b holds its own gradient from here on, as its hooks leave it.",
        "5: reaches b through line 3; b held no gradient, so it has to hold -1, but it holds -3.",
    ]),
    (f"{A}; b = exp a; v = select b dim=0 index=0; detach_ v", does(Returned()), "a", [
        "4: c is a view of b, and a view cannot be cut off from its base: it must raise (view detached in place).",
    ]),
    # errors on earlier lines, and what they left
    (f"{A}; write a zero_; b = square a; backward b; backward b with [1, 1]", gradient(lambda g: g + 1), "a", [
        "2: is refused (leaf written in place), and leaves every value as it was.",
        "4: is refused (non-scalar root).",
        "5: reaches a through line 3; a held no gradient, so it has to hold [2., 4.], but it holds [3., 5.].",
    ]),
    # what is held, and steps
    (f"{A}; g = leaf [1, 2] const; assign a g", holds(None), "a", [
        "3: a has to hold the assigned gradient, but it holds none.",
    ]),
    (f"{A}; b = leaf [1, 2]; c = exp a; backward c with [1, 1]; step a, b sgd lr=0.5; d = sin b",
     value(value=np.zeros(2)), "a", [
        "5: moves a in place, which is not recorded. b has no gradient, and is skipped.",
        "6: by definition d is [0.8414709848, 0.9092974268], but it is [0., 0.].",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tamper", "of", "lines"), STORIES)
def test_a_failure_with_state_is_explained(text: str, tamper: Tamper, of: str, lines: list[str]):
    assert notes(text, tamper, of) == lines


COUNTED = [
    ("a = leaf 3; b = exp a; backward b", [
        "2: exp saves values that its derivative needs. 1 saved tensor is alive after it.",
        "3: walks line 2 and does not retain the graph, so the tensors that it saved have to be freed: 0 saved tensors"
        " have to be alive, but 1 saved tensor is alive.",
    ]),
    ("a = leaf 3; b = square a; backward b create=True; zero a; drop b", [
        "2: 1 saved tensor is alive after it.",
        "3: create_graph=True records the call itself, so the gradient that a leaf gets is differentiable. 3 saved"
        " tensors are alive after it.",
        "4: clears a's gradient to none. 1 saved tensor is alive after it.",
        "5: saved tensors that nothing leads to any more have to be freed: 0 saved tensors have to be alive, but 1"
        " saved tensor is alive.",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "lines"), COUNTED)
@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_failure_about_memory_counts_live_tensors(text: str, lines: list[str]):
    program = parse(text)
    *before, last = run(program, TorchSaved())
    assert last.saved is not None
    observation = (*before, replace(last, saved=last.saved + 1))
    violation = judged(program, observation).violation
    assert violation is not None
    remarks = explain(context_of(program, observation, Reference(program), CLAIMS, violation))
    assert [f"{n}: {t}" for n, t in remarks] == lines
