"""What an adapter needs to have: some methods always, others for what it claims."""

from __future__ import annotations

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
    (Capability.HOOKS,): ("hook", "remove", "altered"),
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
"""The methods, besides `METHODS`, of an adapter that has these capabilities together."""

KEYWORDS_OF: dict[Capability, tuple[str, str]] = {
    Capability.CREATES_IN_LEAVES: ("backward", "create_graph"),
    Capability.INPUTS: ("backward", "inputs"),
    Capability.GROUPS: ("step", "groups"),
}
"""The method and its keyword that a capability needs."""


CLAIMS_OF: dict[Capability, tuple[Capability, ...]] = {
    Capability.FUNCTIONAL: (Capability.UNUSED, Capability.MATERIALIZES),
    Capability.CREATE_GRAPH: (Capability.CREATES_IN_LEAVES, Capability.FUNCTIONAL),
}
"""The capabilities of which a capability needs one at least: what unused inputs give, which calls create a graph."""


def unclaimed(capabilities: Collection[Capability]) -> list[str]:
    """The capabilities of which one would have to be claimed beside others, in words."""
    return [
        f"a claim of {' or '.join(other.name for other in others)}, as it claims {capability.name}"
        for capability, others in CLAIMS_OF.items()
        if capability in capabilities and not set(others) & set(capabilities)
    ]


def lacking(adapter: Adapter) -> list[str]:
    """The methods, keywords and claims that an adapter's capabilities need and that it does not have, in words."""
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
        if capability in adapter.capabilities and not _takes(getattr(adapter, method, None), keyword)
    ]
    return methods + unclaimed(adapter.capabilities) + keywords


def _takes(method: Callable[..., object] | None, keyword: str) -> bool:
    """Whether a method takes a keyword; one that is not there is missed for its own sake."""
    if method is None:
        return True
    parameters = signature(method).parameters
    return keyword in parameters or any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
