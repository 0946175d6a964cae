"""Observations: what a framework did at each instruction of a program, as plain data.

An observation knows nothing of right or wrong. It holds NumPy arrays, names and messages, so that it can be made in
any process by any adapter, and judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.own_numpy import np


class Kind(Enum):
    """The kinds of error that rules speak of. `UNKNOWN` is never an expectation. `NO_KERNEL` ends the judging, and so
    does `UNDECIDED`: nobody can tell whether the framework, or the adapter alone, raised it.
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
    """A tensor as it was seen; None stands for a property that cannot be observed."""

    value: np.ndarray
    """A copy of its values."""
    dtype: str
    """Its dtype's name."""
    requires_grad: bool | None
    """Whether it requires grad."""
    memory: int | None = None
    """A number that it has in common with the tensors that share its memory."""
    strides: tuple[int, ...] | None = None
    """Its strides, in elements."""


@dataclass(frozen=True, slots=True)
class Gradient:
    """A gradient as it was seen; None stands for a property that cannot be observed."""

    value: np.ndarray
    """A copy of its values."""
    dtype: str
    """Its dtype's name."""
    identity: int | None = None
    """A number that tells it from other gradient objects."""
    requires_grad: bool | None = None
    """Whether it requires grad, that is, can be differentiated."""
    memory: int | None = None
    """A number that it has in common with the tensors that share its memory."""
    strides: tuple[int, ...] | None = None
    """Its strides, in elements."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The instruction returned."""

    values: tuple[Tensor | None, ...] = ()
    """Its results; None for an input of the functional form that is not used, and for what stays within a unit."""


@dataclass(frozen=True, slots=True)
class Raised:
    """The instruction raised an exception."""

    kind: Kind
    """The kind of error that the adapter makes of it."""
    type: str
    """The exception's type."""
    message: str
    """The exception's message."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """The instruction was not run: a value that it needs was never made, because an earlier instruction raised."""


Outcome = Returned | Raised | Skipped


@dataclass(frozen=True, slots=True)
class HookCall:
    """A hook was called."""

    hook: Ref
    """The hook's handle."""
    value: np.ndarray | None
    """The gradient that it was given."""
    dtype: str | None = None
    """That gradient's dtype, where it is known."""


@dataclass(frozen=True, slots=True)
class StepObservation:
    """One instruction's observation."""

    outcome: Outcome
    """How the instruction ended."""
    gradients: Mapping[Ref, Gradient | None] = field(default_factory=dict)
    """The gradient of every value that can hold one, after instructions that make no value and after `Grad`."""
    values: Mapping[Ref, Tensor] = field(default_factory=dict)
    """Every value that is alive, after instructions that change values."""
    fired: tuple[HookCall, ...] = ()
    """The hooks that were called, in order."""
    saved: int | None = None
    """How many saved tensors are alive; None where the framework cannot tell."""
    mutated: tuple[int, ...] = ()
    """Which of the cotangents that a call was given, by number, the framework wrote into while it ran."""
    region: tuple[int, ...] = ()
    """The numbers of the instructions that ran as one unit, of which this is the last where the unit returned, and the
    first where it raised: the others of them were not looked at but for what the unit gave out."""
    unobserved: tuple[str, ...] = ()
    """What of a value could not be looked at though it was tried, and why, in words: it is None here, and no rule is
    broken by that."""


Observation = tuple[StepObservation, ...]


def region_steps(observation: Observation) -> dict[int, tuple[int, ...]]:
    """For each instruction that ran in a unit, the numbers of all that ran in it."""
    return {at: seen.region for seen in observation for at in seen.region}


def lacks_kernel(*observation: StepObservation) -> bool:
    """Whether some instruction asked for what the device has no kernel of."""
    outcomes = (seen.outcome for seen in observation)
    return any(isinstance(outcome, Raised) and outcome.kind is Kind.NO_KERNEL for outcome in outcomes)


def is_inconclusive(*observation: StepObservation) -> bool:
    """Whether judging ends at some instruction, for a reason that is no fault of the framework's."""
    return lacks_kernel(*observation) or undecided_error(*observation) is not None


def undecided_error(*observation: StepObservation) -> Raised | None:
    """The first error of which nobody can tell whose it is."""
    outcomes = (seen.outcome for seen in observation)
    return next((each for each in outcomes if isinstance(each, Raised) and each.kind is Kind.UNDECIDED), None)
