"""Draws optimizers: the kind, its settings, its implementation and its parameter groups."""

from __future__ import annotations

from autograd_conformance.ops.optimizers import FUSED, OPTIMIZERS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs, Groups
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.unsupported import Unsupported

OptimizerChoice = tuple[str, Attrs, Groups]
"""An optimizer's name, settings and parameter groups, such as ("sgd", (("lr", 0.125),), ())."""

PLAIN: tuple[tuple[str, Attrs], ...] = (
    ("sgd", (("lr", 0.125),)),
    ("sgd", (("lr", 0.125), ("momentum", 0.5))),
    ("sgd", (("lr", 0.125), ("momentum", 0.5), ("nesterov", True))),
    ("sgd", (("lr", 0.125), ("weight_decay", 0.25))),
    ("adam", (("lr", 0.125),)),
    ("adam", (("lr", 0.125), ("betas", (0.5, 0.75)), ("weight_decay", 0.25))),
)
"""SGD and Adam with settings, for programs that test something other than optimizers; the settings are large enough
that a step visibly changes the parameters.
"""


def plain_optimizer(b: Draft) -> tuple[str, Attrs]:
    """Draws one of the optimizers in `PLAIN` (SGD or Adam), or any optimizer if the framework supports none of these,
    one time in three in another implementation; for a program in which only the fact of a step matters.
    """
    known = b.alphabet.optimizers
    found = [(row, given) for row, given in PLAIN if row in known and set(known[row]).issuperset(dict(given))]
    return _varied(b, *b.pick(found if found and b.can(Capability.OPTIMIZERS) else choices(b)))


def _varied(b: Draft, row: str, settings: Attrs) -> tuple[str, Attrs]:
    """Returns an optimizer's name and settings, one time in three with another of its implementations, such as
    foreach.
    """
    others = variants(b, row)
    return row, (*settings, *b.pick(others)) if others and b.below(3) == 2 else settings


def choices(b: Draft, name: str | None = None) -> list[tuple[str, Attrs]]:
    """Returns all optimizers, or the one called `name`, each with every choice of settings that the framework supports,
    simplest first.
    """
    if not b.can(Capability.OPTIMIZERS):
        raise Unsupported("needs optimizers, not claimed")
    known = {row: set(settings) for row, settings in b.alphabet.optimizers.items() if name in (None, row)}
    found = [
        (row, choice)
        for row, settings in known.items()
        for choice in OPTIMIZERS[row].choices
        if settings.issuperset(key for key, _ in choice)
    ]
    if not found:
        raise Unsupported(f"the framework has no optimizer {name or 'at all'}")
    return found


def variants(b: Draft, name: str) -> list[Attrs]:
    """Returns the implementations of an optimizer, such as foreach, that the framework claims, as settings."""
    return [
        variant
        for variant in OPTIMIZERS[name].variants
        if b.can(Capability.FUSED if variant == FUSED else Capability.FOREACH)
    ]


def optimizer(b: Draft, count: int, name: str | None = None, grouped: bool | None = None) -> OptimizerChoice:
    """Draws an optimizer of any kind, or the one called `name`, for `count` leaves: one time in three in another
    implementation, such as foreach, and one time in four, or as `grouped` says, with parameter groups.
    """
    row, settings = _varied(b, *b.pick(choices(b, name)))
    if not b.can(Capability.GROUPS) or not (b.below(4) == 3 if grouped is None else grouped):
        return row, settings, ()
    return row, settings, groups(b, row, settings, count)


def groups(b: Draft, name: str, settings: Attrs, count: int) -> Groups:
    """Draws parameter groups for `count` leaves. On average two groups in three override one setting."""
    found: list[tuple[int, Attrs]] = []
    while count:
        size = 1 + b.below(count)
        found.append((size, () if b.below(3) == 2 else _own(b, name, settings)))
        count -= size
    return tuple(found)


def _own(b: Draft, name: str, settings: Attrs) -> Attrs:
    """Draws a setting that a parameter group may override, with a value other than the optimizer's."""
    row, given = OPTIMIZERS[name], dict(settings)
    others = [
        (key, value)
        for choice in row.choices
        for key, value in choice
        if key in row.overrides and key in b.alphabet.optimizers[name] and given.get(key) != value
    ]
    return (b.pick([("lr", 0.25), *dict.fromkeys(others)]),)
