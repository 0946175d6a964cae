"""Observations: what a framework did at each instruction of a program, as plain data.

An observation knows nothing of right or wrong. It holds NumPy arrays, names and messages, so that it can be made in
any process by any adapter, and judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from autograd_conformance.programs.language import Ref


class Kind(Enum):
    """The kinds of error that rules speak of; `UNKNOWN` is never an expectation."""

    GRAPH_FREED = "graph freed"
    NO_GRAD = "no grad"
    NON_SCALAR_ROOT = "non-scalar root"
    COTANGENT_SHAPE = "cotangent shape"
    MODIFIED = "modified in place"
    LEAF_WRITTEN = "leaf written in place"
    VIEW_WRITTEN = "view may not be written"
    OVERLAP = "overlapping memory written"
    NOT_A_LEAF = "not a leaf"
    VIEW_DETACHED = "view detached in place"
    UNUSED_INPUT = "unused input"
    INPUT_NO_GRAD = "input requires no grad"
    NO_INPUTS = "no inputs"
    OPTIONS = "options that contradict each other"
    RETAIN_NO_GRAD = "no gradient to retain"
    HOOK_NO_GRAD = "hook without gradient"
    HOOK_SHAPE = "hook changed the shape"
    HOOK_RAISED = "hook raised"
    GRADIENT_FORM = "assigned gradient of another form"
    NOT_IMPLEMENTED = "not implemented"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor as it was seen: a copy of its values, its dtype's name, whether it requires grad, whose memory it uses
    (tensors that share memory have equal numbers), and its strides in elements. None: not observable.
    """

    value: np.ndarray
    dtype: str
    requires_grad: bool | None
    memory: int | None = None
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Gradient:
    """A gradient as it was seen; `identity` tells two gradient objects apart, the rest is as for tensors."""

    value: np.ndarray
    dtype: str
    identity: int | None = None
    requires_grad: bool | None = None
    memory: int | None = None
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Returned:
    """The instruction returned; `values` are its results (None: an input of the functional form that is not used)."""

    values: tuple[Tensor | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Raised:
    """The instruction raised: the kind that the adapter makes of it, the exception's type and message."""

    kind: Kind
    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """The instruction was not run: a value that it needs was never made, because an earlier instruction raised."""


Outcome = Returned | Raised | Skipped


@dataclass(frozen=True, slots=True)
class HookCall:
    """A hook was called: which one, with what gradient."""

    hook: Ref
    value: np.ndarray | None


@dataclass(frozen=True, slots=True)
class StepObservation:
    """One instruction's observation.

    `gradients` is what every value that can hold a gradient holds, after instructions that make no value and after the
    functional form; `values` every value that is alive, after writes and steps; `fired` the hooks that were called, in
    order; `saved` counts the saved tensors that are alive (None: the framework cannot tell).
    """

    outcome: Outcome
    gradients: Mapping[Ref, Gradient | None] = field(default_factory=dict)
    values: Mapping[Ref, Tensor] = field(default_factory=dict)
    fired: tuple[HookCall, ...] = ()
    saved: int | None = None


Observation = tuple[StepObservation, ...]
