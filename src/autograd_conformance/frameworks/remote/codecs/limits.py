"""A limit of an op as JSON: `{"attrs": {"stride": [1]}, "dimensions": [2], "empty": false, "broadcasts": false}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from autograd_conformance.ops.limits import Limit
from autograd_conformance.programs.formats.codec import attrs_from_json, attrs_to_json

Json = Any


class MalformedLimit(ValueError):
    """An object is not a limit; the message says why."""


def to_json(limit: Limit) -> dict[str, Json]:
    """Returns the JSON form of a limit, without fields that limit nothing."""
    form: dict[str, Json] = {}
    if limit.attrs:
        form["attrs"] = attrs_to_json(tuple((name, tuple(values)) for name, values in limit.attrs.items()))
    if limit.dimensions is not None:
        form["dimensions"] = sorted(limit.dimensions)
    return form | {name: False for name in FLAGS if not getattr(limit, name)}


def from_json(form: Json) -> Limit:
    """Parse the JSON form of a limit; raises `MalformedLimit`."""
    known = [each.name for each in fields(Limit)]
    if not isinstance(form, Mapping) or not form.keys() <= {*known}:
        raise MalformedLimit(f"a limit is an object of some of {', '.join(known)}, not {form!r}")
    attrs, dimensions = form.get("attrs", {}), form.get("dimensions")
    if not isinstance(attrs, Mapping) or not all(isinstance(values, list) for values in attrs.values()):
        raise MalformedLimit(f"attrs are an object, a list of values by each attribute's name, not {attrs!r}")
    if dimensions is not None and not (isinstance(dimensions, list) and all(type(each) is int for each in dimensions)):
        raise MalformedLimit(f"dimensions are a list of whole numbers, not {dimensions!r}")
    flags = {name: form[name] for name in FLAGS if name in form}
    invalid = [name for name, value in flags.items() if not isinstance(value, bool)]
    if invalid:
        raise MalformedLimit(f"{invalid[0]} is true or false, not {flags[invalid[0]]!r}")
    allowed = {name: values for name, values in attrs_from_json(attrs) if isinstance(values, tuple)}
    return Limit(allowed, None if dimensions is None else tuple(dimensions), **flags)


FLAGS = ("empty", "broadcasts")
"""Boolean fields of a limit."""
