"""Adapters that do not inherit `Adapter`, or that define methods under old names; both work for one release."""

from __future__ import annotations

import warnings
from typing import Any

from autograd_conformance.frameworks.adapter import Adapter

RENAMED = {"foresee": "prepare", "plainer": "simpler_modes", "altered": "hook_result"}
"""New names of renamed adapter methods, by their old names."""

DEFAULTS = (
    "traits", "trait_sources", "packages", "insists", "optimizers", "writes", "limits", "autocast", "modules", "random",
    "notes", "variables", "programs_each", "prepare", "finish", "saved_tensor_counter", "simpler_modes",
)  # fmt: skip
"""Members of `Adapter` with a default that an adapter gets if it neither inherits `Adapter` nor has the member."""

_DEFAULT = Adapter()


def complete(adapter: Any) -> Adapter:
    """Give an adapter the members that it lacks, with a `FutureWarning` if its class has to change."""
    adopt_new_names(adapter)
    if isinstance(adapter, Adapter):
        _adopt_hidden_members(type(adapter))
        return adapter
    name = f"{type(adapter).__module__}.{type(adapter).__qualname__}"
    text = f"{name} has to inherit autograd_conformance.frameworks.adapter.Adapter from the next release on"
    warnings.warn(text, FutureWarning)  # noqa: B028 - at one place for all callers, so that Python shows it once
    for member in DEFAULTS:
        if not hasattr(adapter, member):
            _set(adapter, member, getattr(_DEFAULT, member))
    return adapter  # type: ignore[no-any-return]


def _set(adapter: object, member: str, default: object) -> None:
    """Set a member in an adapter's own dict, past its `__setattr__`; in the adapter's class, if the adapter has no
    dict.
    """
    try:
        vars(adapter)[member] = default
    except TypeError:
        setattr(type(adapter), member, default)


def _adopt_hidden_members(made: type) -> None:
    """Give a class the members of those bases that it lists after `Adapter` or a class that inherits it.

    Before `Adapter` had defaults, these bases were found.
    """
    order = made.__mro__
    before, after = order[: order.index(Adapter)], order[order.index(Adapter) + 1 : -1]
    for each in after:
        for member in vars(each).keys() & vars(Adapter).keys():
            if not member.startswith("_") and not any(member in vars(one) for one in before):
                setattr(made, member, vars(each)[member])


def adopt_new_names(adapter: object) -> None:
    """Give the methods that an adapter's classes define under old names their new names, with a `FutureWarning` each.

    A class that overrides a built-in adapter's method under its old name overrides the new one, and may call the old
    one by `super()`.
    """
    for old, new in RENAMED.items():
        classes = [each for each in type(adapter).__mro__ if old in vars(each) or new in vars(each)]
        named = [each for each in classes if old in vars(each) and new not in vars(each)]
        if not named:
            continue
        text = f"{named[0].__qualname__}.{old} is named {new} now; the old name stops working with the next release"
        warnings.warn(text, FutureWarning, stacklevel=2)
        for each in classes:
            methods = vars(each)
            if new not in methods:
                setattr(each, new, methods[old])
            elif old not in methods:
                setattr(each, old, methods[new])
