"""The language of programs: both written forms are exact, and malformed programs are refused with the instruction and
the reason.
"""

from __future__ import annotations

import json
import math
from copy import deepcopy
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from autograd_conformance.ops.catalogue import APPLIED, VOCABULARY
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.formats.codec import dumps, from_json, loads, to_json
from autograd_conformance.programs.formats.text import lines, names, parse, render
from autograd_conformance.programs.language import (
    CLIPS,
    EFFECTS,
    INSTRUCTIONS,
    MODES,
    VERSION,
    Apply,
    AssignGrad,
    Attr,
    Backward,
    Clip,
    DefaultDtype,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    Notation,
    Optimizer,
    Program,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.operands import operands, refer, results
from autograd_conformance.programs.validation import MalformedProgram
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.random_programs import programs

exactly = settings(
    max_examples=150, deadline=None, database=None, phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)  # fmt: skip
NUMBERS = st.floats(width=64) | st.sampled_from((0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1e15, 1e22, 0.1))
NARROW = st.floats(width=32) | st.sampled_from((0.0, -0.0, math.inf, -math.inf, math.nan))
FEW = st.sampled_from((0.0, -0.0, 1.5, -320.0, 2.0**-14, math.inf, -math.inf, math.nan))  # exact in any dtype
SHAPES = st.lists(st.integers(0, 3), max_size=4).map(tuple)
WORDS = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)


@st.composite
def literals(draw: Any) -> Literal:
    """Any literal that the language can express, well formed or not."""
    shape, dtype = draw(SHAPES), draw(st.sampled_from(tuple(DTYPES)))
    size = math.prod(shape)
    values = {"float64": NUMBERS, "float32": NARROW}.get(dtype, FEW)
    return Literal(tuple(draw(st.lists(values, min_size=size, max_size=size))), shape, dtype)


PLAIN = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | NUMBERS | WORDS | st.just("inf")
ATTRIBUTES: st.SearchStrategy[Attr] = st.recursive(
    PLAIN, lambda some: st.lists(some, max_size=3).map(tuple), max_leaves=6
)
"""Any attribute value: scalars of every type, nested in tuples."""


@st.composite
def anything(draw: Any) -> Program:
    """A well-formed program of invented ops, in which every field may have every value that the language allows."""
    steps: list[Instruction] = [Leaf(draw(literals()), draw(st.booleans()))]
    dropped: set[Ref] = set()
    for _ in range(draw(st.integers(0, 8))):
        made = [Ref(at, k) for at, step in enumerate(steps) for k in range(results(step))]
        handles = [r for r in made if isinstance(steps[r.at], Hook)]
        live = [r for r in made if r not in dropped and r not in handles]
        kind = draw(st.sampled_from([Leaf, *([k for k in KINDS if handles or k is not RemoveHook] if live else [])]))
        steps.append(draw(instructions(kind, live, handles, [r for r in live if isinstance(steps[r.at], Leaf)])))
        if kind is Delete:
            dropped.update(steps[-1].values)  # type: ignore[union-attr]
    modes = draw(st.just(()) | st.lists(UNDER, min_size=len(steps), max_size=len(steps)).map(tuple))
    return Program(tuple(steps), modes)


KINDS: list[Any] = list(get_args(Instruction))
UNDER = st.lists(st.sampled_from(MODES), max_size=3).map(tuple)
RETAINS = st.sampled_from((None, True, False))


@st.composite
def instructions(draw: Any, kind: Any, live: list[Ref], handles: list[Ref], leaves: list[Ref]) -> Instruction:
    """An instruction of a given class, on existing values."""
    one = st.sampled_from(live or [Ref(0)])
    some = st.lists(one, min_size=1, max_size=3).map(tuple)
    attrs = st.dictionaries(WORDS, ATTRIBUTES, max_size=3).map(lambda found: tuple(found.items()))
    flags = st.booleans()
    if kind in (Backward, Grad):
        roots = draw(some)
        given = draw(st.none() | st.tuples(*[st.none() | literals() for _ in roots])) or (None,) * len(roots)
        if kind is Grad:
            return Grad(roots, draw(some), given, draw(RETAINS), draw(flags), draw(RETAINS), draw(flags))
        return Backward(roots, given, draw(RETAINS), draw(flags), draw(st.none() | st.just(()) | some))
    if kind in (Step, Optimizer) and not leaves:
        kind = Detach
    if kind in (Step, Optimizer):
        given = draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=3).map(tuple))
        groups = draw(st.just(()) | st.tuples(*[st.tuples(st.just(1), attrs) for _ in given]))
        return kind(given, draw(st.sampled_from(sorted(OPTIMIZERS))), draw(attrs), groups)
    return draw({
        Leaf: st.builds(Leaf, literals(), flags),
        Apply: st.builds(Apply, st.just("made_up"), some, attrs, st.integers(1, 3)),
        Detach: st.builds(Detach, one),
        InPlace: st.builds(InPlace, st.just("made_up_"), one, st.just(()) | some, attrs),
        DetachInPlace: st.builds(DetachInPlace, one),
        SetRequiresGrad: st.builds(SetRequiresGrad, one, flags),
        RetainGrad: st.builds(RetainGrad, one),
        Hook: st.builds(Hook, one, st.sampled_from(EFFECTS), NUMBERS)
        | st.builds(Hook, one, accumulated=flags, factor=NUMBERS),
        RemoveHook: st.builds(RemoveHook, st.sampled_from(handles or [Ref(0)])),
        ZeroGrad: st.builds(ZeroGrad, some, flags),
        ReadGrad: st.builds(ReadGrad, one),
        AssignGrad: st.builds(AssignGrad, one, st.none() | one),
        Clip: st.builds(Clip, st.lists(one, min_size=1, max_size=3, unique=True).map(tuple), st.sampled_from(CLIPS),
                        st.floats(min_value=0, exclude_min=True)),
        Delete: st.builds(Delete, st.lists(one, min_size=1, max_size=2, unique=True).map(tuple)),
        DefaultDtype: st.builds(DefaultDtype, st.sampled_from(tuple(DTYPES))),
    }[kind])  # fmt: skip


# -- round trips -------------------------------------------------------------------------------------------------------
# Programs are compared by repr, which tells -0.0 from 0.0, 1 from 1.0 from True, and finds nan equal to nan.


@exactly
@given(drawn=programs())
def test_drawn_programs_survive_both_forms(drawn: Drawn):
    program = drawn.program
    assert repr(loads(dumps(program), VOCABULARY)) == repr(program)
    assert repr(parse(render(program), VOCABULARY)) == repr(program)


@exactly
@given(program=anything())
def test_any_program_survives_json(program: Program):
    text = dumps(program)
    assert "\n" not in text
    assert json.loads(text, parse_constant=pytest.fail)["version"] == VERSION
    assert repr(loads(text)) == repr(program)
    assert repr(from_json(to_json(program))) == repr(program)


@exactly
@given(program=anything())
def test_any_program_survives_text(program: Program):
    assert len(list(lines(program))) == len(program)
    assert repr(parse(render(program))) == repr(program)


def test_every_value_has_a_name_of_its_own():
    program = Program((*[Leaf(Literal((1.0,), ()))] * 60, Apply("many", (Ref(0),), (), 30)))
    given = names(program)
    assert len(set(given.values())) == len(given) == 90
    assert [given[Ref(0)], given[Ref(25)], given[Ref(26)], given[Ref(60, 29)]] == ["a", "z", "a1", "l3"]


def test_text_reads_as_it_is_documented():
    program = parse("""
        a = leaf [1, 2, 3]           # a comment
        c = leaf f32 (2, 0) [] const
        s = sum a dim=(0,) keepdim=False; p, q = split a sizes=(1, 2) dim=0
        d = detach s
        backward s, a with none, [1, -0.0, nan] retain=True
        backward s; backward s retain=False
        zero a; zero a to zeros
    """)
    wanted = (
        Leaf(Literal((1.0, 2.0, 3.0), (3,))),
        Leaf(Literal((), (2, 0), "float32"), False),
        Apply("sum", (Ref(0),), (("dim", (0,)), ("keepdim", False))),
        Apply("split", (Ref(0),), (("sizes", (1, 2)), ("dim", 0)), 2),
        Detach(Ref(2)),
        Backward((Ref(2), Ref(0)), (None, Literal((1.0, -0.0, math.nan), (3,))), True),
        Backward((Ref(2),), (None,)),
        Backward((Ref(2),), (None,), False),
        ZeroGrad((Ref(0),)),
        ZeroGrad((Ref(0),), False),
    )
    assert repr(program.instructions) == repr(wanted)


EVERY = """
    a = leaf [1, 2]; c = leaf 2 const; b = square a; s = sum b dim=(0,) keepdim=False
    p, q = split b sections=(1, 1); d = detach b; write b add_ a alpha=2.0; write b zero_; detach_ d; requires c True
    requires c False; backward s, b with none, [1, 2] retain=False create=True; backward s inputs a, b with 2
    backward s inputs none; g, h = grad s wrt a, c
    i = grad s, b wrt a with 1, [1, 2] retain=True create=True unused=False materialize=True
    retain b; k = hook b scale -2.5; l = hook b observe; m = hook a observe accumulated; n = hook b replace inf
    o = hook b raise; r = hook b misshape; unhook k; zero a, b to zeros; zero a; t = held a; assign a t; assign a none
    optimizer a, c sgd lr=0.5 groups=((1,()),(1,(("lr",inf),))); clip_grad a, c norm 1.5; clip_grad a value 2.0
    step a, c adam lr=0.1 betas=(0.5, 0.75); drop p, q; default_dtype float64; no_grad: u = exp a
    no_grad: enable_grad: write a mul_ u; enable_grad: backward s
"""


def test_every_instruction_has_a_row_and_words_of_its_own():
    assert set(INSTRUCTIONS) == set(KINDS)
    assert len({row.word for row in INSTRUCTIONS.values()}) == len(KINDS)
    assert {row.notation for row in INSTRUCTIONS.values()} == {*get_args(Notation), None}
    assert [kind for kind, row in INSTRUCTIONS.items() if row.notation is None] == [Apply]


def test_every_instruction_survives_both_forms():
    program = parse(EVERY)
    assert {type(step) for step in program} == set(KINDS)
    assert loads(dumps(program)) == parse(render(program)) == program
    assert program[6] == InPlace("add_", Ref(2), (Ref(0),), (("alpha", 2.0),))
    assert program[11] == Backward((Ref(3), Ref(2)), (None, Literal((1.0, 2.0), (2,))), False, True)
    assert program[13] == Backward((Ref(3),), (None,), inputs=())
    assert program[14] == Grad((Ref(3),), (Ref(0), Ref(1)), (None,))
    given = (Literal((1.0,), ()), Literal((1.0, 2.0), (2,)))
    assert program[15] == Grad((Ref(3), Ref(2)), (Ref(0),), given, True, True, False, True)
    assert program.instructions[17:22] == (
        Hook(Ref(2), "scale", -2.5), Hook(Ref(2)), Hook(Ref(0), accumulated=True),
        Hook(Ref(2), "replace", math.inf), Hook(Ref(2), "raise"),
    )  # fmt: skip
    assert program.modes[-3:] == (("no_grad",), ("no_grad", "enable_grad"), ("enable_grad",))


def test_the_json_form_names_what_differs_from_its_default():
    program = parse("a = leaf [1, 2]; no_grad: write a mul_ a; b = exp a; k = hook b scale 2.0; backward b inputs a")
    assert to_json(program)["instructions"] == [
        {"do": "leaf", "shape": [2], "dtype": "float64", "data": [1.0, 2.0]},
        {"do": "write", "op": "mul_", "target": "%0", "args": ["%0"], "modes": ["no_grad"]},
        {"do": "apply", "op": "exp", "args": ["%0"]},
        {"do": "hook", "target": "%2", "effect": "scale", "factor": 2.0},
        {"do": "backward", "roots": ["%2"], "cotangents": [None], "inputs": ["%0"]},
    ]


def test_files_of_the_first_version_are_read():
    form = {
        "version": 1,
        "instructions": [
            {"do": "leaf", "shape": [2], "dtype": "float32", "data": [1.0, "inf"], "requires_grad": False},
            {"do": "apply", "op": "sum", "args": ["%0"], "attrs": {"dim": [0], "x": {"float": 1.5}}, "results": 2},
            {"do": "backward", "roots": ["%1"], "cotangents": [None], "retain_graph": None, "create_graph": True},
            {"do": "zero_grad", "leaves": ["%0"], "set_to_none": True},
            {"do": "assign_grad", "leaf": "%0", "value": None},
            {"do": "step", "leaves": ["%0"], "optimizer": "sgd", "settings": {"lr": {"float": 0.5}}},
        ],
    }
    assert from_json(form).instructions == (
        Leaf(Literal((1.0, math.inf), (2,), "float32"), False),
        Apply("sum", (Ref(0),), (("dim", (0,)), ("x", 1.5)), 2),
        Backward((Ref(1),), (None,), None, True),
        ZeroGrad((Ref(0),)),
        AssignGrad(Ref(0), None),
        Step((Ref(0),), "sgd", (("lr", 0.5),)),
    )


def test_operands_and_refer_agree():
    program = parse(EVERY)
    moved = {Ref(at, k): Ref(at + 10, k) for at, step in enumerate(program) for k in range(results(step))}
    for step in program:
        assert operands(refer(step, moved)) == tuple(moved[r] for r in operands(step))
        assert refer(step, {r: r for r in moved}) == step
    assert program.leaves == (Ref(0), Ref(1))


# -- damaged programs --------------------------------------------------------------------------------------------------

SCRAPS = st.sampled_from((None, True, False, 0, 1, -1, 0.5, 10**400, math.inf, math.nan, "%0", "", "nan", "x"))
JUNK = st.recursive(
    SCRAPS,
    lambda some: (
        st.lists(some, max_size=3) | st.dictionaries(st.sampled_from(("do", "float", "data")), some, max_size=2)
    ),
    max_leaves=4,
)


@exactly
@given(program=anything(), data=st.data())
def test_damage_is_refused_or_harmless(program: Program, data: st.DataObject):
    """If one field of a program's JSON form is deleted or replaced, the result is refused or is a valid program."""
    form = deepcopy(to_json(program))
    at = data.draw(st.integers(0, len(program) - 1))
    step = form["instructions"][at]
    field = data.draw(st.sampled_from(sorted(step)))
    if data.draw(st.booleans()):
        step[field] = data.draw(JUNK)
    else:
        del step[field]
    try:
        damaged = from_json(form)
    except MalformedProgram as error:
        problem = str(error)
    else:
        problem = "" if repr(loads(dumps(damaged))) == repr(damaged) else "does not survive"
    assert not problem or problem.startswith("instruction ")


def test_no_statement_has_an_ops_name():
    for op in APPLIED:
        step = parse(f"a = leaf 1; b = {op} a")[1]
        assert isinstance(step, Apply), op
        assert step.op == op
