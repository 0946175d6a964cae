"""What the attributes of ops and the settings of optimizers may be, derived from what their rows offer.

A program may come out of a file, so nothing of it is believed: its attributes have the names that the row offers, and
their values are of the types that the row offers under these names. A text is one of the row's words: attributes are
written into code, and no other text may be.
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
    """The values that one attribute may have."""

    scalars: frozenset[type]
    """The types of values that are no tuples and no text."""
    elements: frozenset[type] | None
    """The types of what tuples hold, at any depth; None where the value is no tuple."""
    words: frozenset[str]
    """The texts."""

    @property
    def equations(self) -> bool:
        """Whether the texts are equations, any of which may be given."""
        return any(map(EQUATION.fullmatch, self.words))

    def allows(self, value: object) -> bool:
        """Whether an attribute may have a value."""
        match value:
            case tuple():
                return self.elements is not None and all(_is_of(each, self.elements) for each in _flat(value))
            case str():
                return value in self.words or (self.equations and EQUATION.fullmatch(value) is not None)
            case _:
                return _is_of(value, self.scalars)

    def __str__(self) -> str:
        """What may be, in words."""
        options = [text for kind, text in _WORDS.items() if kind in self.scalars]
        options += [f"a tuple of {_listed(self.elements) or 'nothing'}"] if self.elements is not None else []
        return " or ".join([*options, *(["an equation"] if self.equations else map(repr, sorted(self.words)))])


def kind_of(values: Iterable[Attr]) -> Kind:
    """The kind that all of some values have."""
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
    """Whether a value is of one of some types; a whole number is a number, too."""
    return type(value) in kinds or (type(value) is int and float in kinds)


def _listed(kinds: frozenset[type]) -> str:
    return " or ".join(text for kind, text in _WORDS.items() if kind in kinds)


Kinds = Mapping[str, Kind]
"""The kind of each attribute, by its name."""


def kinds_of(row: Op) -> Kinds:
    """The kinds of an op's attributes: those of all that its row offers for any of its shapes, and of its examples."""
    shapes = ((first, *rest) for first in row.fresh for rest in rest_of(row, first))
    return _kinds([*(attrs for each in shapes for attrs in choices_of(row, each)), *row.examples])


def _kinds(offered: Iterable[Attrs]) -> Kinds:
    values: dict[str, list[Attr]] = {}
    for attrs in offered:
        for name, value in attrs:
            values.setdefault(name, []).append(value)
    return {name: kind_of(its) for name, its in values.items()}


def attributes_problem(op: str, attrs: Attrs, kinds: Kinds) -> str | None:
    """What is wrong with the attributes that a program gives an op of these kinds; None where nothing is."""
    missing = sorted(kinds.keys() - dict(attrs).keys())
    return f"{op} needs the attribute {missing[0]}" if missing else _problem(op, "attribute", attrs, kinds)


@lru_cache(maxsize=None)
def _settings_of(optimizer: str) -> Kinds:
    row = OPTIMIZERS[optimizer]
    return _kinds([row.defaults, *row.choices, FOREACH, FUSED])


def settings_problem(optimizer: str, settings: Attrs, groups: Groups) -> str | None:
    """What is wrong with the settings that a program gives an optimizer; None where nothing is."""
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
