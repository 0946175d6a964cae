"""Methods, attributes and keywords that an adapter must have, in general and for each capability that it claims."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from inspect import Parameter, signature

from autograd_conformance.frameworks.adapter import Adapter, HasVjp
from autograd_conformance.programs.capabilities import Capability

METHODS = (
    "reset", "leaf", "apply", "detach", "backward", "zero_grad", "gradient", "identity", "read", "dtype",
    "requires_grad", "classify",
)  # fmt: skip
ATTRIBUTES = ("name", "version", "capabilities", "ops", "dtypes", "dialect")

METHODS_OF: dict[tuple[Capability, ...], tuple[str, ...]] = {
    (Capability.WRITES,): ("write",),
    (Capability.WRITES, Capability.DETACH): ("detach_in_place",),
    (Capability.SWITCHES,): ("set_requires_grad",),
    (Capability.FUNCTIONAL,): ("grad",),
    (Capability.RETAINS_GRAD,): ("retain_grad",),
    (Capability.HOOKS,): ("hook", "remove", "hook_result"),
    (Capability.ACCUMULATED_HOOKS,): ("accumulated_hook", "remove"),
    (Capability.MODES,): ("mode",),
    (Capability.DEFAULT_DTYPE,): ("default_dtype",),
    (Capability.MEMORY,): ("memory",),
    (Capability.LAYOUT,): ("strides",),
    (Capability.ASSIGNS,): ("assign_grad",),
    (Capability.OPTIMIZERS,): ("step",),
    (Capability.MAKES_OPTIMIZERS,): ("optimizer", "clear"),
    (Capability.CLIPS,): ("clip",),
    (Capability.COUNTS_SAVED,): ("saved",),
}
"""Additional methods of an adapter that claims all capabilities of the key."""

RENAMED = {"foresee": "prepare", "plainer": "simpler_modes", "altered": "hook_result"}
"""New names of renamed adapter methods, by their old names, which work for one release."""

KEYWORDS_OF: dict[Capability, tuple[str, str]] = {
    Capability.CREATES_IN_LEAVES: ("backward", "create_graph"),
    Capability.INPUTS: ("backward", "inputs"),
    Capability.GROUPS: ("step", "groups"),
}
"""Method and keyword argument that a capability needs."""


CLAIMS_OF: dict[Capability, tuple[Capability, ...]] = {
    Capability.FUNCTIONAL: (Capability.UNUSED, Capability.MATERIALIZES),
    Capability.CREATE_GRAPH: (Capability.CREATES_IN_LEAVES, Capability.FUNCTIONAL),
}
"""Capabilities that need at least one of several others: a functional call needs a rule for unused inputs, and
`create_graph` needs a call that takes it.
"""


def missing_claims(capabilities: Collection[Capability]) -> list[str]:
    """Descriptions of the capabilities that are missing according to `CLAIMS_OF`."""
    return [
        f"a claim of {' or '.join(other.name for other in others)}, as it claims {capability.name}"
        for capability, others in CLAIMS_OF.items()
        if capability in capabilities and not set(others) & set(capabilities)
    ]


def unmet_requirements(adapter: Adapter) -> list[str]:
    """Descriptions of the methods, keywords and claims that an adapter's capabilities need and that are missing."""
    methods = [
        f"{method}(), as it claims {' and '.join(capability.name for capability in together)}"
        for together, methods in METHODS_OF.items()
        if all(capability in adapter.capabilities for capability in together)
        for method in methods
        if not (method == "grad" and isinstance(adapter, HasVjp)) and not callable(getattr(adapter, method, None))
    ]
    keywords = [
        f"{method}'s keyword {keyword}, as it claims {capability.name}"
        for capability, (method, keyword) in KEYWORDS_OF.items()
        if capability in adapter.capabilities and not _accepts(getattr(adapter, method, None), keyword)
    ]
    return methods + missing_claims(adapter.capabilities) + keywords


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


def _accepts(method: Callable[..., object] | None, keyword: str) -> bool:
    """Whether a method accepts a keyword; True if there is no method, which is reported separately."""
    if method is None:
        return True
    parameters = signature(method).parameters
    return keyword in parameters or any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
