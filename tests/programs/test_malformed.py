"""Malformed programs are refused, with the instruction or line and the reason."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.codec import from_json, loads
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import VERSION, Detach, Program, Ref, Step
from autograd_conformance.programs.validation import MalformedProgram, validate

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
    ({**LEAF, "shape": [math.inf]}, "instruction 1", "is not a whole number"),
    ({**LEAF, "requires_grad": 1}, "instruction 1", "1 is neither true nor false"),
    ({k: v for k, v in LEAF.items() if k != "data"}, "instruction 1", "'data' is missing"),
    ({"do": "apply", "op": "exp", "args": ["0"]}, "instruction 1", "'0' is not a value", "%3 or %3.1"),
    ({"do": "apply", "op": "exp", "args": ["%x"]}, "instruction 1", "'%x' is not a value"),
    ({"do": "apply", "op": "exp", "args": ["%1"]}, "instruction 1 (apply)", "%1 is not an earlier instruction"),
    ({"do": "apply", "op": "exp", "args": ["%9"]}, "instruction 1 (apply)", "%9 is not an earlier instruction"),
    ({"do": "apply", "op": "exp", "args": ["%0.1"]}, "instruction 1 (apply)", "%0.1 does not exist", "makes 1 values"),
    ({"do": "apply", "op": "exp", "args": ["%0"], "results": 0}, "instruction 1 (apply)", "at least one value"),
    (
        {"do": "apply", "op": "exp", "args": ["%0"], "attrs": {"dim": {"int": 1}}},
        "instruction 1",
        "is not a valid attribute value",
    ),
    ({"do": "apply", "op": "exp", "args": ["%0"], "attrs": [1]}, "instruction 1", "items"),
    ({"do": "apply", "op": "exq", "args": ["%0"]}, "instruction 1 (apply)", "unknown op 'exq'"),
    ({"do": "detach"}, "instruction 1", "'source' is missing"),
    ({"do": "detach", "source": "%0", "modes": "no_grad"}, "instruction 1", "'no_grad' is not a list of modes"),
    ({"do": "detach", "source": "%0", "modes": ["grad"]}, "instruction 1 (detach)", "unknown mode 'grad'"),
    ({"do": "detach", "sauce": "%0"}, "instruction 1", "'sauce' is not a field of 'detach'"),
    ({"do": "write", "op": "add_", "args": []}, "instruction 1", "'target' is missing"),
    ({"do": "write", "op": 3, "target": "%0"}, "instruction 1", "3 is not a text"),
    ({"do": "write", "op": "add", "target": "%0"}, "instruction 1 (write)", "unknown write 'add'"),
    ({"do": "requires_grad", "target": "%0", "on": 1}, "instruction 1", "1 is neither true nor false"),
    ({"do": "hook", "target": "%0", "effect": "jump"}, "instruction 1 (hook)", "unknown effect 'jump'", "misshape"),
    ({"do": "hook", "target": "%0", "factor": "two"}, "instruction 1", "'two' is not a number"),
    ({"do": "hook", "target": "%0", "effect": "raise", "accumulated": True}, "instruction 1 (hook)", "only observe"),
    ({"do": "remove_hook", "handle": "%0"}, "instruction 1 (remove_hook)", "%0 is not the handle of a hook"),
    ({"do": "grad", "roots": ["%0"], "inputs": [], "cotangents": [None]}, "instruction 1 (grad)", "at least one input"),
    ({"do": "grad", "roots": ["%0"], "inputs": ["%0"], "cotangents": []}, "instruction 1 (grad)", "0 cotangents"),
    ({"do": "drop", "values": ["%0", "%0"]}, "instruction 1 (drop)", "lists a value twice"),
    ({"do": "drop", "values": []}, "instruction 1 (drop)", "at least one value"),
    ({"do": "default_dtype", "dtype": "int8"}, "instruction 1 (default_dtype)", "unknown dtype 'int8'"),
    ({"do": "default_dtype", "dtype": None}, "instruction 1", "None is not a text"),
    ({"do": "default_dtype"}, "instruction 1", "'dtype' is missing"),
    ({**BACK, "inputs": "%0"}, "instruction 1", "'%' is not a value"),
    ({**BACK, "roots": []}, "instruction 1 (backward)", "at least one root"),
    ({**BACK, "cotangents": []}, "instruction 1 (backward)", "1 roots but 0 cotangents"),
    ({**BACK, "cotangents": [{**LEAF, "shape": []}]}, "instruction 1 (backward)", "needs 1 values, 2 are given"),
    ({**BACK, "retain_graph": "yes"}, "instruction 1", "'yes' is neither true nor false"),
    ({"do": "zero_grad", "leaves": ["%0"], "set_to_none": None}, "instruction 1", "None is neither true nor false"),
]


@pytest.mark.parametrize(("bad", "parts"), [(bad, parts) for bad, *parts in BAD_INSTRUCTIONS], ids=str)
def test_a_malformed_instruction_is_named(bad: Any, parts: list[str]):
    with pytest.raises(MalformedProgram) as error:
        from_json({"version": VERSION, "instructions": [LEAF, bad]}, VOCABULARY)
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_a_good_instruction_in_the_same_place_is_not():
    assert len(from_json({"version": VERSION, "instructions": [LEAF, BACK]}, VOCABULARY)) == 2


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[]", "a program is a JSON object, not list"),
        ("{", "not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"instructions":[]}', "version None is not 1, 2 or 3"),
        ('{"version":4,"instructions":[]}', "version 4 is not 1, 2 or 3"),
        ('{"version":true,"instructions":[]}', "version True is not 1, 2 or 3"),
        ('{"version":2}', "'instructions' is missing or is not a list"),
        ('{"version":1,"instructions":{}}', "'instructions' is missing or is not a list"),
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
        ("a = leaf 1\nb = exp a\nstep b sgd", ("instruction 2 (step)", "%1 is not a leaf")),
        ("a = leaf 1; write a", ("statement 2", "a write needs a target and an op")),
        ("a = leaf 1; write a add b", ("statement 2", "unknown value 'b'")),
        ("a = leaf 1; write a add a", ("instruction 1 (write)", "unknown write 'add'")),
        ("a = leaf 1; requires a maybe", ("statement 2", "'maybe' is none of True, False")),
        ("a = leaf 1; backward a unused=True", ("statement 2", "there is no unused=", "retain, create")),
        ("a = leaf 1; g, h = grad a wrt a, b", ("statement 2", "unknown value 'b'")),
        ("a = leaf 1; k = hook a scale 2.0 3.0", ("statement 2", "one factor")),
        ("a = leaf 1; k = hook a", ("instruction 1 (hook)", "unknown effect ''")),
        ("a = leaf 1; k = hook a observe; b = exp k", ("instruction 2 (apply)", "%1 is the handle of a hook")),
        ("a = leaf 1; drop a; b = exp a", ("instruction 2 (apply)", "%0 was dropped")),
        ("a = leaf 1; drop a a", ("statement 2", "unknown value 'a a'")),
        ("a = leaf 1; clip_grad a norm", ("statement 2", "could not convert string to float")),
        ("a = leaf 1; clip_grad a, b norm 1.0", ("statement 2", "unknown value 'b'")),
        ("a = leaf 1; clip_grad a most 1.0", ("instruction 1 (clip)", "unknown way to clip 'most'")),
        ("a = leaf 1; some_grad: b = exp a", ("instruction 1 (apply)", "unknown mode 'some_grad'")),
        ("a = leaf 1; b = exq a", ("instruction 1 (apply)", "unknown op 'exq'")),
    ],
)
def test_malformed_text_is_named(text: str, parts: tuple[str, ...]):
    with pytest.raises(MalformedProgram) as error:
        parse(text, VOCABULARY)
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_validate_names_the_malformed_instruction():
    good = parse("a = leaf 1; b = exp a")
    assert validate(good) is good
    with pytest.raises(MalformedProgram, match=r"instruction 2 \(detach\): %0.2 does not exist"):
        validate(Program((*good, Detach(Ref(0, 2)))))
    with pytest.raises(MalformedProgram, match=r"instruction 2 \(step\): %1 is not a leaf"):
        validate(Program((*good, Step((Ref(1),), "sgd"))), VOCABULARY)
    with pytest.raises(MalformedProgram, match="2 instructions, but the modes of 1"):
        validate(Program(good.instructions, (("no_grad",),)))
    with pytest.raises(MalformedProgram, match=r"instruction 1 \(apply\): unknown op"):
        validate(good, replace(VOCABULARY, ops={"sin"}))
