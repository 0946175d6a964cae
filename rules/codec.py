"""The JSON form of programs: exact both ways, versioned, the same on disk, on the wire and in reports.

Finite floats are written as JSON numbers (Python prints the shortest text that reads back as the same double);
infinities and NaN, which JSON lacks, as the strings "inf", "-inf" and "nan".
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from rules.language import (
    VERSION,
    Apply,
    AssignGrad,
    Attr,
    Backward,
    Detach,
    Held,
    Instruction,
    Leaf,
    Literal,
    Program,
    Ref,
    Step,
    ZeroGrad,
)
from rules.validation import MalformedProgram, validate

Json = Any


def to_json(program: Program) -> dict[str, Json]:
    """The JSON form of a program, as plain dicts and lists."""
    return {"version": VERSION, "instructions": [_encode(step) for step in program]}


def from_json(form: Json, known_ops: frozenset[str] | None = None) -> Program:
    """The program of a JSON form; `MalformedProgram` says what is wrong and in which instruction."""
    if not isinstance(form, Mapping):
        raise MalformedProgram(f"a program is a JSON object, not {type(form).__name__}")
    if form.get("version") != VERSION:
        raise MalformedProgram(f"program version {form.get('version')!r} is not {VERSION}, which this suite reads")
    steps = form.get("instructions")
    if not isinstance(steps, list):
        raise MalformedProgram("'instructions' is missing or no list")
    return validate(Program(tuple(_decode(at, step) for at, step in enumerate(steps))), known_ops)


def dumps(program: Program) -> str:
    """A program as one line of JSON."""
    return json.dumps(to_json(program), separators=(",", ":"))


def loads(text: str, known_ops: frozenset[str] | None = None) -> Program:
    """The program written by `dumps`; `MalformedProgram` where the text is not JSON, with line and column."""
    try:
        form = json.loads(text)
    except json.JSONDecodeError as error:
        raise MalformedProgram(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    return from_json(form, known_ops)


def _encode(step: Instruction) -> dict[str, Json]:
    match step:
        case Leaf(value, requires_grad):
            return {"do": "leaf", **_literal(value), "requires_grad": requires_grad}
        case Apply(op, args, attrs, results):
            form: dict[str, Json] = {"do": "apply", "op": op, "args": [str(r) for r in args]}
            if attrs:
                form["attrs"] = {name: _attr(value) for name, value in attrs}
            if results != 1:
                form["results"] = results
            return form
        case Detach(source):
            return {"do": "detach", "source": str(source)}
        case Backward(roots, cotangents, retain_graph, create_graph):
            form = {
                "do": "backward",
                "roots": [str(r) for r in roots],
                "cotangents": [None if c is None else _literal(c) for c in cotangents],
                "retain_graph": retain_graph,
            }
            return {**form, "create_graph": True} if create_graph else form
        case ZeroGrad(leaves, set_to_none):
            return {"do": "zero_grad", "leaves": [str(r) for r in leaves], "set_to_none": set_to_none}
        case Held(leaf):
            return {"do": "held", "leaf": str(leaf)}
        case AssignGrad(leaf, value):
            return {"do": "assign_grad", "leaf": str(leaf), "value": None if value is None else str(value)}
        case Step(leaves, optimizer, settings):
            form = {"do": "step", "leaves": [str(r) for r in leaves], "optimizer": optimizer}
            return {**form, "settings": {name: _attr(value) for name, value in settings}}


def _literal(value: Literal) -> dict[str, Json]:
    return {"shape": list(value.shape), "dtype": value.dtype, "data": [_float(x) for x in value.data]}


def _float(x: float) -> float | str:
    return x if math.isfinite(x) else str(x)


def _attr(value: Attr) -> Json:
    if isinstance(value, tuple):
        return [_attr(v) for v in value]
    return {"float": _float(value)} if isinstance(value, float) else value


def _decode(at: int, form: Json) -> Instruction:
    try:
        return _instruction(form)
    except MalformedProgram as error:
        raise MalformedProgram(f"instruction {at}: {error}") from None
    except KeyError as error:
        raise MalformedProgram(f"instruction {at}: {error} is missing") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise MalformedProgram(f"instruction {at}: {error}") from None


def _instruction(form: Json) -> Instruction:
    if not isinstance(form, Mapping):
        raise MalformedProgram(f"an instruction is an object, not {form!r}")
    match form["do"]:
        case "leaf":
            return Leaf(_read_literal(form), _flag(form["requires_grad"]))
        case "apply":
            attrs = tuple((str(name), _read_attr(value)) for name, value in form.get("attrs", {}).items())
            return Apply(str(form["op"]), _refs(form["args"]), attrs, _whole(form.get("results", 1)))
        case "detach":
            return Detach(_ref(form["source"]))
        case "backward":
            cotangents = tuple(None if c is None else _read_literal(c) for c in form["cotangents"])
            retain = form["retain_graph"]
            retain = None if retain is None else _flag(retain)
            return Backward(_refs(form["roots"]), cotangents, retain, _flag(form.get("create_graph", False)))
        case "zero_grad":
            return ZeroGrad(_refs(form["leaves"]), _flag(form["set_to_none"]))
        case "held":
            return Held(_ref(form["leaf"]))
        case "assign_grad":
            return AssignGrad(_ref(form["leaf"]), None if form["value"] is None else _ref(form["value"]))
        case "step":
            settings = tuple((str(name), _read_attr(value)) for name, value in form["settings"].items())
            return Step(_refs(form["leaves"]), str(form["optimizer"]), settings)
        case other:
            raise MalformedProgram(f"unknown instruction {other!r}")


def _flag(value: Json) -> bool:
    if not isinstance(value, bool):
        raise MalformedProgram(f"{value!r} is neither true nor false")
    return value


def _whole(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedProgram(f"{value!r} is no whole number")
    return value


def _refs(values: Json) -> tuple[Ref, ...]:
    return tuple(_ref(v) for v in values)


def _ref(text: Json) -> Ref:
    at, _, output = str(text).removeprefix("%").partition(".")
    if not (str(text).startswith("%") and at.isdecimal() and (output or "0").isdecimal()):
        raise MalformedProgram(f"{text!r} is no value; values are written %3 or %3.1")
    return Ref(int(at), int(output or 0))


def _read_literal(form: Json) -> Literal:
    return Literal(tuple(float(x) for x in form["data"]), tuple(_whole(d) for d in form["shape"]), str(form["dtype"]))


def _read_attr(value: Json) -> Attr:
    match value:
        case list():
            return tuple(_read_attr(v) for v in value)
        case {"float": x}:
            return float(x)
        case None | bool() | int() | str():
            return value
        case _:
            raise MalformedProgram(f"{value!r} is no attribute value")
