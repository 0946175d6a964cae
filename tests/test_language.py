"""The language of programs: both written forms are exact, and whatever is malformed is refused by name and reason."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rules.codec import dumps, from_json, loads, to_json
from rules.language import (
    VERSION,
    Apply,
    Attr,
    Backward,
    Detach,
    Instruction,
    Leaf,
    Literal,
    Program,
    Ref,
    ZeroGrad,
    operands,
    refer,
    results,
)
from rules.ops import OPS
from rules.text import lines, names, parse, render
from rules.validation import MalformedProgram, validate
from strategies.programs import programs

exactly = settings(
    max_examples=150, deadline=None, database=None, phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)  # fmt: skip
NUMBERS = st.floats(width=64) | st.sampled_from((0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1e15, 1e22, 0.1))
NARROW = st.floats(width=32) | st.sampled_from((0.0, -0.0, math.inf, -math.inf, math.nan))
SHAPES = st.lists(st.integers(0, 3), max_size=4).map(tuple)
WORDS = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)


@st.composite
def literals(draw: Any) -> Literal:
    """Any tensor that the language can write, sensible or not."""
    shape, dtype = draw(SHAPES), draw(st.sampled_from(("float32", "float64")))
    size = math.prod(shape)
    values = NUMBERS if dtype == "float64" else NARROW
    return Literal(tuple(draw(st.lists(values, min_size=size, max_size=size))), shape, dtype)


PLAIN = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | NUMBERS | WORDS | st.just("inf")
ATTRIBUTES: st.SearchStrategy[Attr] = st.recursive(
    PLAIN, lambda some: st.lists(some, max_size=3).map(tuple), max_leaves=6
)
"""Any attribute value: scalars of every type, nested in tuples."""


@st.composite
def anything(draw: Any) -> Program:
    """A well-formed program of made-up ops: every field takes every value that the language allows."""
    steps: list[Instruction] = [Leaf(draw(literals()), draw(st.booleans()))]
    for _ in range(draw(st.integers(0, 6))):
        made = [Ref(at, k) for at, step in enumerate(steps) for k in range(results(step))]
        leaves = [r for r in made if isinstance(steps[r.at], Leaf)]
        some = st.lists(st.sampled_from(made), min_size=1, max_size=3).map(tuple)
        match draw(st.sampled_from(("leaf", "apply", "detach", "backward", "zero"))):
            case "leaf":
                steps.append(Leaf(draw(literals()), draw(st.booleans())))
            case "apply":
                attrs = draw(st.dictionaries(WORDS, ATTRIBUTES, max_size=3))
                steps.append(Apply("made_up", draw(some), tuple(attrs.items()), draw(st.integers(1, 3))))
            case "detach":
                steps.append(Detach(draw(st.sampled_from(made))))
            case "backward":
                roots = draw(some)
                cotangents = tuple(draw(st.none() | literals()) for _ in roots)
                steps.append(Backward(roots, cotangents, draw(st.sampled_from((None, True, False)))))
            case "zero":
                cleared = draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=3))
                steps.append(ZeroGrad(tuple(cleared), draw(st.booleans())))
    return Program(tuple(steps))


# -- round trips -------------------------------------------------------------------------------------------------------
# Programs are compared by repr, which tells -0.0 from 0.0, 1 from 1.0 from True, and finds nan equal to nan.


@exactly
@given(program=programs())
def test_drawn_programs_survive_both_forms(program: Program):
    assert repr(loads(dumps(program), frozenset(OPS))) == repr(program)
    assert repr(parse(render(program), frozenset(OPS))) == repr(program)


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


def test_operands_and_refer_agree():
    program = parse("a = leaf 1; p, q = halve a; d = detach q; b = add p d; backward b, q; zero a")
    moved = {Ref(at, k): Ref(at + 10, k) for at, step in enumerate(program) for k in range(results(step))}
    for step in program:
        assert operands(refer(step, moved)) == tuple(moved[r] for r in operands(step))
        assert refer(step, {r: r for r in moved}) == step
    assert program.leaves == (Ref(0),)


# -- malformed programs ------------------------------------------------------------------------------------------------

LEAF: dict[str, Any] = {"do": "leaf", "shape": [2], "dtype": "float64", "data": [1.0, 2.0], "requires_grad": True}
BACK: dict[str, Any] = {"do": "backward", "roots": ["%0"], "cotangents": [None], "retain_graph": None}

BAD_INSTRUCTIONS = [
    ("leap", "instruction 1", "an instruction is an object", "'leap'"),
    ({}, "instruction 1", "'do' is missing"),
    ({"do": "jump"}, "instruction 1", "unknown instruction 'jump'"),
    ({**LEAF, "dtype": "int8"}, "instruction 1 (leaf)", "unknown dtype 'int8'", "float32, float64"),
    ({**LEAF, "shape": [3]}, "instruction 1 (leaf)", "needs 3 values, 2 are given"),
    ({**LEAF, "shape": [-1]}, "instruction 1 (leaf)", "negative dimension"),
    ({**LEAF, "shape": 2}, "instruction 1", "not iterable"),
    ({**LEAF, "data": ["one", "two"]}, "instruction 1", "'one'"),
    ({**LEAF, "data": [None, 1]}, "instruction 1", "NoneType"),
    ({**LEAF, "data": [10**400, 1]}, "instruction 1", "too large"),
    ({**LEAF, "shape": [math.inf]}, "instruction 1", "no whole number"),
    ({**LEAF, "requires_grad": 1}, "instruction 1", "1 is neither true nor false"),
    ({k: v for k, v in LEAF.items() if k != "data"}, "instruction 1", "'data' is missing"),
    ({"do": "apply", "op": "exp", "args": ["0"]}, "instruction 1", "'0' is no value", "%3 or %3.1"),
    ({"do": "apply", "op": "exp", "args": ["%x"]}, "instruction 1", "'%x' is no value"),
    ({"do": "apply", "op": "exp", "args": ["%1"]}, "instruction 1 (apply)", "%1 is not an earlier instruction"),
    ({"do": "apply", "op": "exp", "args": ["%9"]}, "instruction 1 (apply)", "%9 is not an earlier instruction"),
    ({"do": "apply", "op": "exp", "args": ["%0.1"]}, "instruction 1 (apply)", "%0.1 does not exist", "makes 1 values"),
    ({"do": "apply", "op": "exp", "args": ["%0"], "results": 0}, "instruction 1 (apply)", "at least one value"),
    ({"do": "apply", "op": "exp", "args": ["%0"], "attrs": {"dim": {"int": 1}}}, "instruction 1", "no attribute value"),
    ({"do": "apply", "op": "exp", "args": ["%0"], "attrs": [1]}, "instruction 1", "items"),
    ({"do": "apply", "op": "exq", "args": ["%0"]}, "instruction 1 (apply)", "unknown op 'exq'"),
    ({"do": "detach"}, "instruction 1", "'source' is missing"),
    ({**BACK, "roots": []}, "instruction 1 (backward)", "at least one root"),
    ({**BACK, "cotangents": []}, "instruction 1 (backward)", "1 roots but 0 cotangents"),
    ({**BACK, "cotangents": [{**LEAF, "shape": []}]}, "instruction 1 (backward)", "needs 1 values, 2 are given"),
    ({**BACK, "retain_graph": "yes"}, "instruction 1", "'yes' is neither true nor false"),
    ({"do": "zero_grad", "leaves": ["%0"], "set_to_none": None}, "instruction 1", "None is neither true nor false"),
]


@pytest.mark.parametrize(("bad", "parts"), [(bad, parts) for bad, *parts in BAD_INSTRUCTIONS], ids=str)
def test_a_malformed_instruction_is_named(bad: Any, parts: list[str]):
    with pytest.raises(MalformedProgram) as error:
        from_json({"version": VERSION, "instructions": [LEAF, bad]}, frozenset(OPS))
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_a_good_instruction_in_the_same_place_is_not():
    assert len(from_json({"version": VERSION, "instructions": [LEAF, BACK]}, frozenset(OPS))) == 2


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[]", "a program is a JSON object, not list"),
        ("{", "not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"instructions":[]}', "version None is not 1"),
        ('{"version":2,"instructions":[]}', "version 2 is not 1"),
        ('{"version":1}', "'instructions' is missing or no list"),
        ('{"version":1,"instructions":{}}', "'instructions' is missing or no list"),
    ],
)
def test_a_malformed_file_is_refused(text: str, part: str):
    with pytest.raises(MalformedProgram, match=part):
        loads(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a = leaf 1; b = exp z", ("statement 2", "'b = exp z'", "unknown value 'z'")),
        ("a = leaf [1, [2]]", ("statement 1", "rows of unequal lengths")),
        ("a = leaf 1" + "0" * 400, ("statement 1", "too large")),
        ("a = leaf 1; b = exp a dim=[1]", ("statement 2", "list")),
        ("a = leaf [1, 2", ("statement 1", "never closed")),
        ("a = leaf [one]", ("statement 1",)),
        ("a = leaf (3,) [1, 2]", ("instruction 0", "needs 3 values, 2 are given")),
        ("a = leaf 1; backward a retain=maybe", ("statement 2", "'maybe'")),
        ("a = leaf 1; backward a with 1, 1", ("instruction 1 (backward)", "1 roots but 2 cotangents")),
        ("a = leaf 1; b = exp a dim=[", ("statement 2", "never closed")),
        ("a = leaf 1\nb = exp a\nzero b", ("instruction 2 (zerograd)", "%1 is not a leaf")),
        ("a = leaf 1; b = exq a", ("instruction 1 (apply)", "unknown op 'exq'")),
    ],
)
def test_malformed_text_is_named(text: str, parts: tuple[str, ...]):
    with pytest.raises(MalformedProgram) as error:
        parse(text, frozenset(OPS))
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_validate_is_told_by_the_instruction_that_breaks():
    good = parse("a = leaf 1; b = exp a")
    assert validate(good) is good
    with pytest.raises(MalformedProgram, match=r"instruction 2 \(detach\): %0.2 does not exist"):
        validate(Program((*good, Detach(Ref(0, 2)))))
    with pytest.raises(MalformedProgram, match=r"instruction 2 \(zerograd\): %1 is not a leaf"):
        validate(Program((*good, ZeroGrad((Ref(1),)))))
    with pytest.raises(MalformedProgram, match=r"instruction 1 \(apply\): unknown op"):
        validate(good, frozenset({"sin"}))


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
    """One field of a program's JSON form is deleted or replaced: the result is refused, or is a sound program."""
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
