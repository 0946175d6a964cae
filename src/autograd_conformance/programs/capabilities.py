"""Capabilities, which are features that frameworks may claim and programs may require; and traits, which are the
choices of a framework where several behaviours are legal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum
from math import prod
from typing import assert_never

from autograd_conformance.programs.language import (
    CAST_MODES,
    GRAD_MODES,
    Apply,
    AssignGrad,
    Backward,
    Clip,
    DefaultDtype,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Optimizer,
    Program,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Shape,
    Step,
    ZeroGrad,
)


class Capability(Enum):
    """A feature that a framework may claim. A rule applies only to frameworks that claim all
    features that it requires.
    """

    IMPERATIVE = "imperative backward that leaves gradients in leaves"
    ACCUMULATES = "calls that add to what leaves hold"
    RETAIN = "a flag that keeps the graph"
    FREES = "frees the graph after a backward that does not keep it"
    NON_SCALAR_CHECK = "rejects an implicit cotangent for a root of several elements"
    COTANGENT_CHECK = "rejects a cotangent of another shape"
    NO_GRAD_CHECK = "rejects a root that requires no grad"
    DETACH = "detach"
    ZERO_TO_NONE = "clearing a gradient to none"
    ZERO_TO_ZEROS = "clearing a gradient to zeros"
    CONSTANTS = "leaves that require no grad"
    REQUIRES_GRAD = "tells whether a tensor requires grad"
    IDENTITY = "gradient objects that can be told apart"
    PROMOTES = "operands of several dtypes, the widest of which is the result's"
    MULTIPLE_ROOTS = "one backward call over several roots"
    COTANGENTS = "explicit cotangents"
    CREATE_GRAPH = "gradients that are themselves differentiable"
    CREATES_IN_LEAVES = "differentiable gradients that a call leaves in leaves"
    ASSIGNS = "replacing the gradient that a leaf holds"
    OPTIMIZERS = "optimizers"
    MAKES_OPTIMIZERS = "optimizers that are made before their first step, and clear gradients"
    GROUPS = "optimizers with parameter groups"
    FOREACH = "optimizers that update all leaves at once, or one after the other, as they are told"
    FUSED = "fused optimizers"
    CLIPS = "clipping gradients"
    MODULES = "modules of layers"
    RANDOM = "a random number generator that can be seeded"
    WRITES = "in-place writes"
    VIEWS = "views that share memory"
    MEMORY = "tells whether tensors share memory"
    LAYOUT = "tells the strides of tensors"
    ADDS_IN_PLACE = "adds to the gradient object that a leaf holds"
    DETACHES_IN_PLACE = "detaching in place"
    WRITE_CHECKS = "refuses writes that would break a graph"
    MODES = "grad modes"
    AUTOCAST = "blocks in which listed ops cast their operands"
    DEFAULT_DTYPE = "a default dtype of tensors that are given none"
    SWITCHES = "switching requires_grad on and off"
    FUNCTIONAL = "gradients as results, without accumulation"
    UNUSED = "options for inputs that are not used"
    MATERIALIZES = "gradients of zeros for inputs that are not used"
    ANY_INPUTS = "gradients as results with respect to any value, in any place"
    INPUTS = "backward restricted to inputs"
    RETAINS_GRAD = "gradients held by values that are no leaves"
    HOOKS = "hooks on tensors"
    ACCUMULATED_HOOKS = "hooks after accumulation"
    COUNTS_SAVED = "tells how many saved tensors are alive"
    KNOWS_ERRORS = "knows every error that it refuses a call by"


@dataclass(frozen=True, slots=True)
class Traits:
    """The choices of a framework where several behaviours are legal; the defaults are PyTorch's."""

    scalars: bool = False
    """Whether the framework's values are single numbers: every shape is ``()``."""
    begins_with_zeros: bool = False
    """Whether a leaf's `.grad` is zeros before any backward call, instead of None."""

    implicit_ones: bool = False
    """Whether a root of any shape has an implicit cotangent of ones, as if it were summed first (MyGrad). PyTorch
    requires a root of one element."""
    implicit_for_numbers: bool = False
    """Whether only a root of shape ``()`` has an implicit cotangent (tinygrad). PyTorch accepts any root of one
    element."""
    fills: bool = False
    """Whether a call may leave zeros in leaves to which no gradient flows although the root was computed from them, as
    through a detached value (tinygrad). PyTorch leaves nothing."""
    ends: bool = False
    """Whether a call ends the graph that it differentiates (MyGrad), except a call with retain_graph=True. The values
    of an ended graph have no history, and anything recorded from one of them earlier, a leaf included, may be refused.
    PyTorch frees saved tensors, and does not affect graphs that share only leaves."""
    use_clears: bool = False
    """Whether using a leaf in a new computation clears its `.grad` (MyGrad). A view of the leaf may clear it or not.
    PyTorch keeps `.grad` until it is cleared."""

    distinct_roots: bool = False
    """Whether a call refuses a root that is listed twice (PaddlePaddle), or cannot express it. PyTorch counts such a
    root twice."""
    copies: bool = False
    """Whether assigning to `.grad` copies the tensor without its history (PaddlePaddle). PyTorch stores the assigned
    tensor itself."""

    one_node: bool = False
    """Whether a region (several instructions that run as one compiled or checkpointed function) is one node of the
    graph. A call through a part of the region then frees all of it and gives zeros to inputs that the call does not
    reach, and no gradient flows from one of the region's results to another.
    """
    recomputes: bool = False
    """Whether a region (several instructions that run as one checkpointed function) saves only its inputs, and
    recomputes the rest during backward.
    """
    captures: bool = False
    """Whether the recomputation of a checkpointed function uses the current values of its inputs without checking that
    they are unchanged. A call through a function whose inputs were since written to, or had `requires_grad` changed,
    may then give any numbers, or raise.
    """

    def implies(self, shape: Shape) -> bool:
        """Whether a root of the given shape has an implicit cotangent, so that a call may omit the cotangent."""
        return self.implicit_ones or (shape == () if self.implicit_for_numbers else prod(shape) == 1)

    @property
    def named(self) -> tuple[str, ...]:
        """The names of the traits that differ from PyTorch's, as words: ``begins with zeros``."""
        return tuple(f.name.replace("_", " ") for f in fields(self) if getattr(self, f.name) != f.default)


PYTORCH = Traits()
"""The traits of a framework that declares none."""


def needs(program: Program) -> set[Capability]:
    """Returns the capabilities that a program requires of a framework."""
    words = {mode for modes in program.modes for mode in modes}
    found = {Capability.MODES} if not words.isdisjoint(GRAD_MODES) else set()
    found |= {Capability.AUTOCAST} if not words.isdisjoint(CAST_MODES) else set()
    for step in program:
        found |= needs_of(step, program)
    return found


def needs_of(step: Instruction, program: Program) -> set[Capability]:
    """Returns the capabilities that an instruction requires, outside of grad modes. `program` has the instructions that
    made its operands.
    """
    match step:
        case Leaf():
            return set() if step.requires_grad else {Capability.CONSTANTS}
        case Detach():
            return {Capability.DETACH}
        case InPlace():
            return {Capability.WRITES}
        case DetachInPlace():
            return {Capability.WRITES, Capability.DETACH, Capability.DETACHES_IN_PLACE}
        case SetRequiresGrad():
            return {Capability.SWITCHES}
        case Backward():
            restricted = set() if step.inputs is None else {Capability.INPUTS}
            creates = {Capability.CREATES_IN_LEAVES} if step.create_graph else set()
            return _call_needs(step) | {Capability.IMPERATIVE} | restricted | creates
        case Grad():
            options = {
                Capability.UNUSED: step.allow_unused is not None or not step.materialize_grads,
                Capability.MATERIALIZES: step.materialize_grads,
                Capability.ANY_INPUTS: not are_distinct_leaves(step.inputs, program),
            }
            return _call_needs(step) | {
                Capability.FUNCTIONAL,
                *(need for need, used in options.items() if used),
            }
        case RetainGrad():
            return {Capability.RETAINS_GRAD}
        case Hook(accumulated=accumulated):
            return {Capability.ACCUMULATED_HOOKS if accumulated else Capability.HOOKS}
        case ZeroGrad(_, set_to_none):
            return {Capability.ZERO_TO_NONE if set_to_none else Capability.ZERO_TO_ZEROS}
        case ReadGrad():
            return {Capability.ASSIGNS}
        case AssignGrad():
            return {Capability.ASSIGNS, *({Capability.ZERO_TO_NONE} if step.value is None else ())}
        case Step():
            return {Capability.OPTIMIZERS, *_optimizer_needs(step)}
        case Optimizer():
            return {Capability.MAKES_OPTIMIZERS, *_optimizer_needs(step)}
        case Clip():
            return {Capability.CLIPS}
        case DefaultDtype():
            return {Capability.DEFAULT_DTYPE}
        case Apply() | RemoveHook() | Delete():
            return set()
        case _:
            assert_never(step)


def are_distinct_leaves(inputs: Sequence[Ref], program: Program) -> bool:
    """Whether the inputs of a call are leaves and none is listed twice, so that each is an argument of the function
    that the program computes.
    """
    return len({*inputs}) == len(inputs) and all(isinstance(program[ref.at], Leaf) for ref in inputs)


def _call_needs(call: Backward | Grad) -> set[Capability]:
    options = {
        Capability.MULTIPLE_ROOTS: len(call.roots) > 1,
        Capability.COTANGENTS: any(c is not None for c in call.cotangents),
        Capability.RETAIN: call.retain_graph is not None,
        Capability.CREATE_GRAPH: call.create_graph,
    }
    return {need for need, used in options.items() if used}


def _optimizer_needs(step: Step | Optimizer) -> set[Capability]:
    settings = dict(step.settings)
    options = {
        Capability.GROUPS: bool(step.groups),
        Capability.FOREACH: "foreach" in settings,
        Capability.FUSED: "fused" in settings,
    }
    return {need for need, used in options.items() if used}
