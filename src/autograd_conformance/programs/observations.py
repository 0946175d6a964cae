"""Observations: what a framework did at each instruction of a program, as plain data.

An observation contains no judgement. It consists of NumPy arrays, names and messages, so that any adapter can make it
in any process, and it can be judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.own_numpy import np


class Kind(Enum):
    """The kinds of error that rules distinguish.

    `UNKNOWN` is an error that the adapter does not recognise; no rule requires it. Judging ends at `NO_KERNEL`, and at
    `UNDECIDED`: an error that either the framework or its adapter raised, where the traceback does not decide which.
    """

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
    RECOMPUTED = "computed again otherwise"
    NOT_IMPLEMENTED = "not implemented"
    NO_KERNEL = "no kernel for the device"
    UNDECIDED = "cannot be told"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor as it was observed; properties that cannot be observed are None."""

    value: np.ndarray
    """A copy of the tensor's elements."""
    dtype: str
    """The name of the tensor's dtype."""
    requires_grad: bool | None
    """Whether the tensor requires grad."""
    memory: int | None = None
    """A number that identifies the tensor's memory: tensors that share memory have the same number."""
    strides: tuple[int, ...] | None = None
    """The tensor's strides, in elements."""


@dataclass(frozen=True, slots=True)
class Gradient:
    """A gradient as it was observed; properties that cannot be observed are None."""

    value: np.ndarray
    """A copy of the gradient's elements."""
    dtype: str
    """The name of the gradient's dtype."""
    identity: int | None = None
    """A number that identifies the gradient object."""
    requires_grad: bool | None = None
    """Whether the gradient requires grad, and so can be differentiated."""
    memory: int | None = None
    """A number that identifies the gradient's memory: tensors that share memory have the same number."""
    strides: tuple[int, ...] | None = None
    """The gradient's strides, in elements."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The outcome of an instruction that returned."""

    values: tuple[Tensor | None, ...] = ()
    """The results; after a step of an optimizer, the updated leaves. None is the gradient of an unused input, or any
    result of an instruction in a region (instructions that run as one compiled or checkpointed function), whose results
    `StepObservation.values` contains.
    """


@dataclass(frozen=True, slots=True)
class Raised:
    """The outcome of an instruction that raised an exception."""

    kind: Kind
    """The kind of error, as the adapter classifies the exception."""
    type: str
    """The exception's type."""
    message: str
    """The exception's message."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """The instruction was not run: an earlier instruction raised, so a value that this one needs does not exist."""


Outcome = Returned | Raised | Skipped


@dataclass(frozen=True, slots=True)
class HookCall:
    """One call of a hook."""

    hook: Ref
    """The value of the program that is the hook's handle."""
    value: np.ndarray | None
    """The gradient with which the hook was called; None if the hook was called without a gradient."""
    dtype: str | None = None
    """The dtype of the gradient with which the hook was called, if known."""


@dataclass(frozen=True, slots=True)
class StepObservation:
    """The observation of one instruction: its outcome, and all that could be read after it."""

    outcome: Outcome
    """How the instruction ended: it returned, raised, or was skipped."""
    gradients: Mapping[Ref, Gradient | None] = field(default_factory=dict)
    """The stored gradient of every value that can have one. Empty unless the instruction makes no value, is a `Grad`
    call, or ends a region (instructions that run as one compiled or checkpointed function).
    """
    values: Mapping[Ref, Tensor] = field(default_factory=dict)
    """All existing values. Empty unless the instruction writes to or detaches a value in place, is a step of an
    optimizer, applies a module, or ends a region (instructions that run as one compiled or checkpointed function).
    """
    fired: tuple[HookCall, ...] = ()
    """The calls of hooks during the instruction, in order."""
    saved: int | None = None
    """Number of saved tensors that are alive; None if the framework cannot count them."""
    mutated: tuple[int, ...] = ()
    """The positions of the call's cotangents into which the framework wrote during the call."""
    region: tuple[int, ...] = ()
    """The numbers of the instructions that ran together with this one as a region (one compiled or checkpointed
    function). This is stored with the last of these instructions if the region returned, and with the first if it
    raised. The others have no separate observation, except for the region's results.
    """
    unobserved: tuple[str, ...] = ()
    """For each property that could not be read although the adapter tried, a description of what failed and why. The
    property is None in this observation, and this violates no rule."""


Observation = tuple[StepObservation, ...]


def region_steps(observation: Observation) -> dict[int, tuple[int, ...]]:
    """Returns, for each instruction that ran in a region (one compiled or checkpointed function), the numbers of all
    instructions of that region.
    """
    return {at: step.region for step in observation for at in step.region}


def lacks_kernel(*observation: StepObservation) -> bool:
    """Whether some instruction raised because the device has no kernel for an op."""
    return any(outcome.kind is Kind.NO_KERNEL for outcome in _raised(observation))


def is_inconclusive(*observation: StepObservation) -> bool:
    """Whether judging ends at some instruction for a reason that is not the framework's fault: a missing kernel, or an
    error of undecided origin.
    """
    return any(outcome.kind in (Kind.NO_KERNEL, Kind.UNDECIDED) for outcome in _raised(observation))


def undecided_error(*observation: StepObservation) -> Raised | None:
    """Returns the first error whose origin, the framework or its adapter, is undecided."""
    return next((each for each in _raised(observation) if each.kind is Kind.UNDECIDED), None)


def _raised(observation: Observation) -> list[Raised]:
    """Returns the errors that were raised, in order."""
    return [step.outcome for step in observation if isinstance(step.outcome, Raised)]
