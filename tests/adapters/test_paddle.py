"""PaddlePaddle, if it is installed: its adapter, its known differences, and the traits that its documentation
states.
"""

from __future__ import annotations

import pytest

pytest.importorskip("paddle")

from autograd_conformance.adapters.paddle.adapter import Paddle
from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.running.printed import is_observable_in_code
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Kind, Raised, Returned

TARGET = InProcess(Paddle())
ENTRIES = known("paddle")

SECOND = "a = leaf [1, 2]; b = sin a; c = grad b wrt a with [1, 2] create=True"
UNUSED = "a = leaf [1, 2]; w = leaf 3; b = sin a"
LEGAL = (
    "a = leaf [1, 2]; b = sin a; backward b",  # ones are implied
    "a = leaf [1, 2]; b = sin a; backward b; backward b",  # refused, as it has to be
    "a = leaf [1, 2]; b = sin a; c = exp a; backward b, c with [1, 2], none retain=True; backward c",
    "a = leaf [1, 2]; b = sin a; hook b scale 2; h = hook b observe; unhook h; retain b; backward b; zero a to zeros",
    "a = leaf [1, 2]; no_grad: b = sin a; no_grad: enable_grad: c = cos a; d = multiply b c; d2 = detach d; backward d",
    "a = leaf [1, 2]; g = leaf [3, 4] const; assign a g; clip_grad a norm 0.5; clip_grad a value 0.1; assign a none",
    "a = leaf [1, 2]; optimizer a sgd lr=0.5 momentum=0.5 nesterov=True; b = sin a; backward b; "
    "step a sgd lr=0.5 momentum=0.5 nesterov=True; zero a",
    "a = leaf [1, 2]; b = sin a; backward b; step a adagrad lr=0.5 eps=0.125; step a sgd lr=0.5 weight_decay=0.25",
    f"{SECOND}; d = grad c wrt a create=True; backward d",
    f"{UNUSED}; c, d = grad b wrt a, w with [1, 2] unused=True",
    f"{UNUSED}; c, d = grad b wrt a, w with [1, 2]",  # refused, as it has to be
)


def test_it_is_an_adapter():
    smoke(Paddle())
    with pytest.raises(ValueError, match="CPU only"):
        Paddle("cuda")


@pytest.mark.parametrize("text", LEGAL)
def test_it_does_what_it_claims_and_so_does_printed_code(text: str):
    program = parse(text, VOCABULARY)
    assert violation_of(program, TARGET) is None
    assert (
        not is_observable_in_code(program) or first_violation(program, TARGET.observe_printed(program), TARGET) is None
    )


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.rule}-{entry.op or entry.conditions[0].value}")
def test_each_difference_shows_in_its_witness(entry):
    violation = violation_of(entry.witness, TARGET)
    assert violation is not None
    assert is_known(entry, entry.witness, violation)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a = leaf [1, 2]; b = sin a; backward b; backward b", Kind.GRAPH_FREED),
        (f"{UNUSED}; c, d = grad b wrt a, w", Kind.UNUSED_INPUT),
        ("a = leaf [1, 2] const; h = hook a observe", Kind.HOOK_NO_GRAD),
        ("a = leaf [1, 2]; b = slice a start=0 stop=2 step=2; c = grad b wrt a create=True", Kind.NOT_IMPLEMENTED),
    ],
)
def test_its_errors_are_told_apart(text: str, kind: Kind):
    *_, last = TARGET.observe(parse(text, VOCABULARY))
    assert isinstance(last.outcome, Raised)
    assert last.outcome.kind is kind


def test_a_program_records_though_the_one_before_it_left_recording_off():
    refused = "put = leaf [1, 2]; new = leaf [3]; w = leaf [1, 2]; b = scatter put new dim=0 index=(1,)"
    TARGET.observe(parse(f"{refused}; m = multiply b w; c = grad m wrt put create=True; backward c", VOCABULARY))
    assert all(isinstance(seen.outcome, Returned) for seen in TARGET.observe(parse(SECOND, VOCABULARY)))


class Forgets(Paddle):
    """A call replaces the gradient that a leaf stores."""

    def backward(self, roots, cotangents, retain_graph):
        for leaf in self.leaves:
            leaf.clear_gradient(False)
        super().backward(roots, cotangents, retain_graph)

    def reset(self):
        super().reset()
        self.leaves = []

    def leaf(self, data, requires_grad):
        self.leaves.append(super().leaf(data, requires_grad))
        return self.leaves[-1]


def test_a_fault_is_seen():
    program = parse("a = leaf [1, 2]; b = sin a; c = exp a; backward b; backward c", VOCABULARY)
    violation = violation_of(program, InProcess(Forgets()))
    assert violation is not None
    assert violation.rule == "accumulation/adds"
