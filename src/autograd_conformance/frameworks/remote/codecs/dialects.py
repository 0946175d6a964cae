"""Dialects (templates that print programs as a framework's code) as JSON. Templates are strings; code that a function
writes is requested from the server for each op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from autograd_conformance.ops.modules import TABLE
from autograd_conformance.printing.dialect import Dialect, Template

Json = Any
RequestCode = Callable[[str, Sequence[str], Mapping[str, Any]], str]
"""A function that requests the code of an op, given its name, the names of its operands and its attributes."""

REQUIRED = tuple(field.name for field in fields(Dialect) if field.default is field.default_factory is MISSING)
"""Names of the templates that the JSON form of every dialect has to contain."""


class MalformedDialect(ValueError):
    """A JSON form is not a dialect; the message says why."""


def to_json(dialect: Dialect) -> dict[str, Json]:
    """Returns the JSON form of a dialect. An op whose code a function writes is null; a module is represented by its
    name.
    """
    return {field.name: _written(getattr(dialect, field.name)) for field in fields(Dialect)} | {
        "modules": sorted(name for name, module in dialect.modules.items() if TABLE.get(name) is module)
    }


def _written(value: Any) -> Json:
    match value:
        case str():
            return value
        case tuple():
            return [*value]
        case Mapping():
            return {name: each if isinstance(each, str) else None for name, each in value.items()}
        case _:
            return sorted(value)


def from_json(form: Json, request: RequestCode) -> Dialect:
    """Parse the JSON form of a dialect; raises `MalformedDialect`."""
    if not isinstance(form, Mapping):
        raise MalformedDialect("it has to be an object of templates")
    missing = [name for name in REQUIRED if name not in form]
    if missing:
        raise MalformedDialect(f"it lacks {', '.join(missing)}")
    return Dialect(**{name: _read(name, value, request) for name, value in form.items()})


_KINDS = {field.name: str(field.type) for field in fields(Dialect)}


def _read(name: str, value: Json, request: RequestCode) -> Any:
    kind = _KINDS.get(name)
    if kind is None:
        raise MalformedDialect(f"{name!r} is no template of a dialect")
    if name == "modules":
        unknown = [each for each in _names(name, value) if each not in TABLE]
        if unknown:
            raise MalformedDialect(f"modules: there is no module {unknown[0]!r}")
        return {each: TABLE[each] for each in value}
    if kind.startswith("frozenset"):
        return frozenset(_names(name, value))
    if kind.startswith("tuple"):
        return tuple(_names(name, value))
    if not kind.startswith("Mapping"):
        return _text(name, value)
    if not isinstance(value, Mapping):
        raise MalformedDialect(f"{name} has to be an object of templates by their names, not {value!r}")
    is_template = "Template" in kind
    return {
        each: _requested(each, request) if is_template and template is None else _text(f"{name}[{each!r}]", template)
        for each, template in value.items()
    }


def _names(name: str, value: Json) -> Sequence[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise MalformedDialect(f"{name} has to be a list of names, not {value!r}")
    return value


def _text(name: str, value: Json) -> str:
    if not isinstance(value, str):
        raise MalformedDialect(f"{name} has to be text, not {value!r}")
    return value


def _requested(name: str, request: RequestCode) -> Template:
    """Returns a template that requests an op's code from the server."""

    def written(operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
        return request(name, operands, attrs)

    return written
