"""The published schema accepts and rejects the same lines as the suite's parser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from autograd_conformance.frameworks.remote import protocol
from autograd_conformance.frameworks.remote.protocol import MalformedReply
from autograd_conformance.frameworks.remote.worker import Worker
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse

SCHEMA = json.loads(Path(protocol.__file__).with_name("protocol.schema.json").read_text(encoding="utf-8"))
PROGRAM = parse("a = leaf [1, 2]; b = sin a; backward b with [inf, 1]; backward b with [1]", VOCABULARY)


def held(form: Any, part: str) -> None:
    jsonschema.validate(form, {**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{part}"}]})


ASKED = {
    "hello": (protocol.hello("cpu"), "greeting"),
    "unchecked": (protocol.hello("cpu", checks=False), "greeting"),
    "run": (protocol.run(7, PROGRAM, seed=3), "observed"),
    "print": (protocol.print_op(8, "sum", ["x"], (("dim", (0, 1)), ("keepdim", False))), "code"),
    "another": (b'{"do":"dance","id":9}', "error"),
}


@pytest.mark.parametrize("about", ASKED)
def test_each_line_of_a_conversation_is_in_the_schema(about: str):
    worker = Worker("examples.tiny_adapter:Tiny")
    worker.reply(json.loads(protocol.hello("cpu")))
    line, part = ASKED[about]
    if about != "another":
        held(json.loads(line), "hello" if about == "unchecked" else about)
    answer = json.loads(json.dumps(worker.reply(json.loads(line)), allow_nan=False))
    held(answer, part)
    held(answer, "answer")


def observation(**changes: Any) -> dict[str, Any]:
    tensor = {"shape": [1], "dtype": "float64", "data": [1.0]}
    return {"id": 1, "observation": [{"returned": [tensor | changes.pop("tensor", {})]} | changes]}


@pytest.mark.parametrize(
    "wrong",
    [
        observation(tensor={"data": [None]}),
        observation(tensor={"data": ["infinity"]}),
        observation(tensor={"data": 1.0}),
        observation(tensor={"shape": ["1"]}),
        observation(tensor={"requires_grad": 1}),
        observation(raised={"kind": "UNKNOWN", "type": "E", "message": ""}),
        observation(gradients={"a": None}),
        observation(colour="red"),
        observation(saved="3"),
        {"id": 1, "observation": [{}]},
        {"id": 1, "observation": [{"raised": {"kind": "UNKNOWN", "type": "E"}}]},
        {"id": 1, "observation": {}},
        {"id": 1},
    ],
    ids=str,
)
def test_what_the_schema_refuses_is_refused(wrong: dict[str, Any]):
    with pytest.raises(jsonschema.ValidationError):
        held(wrong, "observed")
    with pytest.raises(MalformedReply):
        protocol.observation(json.dumps(wrong).encode(), 1, parse("a = leaf [1]"))


def test_what_the_schema_takes_is_taken():
    right = observation(tensor={"data": ["inf"], "requires_grad": None, "strides": [1]})
    held(right, "observed")
    assert protocol.observation(json.dumps(right).encode(), 1, parse("a = leaf [1]"))


@pytest.mark.parametrize(
    "changes",
    [{"name": ""}, {"ops": []}, {"dtypes": ["int8"]}, {"capabilities": "IMPERATIVE"}, {"random": 1}, {"colour": "red"},
     {"writes": [3]}, {"limits": []}, {"limits": {"sum": {"colour": 1}}}, {"limits": {"sum": {"attrs": {"dim": 0}}}},
     {"limits": {"sum": {"dimensions": ["2"]}}}, {"limits": {"sum": {"empty": 0}}}, {"optimizers": []}, {"protocol": 2},
     {"protocol": True}],
    ids=str,
)  # fmt: skip
def test_a_greeting_that_the_schema_refuses_is_refused(changes: dict[str, Any]):
    right = {"protocol": 1, "name": "far", "version": "1", "language": "C++", "capabilities": [], "ops": ["sin"],
             "dtypes": ["float64"], "writes": ["mul_"],
             "limits": {"sum": {"dimensions": [1]}}}  # fmt: skip
    held(right, "greeting")
    assert protocol.handshake(json.dumps(right).encode()).name == "far"
    if changes != {"protocol": True}:  # which a schema cannot tell from 1
        with pytest.raises(jsonschema.ValidationError):
            held(right | changes, "greeting")
    with pytest.raises(MalformedReply):
        protocol.handshake(json.dumps(right | changes).encode())
