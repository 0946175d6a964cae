"""The text form of an instruction as its first word and its fields in order: ``clip_grad a, c norm 1.0``.

Any instruction whose fields have the types of `_FORMS` may use it. All others have separate forms, in
`programs.formats.text` and `programs.formats.parser`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from autograd_conformance.programs.language import Instruction, Ref

Names = Mapping[Ref, str]
"""The name of each value."""
Known = Mapping[str, Ref]
"""The values that earlier statements have named, by name."""


class _Form(NamedTuple):
    write: Callable[[Any, Names], str]
    read: Callable[[str, Known], object]
    """A function that reads the field from its part of the text, or raises KeyError or ValueError."""


def write_fields(step: Instruction, name: Names) -> str:
    """Returns the fields of an instruction as text."""
    return " ".join(_FORMS[str(f.type)].write(getattr(step, f.name), name) for f in fields(step))


def read_fields(kind: type[Instruction], text: str, known: Known) -> Instruction:
    """Returns the instruction with these fields; raises KeyError for an unknown value, and ValueError for text that is
    not a field.
    """
    *others, last = fields(kind)
    values: dict[str, Any] = {}
    for field in others:
        part, text = _listed_part(text) if field.type == "tuple[Ref, ...]" else _word(text)
        values[field.name] = _FORMS[str(field.type)].read(part, known)
    values[last.name] = _FORMS[str(last.type)].read(text, known)
    return kind(**values)


def _word(text: str) -> tuple[str, str]:
    """Returns the first word, and the rest of the text."""
    word, _, rest = text.partition(" ")
    return word, rest.strip()


def _listed_part(text: str) -> tuple[str, str]:
    """Returns names separated by commas at the beginning of a text, and the rest of the text."""
    before, comma, last = text.rpartition(",")
    name, rest = _word(last.strip())
    return before + comma + name, rest


def _read_values(text: str, known: Known) -> tuple[Ref, ...]:
    return tuple(known[name.strip()] for name in text.split(","))


def _read_flag(text: str, known: Known) -> bool:
    if text.strip() not in ("True", "False"):
        raise ValueError(f"{text.strip()!r} is none of True, False")
    return text.strip() == "True"


_FORMS: Mapping[str, _Form] = {
    "Ref": _Form(lambda ref, name: name[ref], lambda text, known: known[text]),
    "tuple[Ref, ...]": _Form(lambda refs, name: ", ".join(name[ref] for ref in refs), _read_values),
    "bool": _Form(lambda flag, name: str(flag), _read_flag),
    "float": _Form(lambda number, name: repr(number), lambda text, known: float(text)),
    "str": _Form(lambda word, name: word, lambda text, known: text),
}
"""How a field of each type is written and read."""
