"""Methods, attributes and keywords that an adapter must have, in general and for each capability that it claims."""

from __future__ import annotations

from collections.abc import Callable, Collection
from inspect import Parameter, signature

from autograd_conformance.frameworks.adapter import METHODS_OF as METHODS_OF
from autograd_conformance.frameworks.adapter import Adapter, defines
from autograd_conformance.programs.capabilities import Capability

METHODS = (
    "reset", "leaf", "apply", "detach", "backward", "zero_grad", "gradient", "identity", "read", "dtype",
    "requires_grad", "classify",
)  # fmt: skip
ATTRIBUTES = ("name", "version", "capabilities", "ops", "dtypes", "dialect")

KEYWORDS_OF: dict[Capability, tuple[str, str]] = {
    Capability.CREATES_IN_LEAVES: ("backward", "create_graph"),
    Capability.INPUTS: ("backward", "inputs"),
    Capability.GROUPS: ("step", "groups"),
}
"""For each capability, a method and the keyword argument that the method has to accept: ``("backward", "inputs")``."""


CLAIMS_OF: dict[Capability, tuple[Capability, ...]] = {
    Capability.FUNCTIONAL: (Capability.UNUSED, Capability.MATERIALIZES),
    Capability.DETACHES_IN_PLACE: (Capability.DETACH,),
    Capability.CREATE_GRAPH: (Capability.CREATES_IN_LEAVES, Capability.FUNCTIONAL),
}
"""Capabilities that need at least one of several others: a functional call needs a rule for unused inputs, and
`create_graph` needs a call that takes it.
"""


def missing_claims(capabilities: Collection[Capability]) -> list[str]:
    """Returns descriptions of the capabilities that are missing according to `CLAIMS_OF`."""
    return [
        f"a claim of {' or '.join(other.name for other in others)}, as it claims {capability.name}"
        for capability, others in CLAIMS_OF.items()
        if capability in capabilities and not set(others) & set(capabilities)
    ]


def unmet_requirements(adapter: Adapter) -> list[str]:
    """Returns descriptions of the methods, keywords and claims that an adapter's capabilities need and that are
    missing.
    """
    methods = [
        f"{method}(), as it claims {' and '.join(capability.name for capability in together)}"
        for together, methods in METHODS_OF.items()
        if all(capability in adapter.capabilities for capability in together)
        for method in methods
        if not defines(adapter, method) and not (method == "grad" and defines(adapter, "vjp"))
    ]
    keywords = [
        f"{method}'s keyword {keyword}, as it claims {capability.name}"
        for capability, (method, keyword) in KEYWORDS_OF.items()
        if capability in adapter.capabilities and defines(adapter, method)
        if not _accepts(getattr(adapter, method), keyword)
    ]
    return methods + missing_claims(adapter.capabilities) + keywords


def _accepts(method: Callable[..., object], keyword: str) -> bool:
    """Whether a method accepts a keyword."""
    parameters = signature(method).parameters
    return keyword in parameters or any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
