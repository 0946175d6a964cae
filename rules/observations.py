"""Observations: what a framework did at each instruction of a program, as plain data.

An observation knows nothing of right or wrong. It holds NumPy arrays, names and messages, so that it can be made in
any process by any adapter, and judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from rules.language import Ref


class Kind(Enum):
    """The kinds of error that rules speak of; `UNKNOWN` is never an expectation."""

    GRAPH_FREED = "graph freed"
    NO_GRAD = "no grad"
    NON_SCALAR_ROOT = "non-scalar root"
    COTANGENT_SHAPE = "cotangent shape"
    MODIFIED = "modified in place"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor as it was seen: a copy of its values, its dtype's name, and whether it requires grad (None: not
    observable).
    """

    value: np.ndarray
    dtype: str
    requires_grad: bool | None


@dataclass(frozen=True, slots=True)
class Gradient:
    """A leaf's gradient as it was seen; `identity` tells two gradient objects apart (None: not observable)."""

    value: np.ndarray
    dtype: str
    identity: int | None = None


@dataclass(frozen=True, slots=True)
class Returned:
    """The instruction returned; `values` are its results."""

    values: tuple[Tensor, ...] = ()


@dataclass(frozen=True, slots=True)
class Raised:
    """The instruction raised: the kind that the adapter makes of it, the exception's type and message."""

    kind: Kind
    type: str
    message: str


@dataclass(frozen=True, slots=True)
class NotRun:
    """The instruction was not run: a value that it needs was never made, because an earlier instruction raised."""


Outcome = Returned | Raised | NotRun


@dataclass(frozen=True, slots=True)
class Seen:
    """One instruction's observation.

    `gradients` is filled after actions only: each leaf's gradient,
    or None. `saved` counts the saved tensors that are alive
    (None: the framework cannot tell).
    """

    outcome: Outcome
    gradients: Mapping[Ref, Gradient | None] = field(default_factory=dict)
    saved: int | None = None


Observation = tuple[Seen, ...]
