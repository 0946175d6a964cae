"""The JSON forms of programs in records: their instructions, ops and structures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

VALUES = frozenset({"data", "shape", "dtype", "cotangents"})
"""Keys of a program's JSON form whose values (constants, shapes, dtypes, cotangents) are ignored when the structures of
two programs are compared.
"""

OF_OPTIMIZER = VALUES | {"optimizer", "settings", "groups"}
"""Keys whose values are ignored as well if it does not matter which optimizer steps."""


def ops(program: Mapping[str, Any]) -> frozenset[str]:
    """Returns the names of all ops in the JSON form of a program, or of a pair of related programs."""
    return frozenset(step["op"] for step in steps(program) if isinstance(step.get("op"), str))


def steps(form: Any) -> Iterator[Mapping[str, Any]]:
    """Yields every instruction in the JSON form of a program or of a pair of programs."""
    if isinstance(form, Mapping):
        if "do" in form:
            yield form
        for value in form.values():
            yield from steps(value)
    elif isinstance(form, (list, tuple)):
        for value in form:
            yield from steps(value)


def structure(form: Any, ignored: Collection[str] = VALUES) -> Any:
    """Returns a program's JSON form without constants, shapes and dtypes, or without the values of other keys, so that
    programs that differ only in these have equal structures.
    """
    if isinstance(form, Mapping):
        return {key: structure(value, ignored) for key, value in form.items() if key not in ignored}
    return [structure(value, ignored) for value in form] if isinstance(form, (list, tuple)) else form


def optimizer_steps(program: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the instructions of a program that make or use an optimizer."""
    return [step for step in steps(program) if step["do"] in ("step", "optimizer")]
