"""The templates of printed code that an adapter's dialect needs, for each capability that it claims, and the fields
that each template may have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import Formatter

from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability as C

ALWAYS = ("prelude", "tensor", "ops")
"""The templates that every program needs."""

NEEDED: Mapping[C, tuple[str, ...]] = {
    C.IMPERATIVE: ("backward", "gradient"),
    C.RETAIN: ("retain",),
    C.DETACH: ("detach",),
    C.ZERO_TO_NONE: ("clear_to_none",),
    C.ZERO_TO_ZEROS: ("clear_to_zeros",),
    C.CREATES_IN_LEAVES: ("create", "held"),
    C.ASSIGNS: ("assign", "held"),
    C.OPTIMIZERS: ("step",),
    C.MAKES_OPTIMIZERS: ("optimizer", "step_again", "clear"),
    C.GROUPS: ("group",),
    C.CLIPS: ("clips",),
    C.WRITES: ("writes",),
    C.DETACHES_IN_PLACE: ("detach_in_place",),
    C.MODES: ("modes",),
    C.AUTOCAST: ("modes",),
    C.SWITCHES: ("requires_grad",),
    C.INPUTS: ("inputs",),
    C.RETAINS_GRAD: ("retain_grad",),
    C.HOOKS: ("hook", "effects", "remove_hook"),
    C.ACCUMULATED_HOOKS: ("accumulated_hook", "remove_hook"),
    C.DEFAULT_DTYPE: ("default_dtype",),
    C.COUNTS_SAVED: ("saved",),
}
"""The fields of `printing.dialect.Dialect` that have to be given if a capability is claimed."""

FIELDS: Mapping[str, tuple[str, ...]] = {
    "tensor": ("data", "dtype", "flags"),
    "empty": ("shape", "dtype", "flags"),
    "number": ("data", "dtype", "flags"),
    "cotangent": ("data", "dtype"),
    "detach": ("source",),
    "backward": ("root", "arguments"),
    "backward_many": ("roots", "cotangents", "arguments"),
    "retain": ("value",),
    "clear_to_none": ("leaf",),
    "clear_to_zeros": ("leaf",),
    "clear_to_zeros_briefly": ("leaf",),
    "gradient": ("leaf",),
    "memory": ("value",),
    "shape": ("value",),
    "dtype": ("value",),
    "flag": ("value",),
    "elements": ("value",),
    "in_full": ("value",),
    "held": ("leaf",),
    "assign": ("leaf", "value"),
    "create": ("value",),
    "step": ("optimizer", "leaves", "settings"),
    "optimizer": ("optimizer", "leaves", "settings"),
    "step_again": ("name",),
    "clear": ("name", "set_to_none"),
    "group": ("leaves", "settings"),
    "detach_in_place": ("target",),
    "requires_grad": ("target", "on"),
    "inputs": ("inputs",),
    "grad": ("roots", "inputs", "arguments"),
    "cotangents": ("cotangents",),
    "vjp": ("function", "inputs", "places", "cotangents", "cotangent"),
    "ones": ("root",),
    "together": ("values",),
    "unused": ("value",),
    "materialize": ("value",),
    "retain_grad": ("target",),
    "hook": ("target", "function"),
    "accumulated_hook": ("target",),
    "remove_hook": ("handle",),
    "drop": ("values",),
    "default_dtype": ("dtype",),
    "under": ("modes", "line"),
    "parameter": ("tensor",),
    "unit": ("function", "inputs", "arguments"),
}
"""The names in braces that each template of `printing.dialect.Dialect` may have, as the template's description says."""


def unknown_fields(dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Yields the templates that cannot be filled in, each with the reason: a name in braces that the template does not
    have, or braces without a partner.
    """
    for name, fields in FIELDS.items():
        try:
            used = [field for _, field, _, _ in Formatter().parse(getattr(dialect, name)) if field is not None]
        except ValueError as error:
            yield name, f"its braces do not match ({error}); write {{{{ and }}}} for braces of the code"
            continue
        for field in used:
            if field not in fields:
                known = ", ".join(f"{{{each}}}" for each in fields)
                yield name, f"it has no field {{{field}}}, only {known}; write {{{{ and }}}} for braces of the code"


def empty(dialect: Dialect, capabilities: frozenset[C]) -> Iterator[tuple[str, str]]:
    """Yields the templates that are empty although they are needed, each with the capability that needs it."""
    for name in ALWAYS:
        if not getattr(dialect, name):
            yield name, "every program"
    for capability, names in NEEDED.items():
        for name in names if capability in capabilities else ():
            if not getattr(dialect, name):
                yield name, capability.name
    if {C.IMPERATIVE, C.MULTIPLE_ROOTS} <= capabilities and not dialect.backward_many:
        yield "backward_many", C.MULTIPLE_ROOTS.name
    if C.FUNCTIONAL in capabilities and not dialect.vjp:
        yield from _of_grad(dialect, capabilities)


def _of_grad(dialect: Dialect, capabilities: frozenset[C]) -> Iterator[tuple[str, str]]:
    """Yields the empty templates of a call that returns gradients and is given no function."""
    for name, capability in (("grad", C.FUNCTIONAL), ("unused", C.UNUSED), ("materialize", C.MATERIALIZES)):
        if capability in capabilities and not getattr(dialect, name):
            yield name, capability.name
