"""The facts of instructions and values, and which of them meet."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest

from autograd_conformance.interactions.meetings import meetings
from autograd_conformance.interactions.options import class_of, facts_of
from autograd_conformance.ops.catalogue import ROWS
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import INSTRUCTIONS, Backward, Ref

START = "a = leaf [1, 2]; b = exp a; s = sum b dim=(0,) keepdim=False; "


def last(text: str) -> set[str]:
    """Returns the facts that meet in the last instruction of a program, at any value."""
    program = parse(text)
    before = set(meetings(program.upto(len(program) - 1)))
    met = [each for each in meetings(program) if each not in before]
    return set().union(*met)


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("backward s", {"backward", "backward: cotangents implicit"}),
        ("backward s retain=True", {"backward: retain_graph"}),
        ("backward s retain=False", {"backward: no retain_graph"}),
        ("backward s inputs a create=True", {"backward: create_graph", "backward: inputs"}),
        ("backward s inputs none", {"backward: no inputs"}),
        ("backward b, b with [1, 1], [1, 1]", {"backward: two roots", "backward: one of roots twice"}),
        ("g = grad s wrt a unused=True materialize=True", {"grad: allow_unused", "grad: materialize_grads"}),
        ("k = hook b scale 2.0", {"hook: effect scale"}),
        ("k = hook a observe accumulated", {"hook: accumulated"}),
        ("zero a to zeros", {"zero_grad: no set_to_none"}),
        ("step a sgd lr=0.1 momentum=0.5", {"step: optimizer sgd", "step: momentum"}),
        ("write b add_ b", {"place: operand twice", "write: two operands"}),
        ("no_grad: c = exp a", {"under no_grad"}),
        ("no_grad: enable_grad: c = exp a", {"under enable_grad", "under nested modes"}),
    ],
)
def test_an_instruction_has_its_options_as_facts(line, facts):
    assert facts <= last(START + line)


@pytest.mark.parametrize(
    ("lines", "facts"),
    [
        ("backward s; backward s", {"walked", "freed"}),
        ("backward s retain=True; backward s", {"walked", "retained"}),
        ("backward s retain=True; backward s retain=True; backward s", {"walked again"}),
        ("backward s; zero a", {"is a leaf", "holds gradient"}),
        ("backward s create=True; zero a", {"differentiable gradient"}),
        ("backward s; zero a; step a sgd", {"cleared gradient"}),
        ("backward s; clip_grad a norm 1.0; step a sgd", {"clipped gradient"}),
        ("step a sgd; step a sgd", {"stepped", "written by a step"}),
        ("k = hook b observe; backward s", {"place: walked", "hooked"}),
        ("k = hook b observe; l = hook b observe; backward s", {"hooked again"}),
        ("k = hook b observe; unhook k; backward s", {"hook removed"}),
        ("retain b; backward s", {"retains grad"}),
        ("requires a False; c = exp a", {"frozen", "requires no grad"}),
        ("d = detach b; write d add_ d; backward s", {"has a detached name", "written"}),
        ("write b add_ b; backward s", {"written by this name"}),
        ("v = reshape b shape=(2, 1); write v add_ v; backward s", {"has a view", "written"}),
        ("p, q = split b sections=(1, 1) dim=0; r = exp q", {"several results"}),
        ("c = add b b; d = add b c; e = exp b", {"used often"}),
        ("no_grad: c = exp a; d = exp c", {"unrecorded"}),
        ("e = leaf (0,) []; f = exp e; g = exp f", {"no elements"}),
        ("n = leaf 3; o = exp n", {"a number"}),
        ("assign a none; backward s", {"assigned gradient"}),
        ("backward s create=True; g = held a; h = exp g", {"read gradient"}),
        ("g = grad s wrt a create=True; h = exp g", {"returned gradient"}),
    ],
)
def test_a_value_has_facts_of_what_was_done_to_it(lines, facts):
    assert facts <= last(START + lines)


def test_a_call_into_inputs_walks_only_what_depends_on_them():
    text = "a = leaf [1]; b = leaf [2]; c = exp a; d = exp b; k = hook d observe; e = add c d; backward e "
    assert "hooked" in last(text)
    assert "hooked" not in last(f"{text} inputs a")


def test_a_value_may_depend_on_itself_after_a_write():
    text = "a = leaf [1, 2]; b = multiply a a; c = reshape b shape=(2, 1); write a mul_ b; "
    text += "backward c inputs c with [[1], [2]]"
    assert {"view", "backward: inputs"} <= last(text)
    assert "view" in last(f"{text}; backward c inputs a with [[1], [2]]")


def test_each_instruction_has_facts_and_each_option_brings_one():
    """A new instruction or option is measured without further work."""
    for kind, row in INSTRUCTIONS.items():
        given = [each for each in fields(kind) if each.default is MISSING]
        assert given or facts_of(kind()) == (row.word,)
    plain = Backward((Ref(0),), (None,))
    for name, value in {"retain_graph": True, "create_graph": True, "inputs": (Ref(0),)}.items():
        changed = Backward(**{"roots": plain.roots, "cotangents": plain.cotangents, name: value})
        assert set(facts_of(changed)) - set(facts_of(plain))


def test_each_op_has_a_class():
    assert not [op for op in ROWS if not all(isinstance(fact, str) for fact in class_of(op))]
