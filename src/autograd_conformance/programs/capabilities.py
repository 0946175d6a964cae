"""What a framework may claim to do, and what a program asks of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum
from math import prod
from typing import assert_never

from autograd_conformance.programs.language import (
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
    """What a framework may claim that it does; a rule applies only to frameworks that claim all that it needs."""

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
    WRITE_CHECKS = "refuses writes that would break a graph"
    MODES = "grad modes"
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
    """Which of the legal answers a framework gives, where frameworks differ; the defaults are PyTorch's."""

    scalars: bool = False
    """Whether its values are single numbers: every shape is ``()``."""
    begins_with_zeros: bool = False
    """Whether a leaf holds a gradient of zeros from the beginning, where others hold none."""

    implicit_ones: bool = False
    """Whether a root of any shape has an implicit cotangent, of ones, as if it were summed first (MyGrad), where
    PyTorch wants a root of one element."""
    implicit_for_numbers: bool = False
    """Whether only a root of shape ``()`` has an implicit cotangent (tinygrad), where PyTorch takes any that has one
    element."""
    fills: bool = False
    """Whether a call may leave zeros in leaves that the root was computed from and no gradient flows to, as through a
    detached value (tinygrad), where PyTorch leaves nothing."""
    ends: bool = False
    """Whether a call ends the graph that it goes through (MyGrad): its values have no history afterwards, and what was
    recorded from one of them before, a leaf among them, may be refused. PyTorch frees what was saved, and leaves alone
    what shares only leaves."""
    use_clears: bool = False
    """Whether a leaf that is used in a new computation may lose the gradient that it holds (MyGrad), where PyTorch
    keeps it until it is cleared."""

    distinct_roots: bool = False
    """Whether a call refuses a root that it is given twice (PaddlePaddle), which PyTorch counts twice."""
    copies: bool = False
    """Whether a gradient that is assigned is copied, without its history (PaddlePaddle): the leaf holds a tensor of its
    own then, where PyTorch's holds the very tensor that it was given."""

    one_node: bool = False
    """Whether a unit of several instructions is one node of the graph: a call through a part of it frees all of it,
    gives inputs that it does not reach zeros, and no gradient goes from one of its results to another."""
    recomputes: bool = False
    """Whether a unit of several instructions keeps its inputs, and computes the rest again where a call needs it."""
    captures: bool = False
    """Whether what is computed again takes its inputs as they are by then, for nobody notices that they were changed: a
    call through a unit whose inputs were written to, or switched, since may give any numbers, or be refused."""

    def implies(self, shape: Shape) -> bool:
        """Whether a root of a shape has an implicit cotangent."""
        return self.implicit_ones or (shape == () if self.implicit_for_numbers else prod(shape) == 1)

    @property
    def named(self) -> tuple[str, ...]:
        """The traits in which it differs from PyTorch, in words."""
        return tuple(f.name.replace("_", " ") for f in fields(self) if getattr(self, f.name) != f.default)


PYTORCH = Traits()
"""The traits of a framework that names none."""


def needs(program: Program) -> set[Capability]:
    """What a framework has to claim for a program to be asked of it."""
    found = {Capability.MODES} if program.modes else set()
    for step in program:
        found |= _needs(step, program)
    return found


def _needs(step: Instruction, program: Program) -> set[Capability]:
    match step:
        case Leaf():
            return set() if step.requires_grad else {Capability.CONSTANTS}
        case Detach():
            return {Capability.DETACH}
        case InPlace():
            return {Capability.WRITES}
        case DetachInPlace():
            return {Capability.WRITES, Capability.DETACH}
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
                Capability.ANY_INPUTS: not all_once(step.inputs, program),
            }
            return _call_needs(step) | {Capability.FUNCTIONAL, *(need for need, asked in options.items() if asked)}
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


def all_once(inputs: Sequence[Ref], program: Program) -> bool:
    """Whether each of some inputs is a leaf, and listed once: an argument of the function that a program computes."""
    return len({*inputs}) == len(inputs) and all(isinstance(program[ref.at], Leaf) for ref in inputs)


def _call_needs(call: Backward | Grad) -> set[Capability]:
    options = {
        Capability.MULTIPLE_ROOTS: len(call.roots) > 1,
        Capability.COTANGENTS: any(c is not None for c in call.cotangents),
        Capability.RETAIN: call.retain_graph is not None,
        Capability.CREATE_GRAPH: call.create_graph,
    }
    return {need for need, asked in options.items() if asked}


def _optimizer_needs(step: Step | Optimizer) -> set[Capability]:
    settings = dict(step.settings)
    options = {
        Capability.GROUPS: bool(step.groups),
        Capability.FOREACH: "foreach" in settings,
        Capability.FUSED: "fused" in settings,
    }
    return {need for need, asked in options.items() if asked}
