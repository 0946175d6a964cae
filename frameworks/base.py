"""What an adapter is: the few calls through which the suite reaches a framework.

An adapter translates and never helps: it neither emulates what its framework does not do nor hides what it does. It
claims only what the framework's documentation claims; what it claims is judged. A value here is whatever the
framework uses for a tensor.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rules.catalogue import Needs
from rules.dialect import Dialect
from rules.language import Attrs
from rules.observations import Kind

Value = Any


@runtime_checkable
class Framework(Protocol):
    """A framework under test.

    `apply` returns all results of an op, in order. `read` gives a copy of the values; `gradient` what a leaf holds or
    None. `classify` maps an exception to a kind of error; what it does not know is `Kind.UNKNOWN`. `reset` runs
    before each program.
    """

    name: str
    version: str
    claims: Collection[Needs]
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


METHODS = (
    "reset", "leaf", "apply", "detach", "backward", "zero_grad", "gradient", "identity", "read", "dtype",
    "requires_grad", "classify",
)  # fmt: skip
ATTRIBUTES = ("name", "version", "claims", "ops", "dtypes", "dialect")
