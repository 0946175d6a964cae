"""The JSON form of programs: exact both ways, versioned, the same in files, on the wire and in reports.

An instruction is an object: "do" names it, and each field that differs from its default is stored under its own name. A
literal tensor is stored as its shape, dtype and data. The type of a field determines its form, so a new instruction
requires no change here. The instruction's modes are stored as "modes". Finite floats are JSON numbers (Python
prints the shortest text that reads back as the same double). Infinities and NaN, which JSON lacks, are the strings
"inf", "-inf" and "nan".
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, NamedTuple

from autograd_conformance.programs.language import (
    INSTRUCTIONS,
    VERSION,
    Attr,
    Attrs,
    Groups,
    Instruction,
    Literal,
    Modes,
    Program,
    Ref,
)
from autograd_conformance.programs.validation import MalformedProgram, Vocabulary, validate

Json = Any
READ = (1, 2, VERSION)
"""The versions of the JSON form that can be read. Earlier versions have fewer instructions, in the same form."""


def to_json(program: Program) -> dict[str, Json]:
    """Returns the JSON form of a program, as plain dicts and lists."""
    steps = [_encode(step) for step in program]
    for step, modes in zip(steps, program.modes):
        if modes:
            step["modes"] = list(modes)
    return {"version": VERSION, "instructions": steps}


def from_json(form: Json, vocabulary: Vocabulary | None = None) -> Program:
    """Returns the program of a JSON form; raises `MalformedProgram`, which names the instruction and the problem."""
    return validate(_decoded(form), vocabulary)


def _decoded(form: Json) -> Program:
    if not isinstance(form, Mapping):
        raise MalformedProgram(f"a program is a JSON object, not {type(form).__name__}")
    if form.get("version") not in READ or isinstance(form.get("version"), bool):
        versions = ", ".join(map(str, READ[:-1])) + f" or {VERSION}"
        raise MalformedProgram(f"program version {form.get('version')!r} is not {versions}, which this suite reads")
    steps = form.get("instructions")
    if not isinstance(steps, list):
        raise MalformedProgram("'instructions' is missing or is not a list")
    pairs = [_decode(at, step) for at, step in enumerate(steps)]
    return Program(tuple([step for step, _ in pairs]), tuple([modes for _, modes in pairs]))


def dumps(program: Program) -> str:
    """Returns a program as one line of JSON."""
    return json.dumps(to_json(program), separators=(",", ":"))


def loads(text: str, vocabulary: Vocabulary | None = None) -> Program:
    """Returns the program written by `dumps`; raises `MalformedProgram`, with line and column if the
    text is not JSON.
    """
    try:
        form = json.loads(text)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")  # of a text without an end
        raise MalformedProgram(f"not JSON: {what} at line {error.lineno}, column {error.colno}") from None
    return from_json(form, vocabulary)


def _encode(step: Instruction) -> dict[str, Json]:
    kind = type(step)
    form: dict[str, Json] = {"do": INSTRUCTIONS[kind].word}
    for field in _FIELDS[kind]:
        value = getattr(step, field.name)
        if field.type == "Literal":
            form.update(_literal(value))
        elif field.default is MISSING or value != field.default:
            form[field.name] = _FORMS[field.type].write(value)
    return form


def _decode(at: int, form: Json) -> tuple[Instruction, Modes]:
    try:
        if not isinstance(form, Mapping):
            raise MalformedProgram(f"an instruction is an object, not {form!r}")
        modes = form.get("modes", [])
        if not isinstance(modes, list):
            raise MalformedProgram(f"{modes!r} is not a list of modes")
        return _instruction(form), tuple(map(_read_str, modes))
    except KeyError as error:
        raise MalformedProgram(f"instruction {at}: {error} is missing") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise MalformedProgram(f"instruction {at}: {error}") from None


def _instruction(form: Mapping[str, Json]) -> Instruction:
    kind = _KINDS.get(str(form["do"]))
    if kind is None:
        raise MalformedProgram(f"unknown instruction {form['do']!r}")
    unknown = next((name for name in form if name not in _KEYS[kind]), None)
    if unknown is not None:
        raise MalformedProgram(f"{unknown!r} is not a field of {form['do']!r}")
    values: dict[str, Any] = {}
    for field in _FIELDS[kind]:
        if field.type == "Literal":
            values[field.name] = _read_literal(form)
        elif field.default is MISSING or field.name in form:
            values[field.name] = _FORMS[field.type].read(form[field.name])
    return kind(**values)


# -- how a field of each type is written and read


class _Form(NamedTuple):
    write: Callable[[Any], Json]
    read: Callable[[Json], Any]


def _literal(value: Literal) -> dict[str, Json]:
    return {"shape": list(value.shape), "dtype": value.dtype, "data": [_float(x) for x in value.data]}


def _read_literal(form: Json) -> Literal:
    data, shape = tuple(_read_float(x) for x in form["data"]), tuple(_whole(d) for d in form["shape"])
    return Literal(data, shape, _read_str(form["dtype"]))


def _float(x: float) -> float | str:
    return x if math.isfinite(x) else str(float(x))


def _read_float(value: Json) -> float:
    if isinstance(value, str) and value not in ("inf", "-inf", "nan"):
        raise MalformedProgram(f"{value!r} is not a number")
    return float(value)


def _read_str(value: Json) -> str:
    if not isinstance(value, str):
        raise MalformedProgram(f"{value!r} is not a text")
    return value


def _flag(value: Json) -> bool:
    if not isinstance(value, bool):
        raise MalformedProgram(f"{value!r} is neither true nor false")
    return value


def _whole(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedProgram(f"{value!r} is not a whole number")
    return value


def _ref(text: Json) -> Ref:
    at, _, output = str(text).removeprefix("%").partition(".")
    if not (str(text).startswith("%") and at.isdecimal() and (output or "0").isdecimal()):
        raise MalformedProgram(f"{text!r} is not a value; values are written %3 or %3.1")
    return Ref(int(at), int(output or 0))


def attrs_to_json(attrs: Attrs) -> Json:
    """Returns the JSON form of attributes: an object with the value of each name."""
    return {name: _attr(value) for name, value in attrs}


def attrs_from_json(form: Json) -> Attrs:
    """Returns the attributes of a JSON form."""
    return tuple((str(name), _read_attr(value)) for name, value in form.items())


def _groups(groups: Groups) -> Json:
    return [{"leaves": count, "settings": attrs_to_json(own)} for count, own in groups]


def _read_groups(form: Json) -> Groups:
    return tuple((_whole(group["leaves"]), attrs_from_json(group["settings"])) for group in form)


def _attr(value: Attr) -> Json:
    if isinstance(value, tuple):
        return [_attr(v) for v in value]
    return {"float": _float(value)} if isinstance(value, float) else value


def _read_attr(value: Json) -> Attr:
    match value:
        case list():
            return tuple(_read_attr(v) for v in value)
        case {"float": x}:
            return _read_float(x)
        case None | bool() | int() | str():
            return value
        case _:
            raise MalformedProgram(f"{value!r} is not a valid attribute value")


def _optional(form: _Form) -> _Form:
    return _Form(
        lambda value: None if value is None else form.write(value),
        lambda value: None if value is None else form.read(value),
    )


def _several(form: _Form) -> _Form:
    return _Form(lambda values: [form.write(v) for v in values], lambda values: tuple(form.read(v) for v in values))


_REF, _FLAG = _Form(str, _ref), _Form(_flag, _flag)
_FORMS: dict[Any, _Form] = {
    "Ref": _REF,
    "Ref | None": _optional(_REF),
    "tuple[Ref, ...]": _several(_REF),
    "tuple[Ref, ...] | None": _optional(_several(_REF)),
    "tuple[Literal | None, ...]": _several(_optional(_Form(_literal, _read_literal))),
    "Attrs": _Form(attrs_to_json, attrs_from_json),
    "Groups": _Form(_groups, _read_groups),
    "bool": _FLAG,
    "bool | None": _optional(_FLAG),
    "int": _Form(_whole, _whole),
    "float": _Form(_float, _read_float),
    "str": _Form(_read_str, _read_str),
}
"""The functions that write a field to JSON and read it from JSON, by the type annotation of the field."""


def _keys(of: Iterable[Field[Any]]) -> Iterator[str]:
    for field in of:
        yield from ("shape", "dtype", "data") if field.type == "Literal" else (field.name,)


_FIELDS: dict[type, tuple[Field[Any], ...]] = {kind: fields(kind) for kind in INSTRUCTIONS}
_KEYS = {kind: {"do", "modes", *_keys(of)} for kind, of in _FIELDS.items()}
_KINDS: dict[str, type[Instruction]] = {row.word: kind for kind, row in INSTRUCTIONS.items()}
