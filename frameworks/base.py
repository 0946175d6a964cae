"""What an adapter is: the few calls through which the suite reaches a framework.

An adapter translates and never helps: it neither emulates what its framework does not do nor hides what it does. It
claims only what the framework's documentation claims; what it claims is judged. A value here is whatever the
framework uses for a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from inspect import Parameter, signature
from typing import Any, Protocol, runtime_checkable

import numpy as np
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs, Groups
from autograd_conformance.programs.observations import Kind

Value = Any
HookFunction = Callable[[Value], Value | None]
"""What a hook calls: with the gradient; what it returns, if anything, takes the gradient's place."""


class HookRaised(Exception):
    """What a hook of a program raises; the runner knows it in whatever a framework wraps it in."""

    MESSAGE = "this hook of the program raises"


@runtime_checkable
class Framework(Protocol):
    """A framework under test: what every adapter has.

    `apply` returns all results of an op, in order. `read` gives a copy of the values; `gradient` what a leaf holds or
    None. `classify` maps an exception to a kind of error; what it does not know is `Kind.UNKNOWN`. `reset` runs
    before each program.
    """

    name: str
    version: str
    claims: Collection[Capability]
    ops: Collection[str]
    dtypes: Sequence[str]
    dialect: Dialect | None

    def reset(self) -> None: ...
    def leaf(self, data: np.ndarray, requires_grad: bool) -> Value: ...
    def apply(self, op: str, operands: Sequence[Value], attrs: Attrs) -> Sequence[Value]: ...
    def detach(self, value: Value) -> Value: ...
    def backward(
        self, roots: Sequence[Value], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None: ...
    def zero_grad(self, leaves: Sequence[Value], set_to_none: bool) -> None: ...
    def gradient(self, leaf: Value) -> Value | None: ...
    def identity(self, gradient: Value) -> int | None: ...
    def read(self, value: Value) -> np.ndarray: ...
    def dtype(self, value: Value) -> str: ...
    def requires_grad(self, value: Value) -> bool | None: ...
    def classify(self, error: Exception) -> Kind: ...


class FullFramework(Framework, Protocol):
    """What adapters have that claim everything; `METHODS_OF` says which claim needs which of these methods.

    `backward` is given `create_graph` and `inputs` only where a program asks for them. `grad` gives a gradient for
    each input, None for one that is not used. `hook` and `accumulated_hook` register a function of a gradient (of the
    one that the leaf then holds, in the latter) and give a handle for `remove`; `altered` is what a hook with the
    effect "scale", "replace" or "misshape" returns for a gradient. `memory` is a number that tensors have in common
    exactly if they share memory, None where there are no elements; `strides` counts in elements. `step` is given
    `groups` only where a program asks for them; `optimizer` makes the optimizer that equal steps are steps of, and
    `clear` clears the gradients of all its leaves. `saved` counts what
    ops saved and graphs still hold, a tensor that two ops saved twice; where a framework leaves freeing to a garbage
    collector, it runs that first.
    """

    def backward(
        self,
        roots: Sequence[Value],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Value] | None = None,
    ) -> None: ...
    def grad(
        self,
        roots: Sequence[Value],
        inputs: Sequence[Value],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool,
        allow_unused: bool | None,
        materialize_grads: bool,
    ) -> Sequence[Value | None]: ...
    def write(self, op: str, target: Value, operands: Sequence[Value], attrs: Attrs) -> None: ...
    def detach_in_place(self, value: Value) -> None: ...
    def set_requires_grad(self, value: Value, on: bool) -> None: ...
    def retain_grad(self, value: Value) -> None: ...
    def hook(self, value: Value, function: HookFunction) -> Any: ...
    def accumulated_hook(self, leaf: Value, function: HookFunction) -> Any: ...
    def remove(self, handle: Any) -> None: ...
    def altered(self, gradient: Value, effect: str, factor: float) -> Value: ...
    def mode(self, name: str) -> AbstractContextManager[Any]: ...
    def memory(self, value: Value) -> int | None: ...
    def saved(self) -> int: ...
    def strides(self, value: Value) -> tuple[int, ...]: ...
    def assign_grad(self, leaf: Value, value: Value | None) -> None: ...
    def optimizer(self, leaves: Sequence[Value], optimizer: str, settings: Attrs, groups: Groups = ()) -> object: ...
    def step(self, leaves: Sequence[Value], optimizer: str, settings: Attrs, groups: Groups = ()) -> None: ...
    def clear(
        self, leaves: Sequence[Value], optimizer: str, settings: Attrs, set_to_none: bool, groups: Groups = ()
    ) -> None: ...
    def clip(self, leaves: Sequence[Value], kind: str, bound: float) -> None: ...


USUAL_OPTIMIZERS = {"sgd": ("lr", "momentum", "nesterov", "weight_decay"), "adam": ("lr", "betas", "weight_decay")}
"""The optimizers and their settings of an adapter that claims optimizers and has no attribute `optimizers`."""

METHODS = (
    "reset", "leaf", "apply", "detach", "backward", "zero_grad", "gradient", "identity", "read", "dtype",
    "requires_grad", "classify",
)  # fmt: skip
ATTRIBUTES = ("name", "version", "claims", "ops", "dtypes", "dialect")

METHODS_OF: dict[tuple[Capability, ...], tuple[str, ...]] = {
    (Capability.WRITES,): ("write",),
    (Capability.WRITES, Capability.DETACH): ("detach_in_place",),
    (Capability.SWITCHES,): ("set_requires_grad",),
    (Capability.FUNCTIONAL,): ("grad",),
    (Capability.RETAINS_GRAD,): ("retain_grad",),
    (Capability.HOOKS,): ("hook", "remove", "altered"),
    (Capability.ACCUMULATED_HOOKS,): ("accumulated_hook", "remove"),
    (Capability.MODES,): ("mode",),
    (Capability.MEMORY,): ("memory",),
    (Capability.LAYOUT,): ("strides",),
    (Capability.ASSIGNS,): ("assign_grad",),
    (Capability.OPTIMIZERS,): ("step",),
    (Capability.MAKES_OPTIMIZERS,): ("optimizer", "clear"),
    (Capability.CLIPS,): ("clip",),
    (Capability.COUNTS_SAVED,): ("saved",),
}
"""The methods, besides `METHODS`, of an adapter that makes these claims together."""

KEYWORDS_OF: dict[Capability, tuple[str, str]] = {
    Capability.CREATE_GRAPH: ("backward", "create_graph"),
    Capability.INPUTS: ("backward", "inputs"),
    Capability.GROUPS: ("step", "groups"),
}
"""The method and its keyword that a claim needs."""


def lacking(framework: Framework) -> list[str]:
    """What an adapter lacks of what its claims need."""
    methods = [
        f"{method}(), as it claims {' and '.join(claim.name for claim in claims)}"
        for claims, methods in METHODS_OF.items()
        if all(claim in framework.claims for claim in claims)
        for method in methods
        if not callable(getattr(framework, method, None))
    ]
    return methods + [
        f"{method}'s keyword {keyword}, as it claims {claim.name}"
        for claim, (method, keyword) in KEYWORDS_OF.items()
        if claim in framework.claims and not _takes(getattr(framework, method, None), keyword)
    ]


def _takes(method: Callable[..., object] | None, keyword: str) -> bool:
    """Whether a method takes a keyword; one that is not there is missed for its own sake."""
    if method is None:
        return True
    parameters = signature(method).parameters
    return keyword in parameters or any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
