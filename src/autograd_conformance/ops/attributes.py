"""Valid attributes of ops and settings of optimizers, derived from the values that their rows offer.

A program may come from a file, so its attributes are validated: their names must be those of the row, and the types of
their values must be among those that the row offers for each name. A text must be one of the row's words, because
attributes are written into code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from autograd_conformance.ops.optimizers import FOREACH, FUSED, OPTIMIZERS
from autograd_conformance.ops.rows.row import Op, choices_of, rest_of
from autograd_conformance.programs.language import Attr, Attrs, Groups
from autograd_conformance.programs.validation import EQUATION

_WORDS: dict[type, str] = {
    type(None): "None",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """Describes the valid values of one attribute of an op, or of one setting of an optimizer, by types and words."""

    scalars: frozenset[type]
    """The types of values that are neither tuples nor texts."""
    elements: frozenset[type] | None
    """The types of elements of tuples, at any depth; None if no tuple is valid."""
    words: frozenset[str]
    """The valid texts."""

    @property
    def equations(self) -> bool:
        """Whether the valid texts are equations; if so, any equation is valid."""
        return any(map(EQUATION.fullmatch, self.words))

    def allows(self, value: object) -> bool:
        """Whether the attribute may have the given value."""
        match value:
            case tuple():
                return self.elements is not None and all(_is_of(each, self.elements) for each in _flat(value))
            case str():
                return value in self.words or (self.equations and EQUATION.fullmatch(value) is not None)
            case _:
                return _is_of(value, self.scalars)

    def __str__(self) -> str:
        """Describes the valid values in words: ``None or a whole number``, ``'mean' or 'sum'``."""
        options = [text for kind, text in _WORDS.items() if kind in self.scalars]
        options += [f"a tuple of {_listed(self.elements) or 'nothing'}"] if self.elements is not None else []
        return " or ".join([*options, *(["an equation"] if self.equations else map(repr, sorted(self.words)))])


def kind_of(values: Iterable[Attr]) -> Kind:
    """Returns the kind (types and words of valid values) that allows all the given values, and others of the same types
    unless they are texts.
    """
    values = tuple(values)
    tuples = [value for value in values if isinstance(value, tuple)]
    return Kind(
        frozenset(type(value) for value in values if not isinstance(value, tuple | str)),
        frozenset(type(each) for value in tuples for each in _flat(value)) if tuples else None,
        frozenset(value for value in values if isinstance(value, str)),
    )


def _flat(values: tuple[object, ...]) -> Iterator[object]:
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value


def _is_of(value: object, kinds: frozenset[type]) -> bool:
    """Whether a value has one of some types; an int is valid where a float is."""
    return type(value) in kinds or (type(value) is int and float in kinds)


def _listed(kinds: frozenset[type]) -> str:
    return " or ".join(text for kind, text in _WORDS.items() if kind in kinds)


Kinds = Mapping[str, Kind]
"""The kind (types and words of valid values) of each attribute, by the attribute's name."""


def kinds_of(row: Op) -> Kinds:
    """Returns the valid values (as types and words) of each attribute of an op, derived from all values that the op's
    row offers for any of its shapes, and from the row's examples.
    """
    shapes = ((first, *rest) for first in row.fresh for rest in rest_of(row, first))
    return _kinds([*(attrs for each in shapes for attrs in choices_of(row, each)), *row.examples])


def _kinds(offered: Iterable[Attrs]) -> Kinds:
    values: dict[str, list[Attr]] = {}
    for attrs in offered:
        for name, value in attrs:
            values.setdefault(name, []).append(value)
    return {name: kind_of(its) for name, its in values.items()}


def attributes_problem(op: str, attrs: Attrs, kinds: Kinds) -> str | None:
    """Describes the problem with the attributes of an op, given the kinds that are valid; None if there is none."""
    missing = sorted(kinds.keys() - dict(attrs).keys())
    return f"{op} needs the attribute {missing[0]}" if missing else _problem(op, "attribute", attrs, kinds)


@lru_cache(maxsize=None)
def _settings_of(optimizer: str) -> Kinds:
    row = OPTIMIZERS[optimizer]
    return _kinds([row.defaults, *row.choices, FOREACH, FUSED])


def settings_problem(optimizer: str, settings: Attrs, groups: Groups) -> str | None:
    """Describes the problem with the settings of an optimizer and of its parameter groups; None if there is none."""
    kinds = _settings_of(optimizer)
    own = {name: kind for name, kind in kinds.items() if name in OPTIMIZERS[optimizer].overrides}
    problems = (_problem(f"a group of {optimizer}", "setting", its, own) for _, its in groups)
    return _problem(optimizer, "setting", settings, kinds) or next(filter(None, problems), None)


def _problem(owner: str, noun: str, given: Attrs, kinds: Kinds) -> str | None:
    names = [name for name, _ in given]
    if len(set(names)) < len(names):
        return f"{owner} has a {noun} twice"
    unknown = next((name for name in names if name not in kinds), None)
    if unknown is not None:
        return f"{owner} has no {noun} {unknown!r}; it has {', '.join(kinds) or 'none'}"
    wrong = next(((name, value) for name, value in given if not kinds[name].allows(value)), None)
    return f"{noun} {wrong[0]} of {owner} is {kinds[wrong[0]]}, not {_short(wrong[1])}" if wrong else None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
