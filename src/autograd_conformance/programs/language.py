"""The language of programs: a computation and the calls on it, interleaved, in single-assignment form.

A program is a tuple of instructions. The value ``%3`` is the result of instruction 3; an op with several
results gives ``%3.0``, ``%3.1``, and so on. Instructions that make no value (the actions: backward, clearing a
gradient) stand in the same sequence, because what autograd does depends on the order of both.

Adding an instruction means: a frozen dataclass and a row of `INSTRUCTIONS` here; the type checker names the rest, for
every `match` over instructions ends in `assert_never`. What an instruction reads is told from the types of its fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import NamedTuple

VERSION = 3
"""The version of the language: written into every program's JSON form."""

DTYPES = ("float32", "float64")

Shape = tuple[int, ...]
Attr = int | float | bool | str | None | tuple["Attr", ...]
Attrs = tuple[tuple[str, Attr], ...]
Groups = tuple[tuple[int, Attrs], ...]


class Ref(NamedTuple):
    """A value of a program."""

    at: int
    """The index of the instruction that makes it."""
    output: int = 0
    """Which of that instruction's results it is."""

    def __str__(self) -> str:
        return f"%{self.at}" if self.output == 0 else f"%{self.at}.{self.output}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A tensor written out."""

    data: tuple[float, ...]
    """The elements in row-major order, exactly representable in `dtype`."""
    shape: Shape
    dtype: str = "float64"
    """One of `DTYPES`."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A tensor made from literal values."""

    value: Literal
    requires_grad: bool = True


@dataclass(frozen=True, slots=True)
class Apply:
    """An op on earlier values."""

    op: str
    """Its name in `ops.catalogue`."""
    args: tuple[Ref, ...]
    """The operands."""
    attrs: Attrs = ()
    """The attributes by name."""
    results: int = 1
    """How many values it makes."""


@dataclass(frozen=True, slots=True)
class Detach:
    """The same values without history, in the same memory."""

    source: Ref


@dataclass(frozen=True, slots=True)
class InPlace:
    """An op in place."""

    op: str
    """Its name in `ops.catalogue`."""
    target: Ref
    """The first operand, which becomes the result."""
    args: tuple[Ref, ...] = ()
    """The further operands."""
    attrs: Attrs = ()
    """The attributes by name."""


@dataclass(frozen=True, slots=True)
class DetachInPlace:
    """Cut a value off from its history, in place."""

    target: Ref


@dataclass(frozen=True, slots=True)
class SetRequiresGrad:
    """Switch on or off whether a value requires grad."""

    target: Ref
    on: bool = True


@dataclass(frozen=True, slots=True)
class Backward:
    """One backward call, which accumulates gradients."""

    roots: tuple[Ref, ...]
    """The values that are differentiated."""
    cotangents: tuple[Literal | None, ...]
    """A cotangent per root; None is the framework's implicit one, which roots of one element have."""
    retain_graph: bool | None = None
    """Whether the graph is kept; None leaves it to the framework."""
    create_graph: bool = False
    """Whether the gradients are differentiable themselves."""
    inputs: tuple[Ref, ...] | None = None
    """The values that gradients are accumulated into; None: all leaves."""

    @property
    def retains(self) -> bool:
        """Whether the graph is kept; left to the framework, it is if and only if one is created."""
        return self.create_graph if self.retain_graph is None else self.retain_graph


@dataclass(frozen=True, slots=True)
class Grad:
    """The functional form: gradients as values, one for each input.

    A result that is None (an input that is not used, where that is allowed) cannot be used by later instructions.
    """

    roots: tuple[Ref, ...]
    """The values that are differentiated."""
    inputs: tuple[Ref, ...]
    """The values that they are differentiated with respect to."""
    cotangents: tuple[Literal | None, ...]
    """As in `Backward`."""
    retain_graph: bool | None = None
    """As in `Backward`."""
    create_graph: bool = False
    """As in `Backward`."""
    allow_unused: bool | None = None
    """Whether inputs may be none that the roots depend on; None leaves it to the framework."""
    materialize_grads: bool = False
    """Whether the gradients of such inputs are zeros, and not None."""

    @property
    def retains(self) -> bool:
        """Whether the graph is kept; left to the framework, it is if and only if one is created."""
        return self.create_graph if self.retain_graph is None else self.retain_graph


@dataclass(frozen=True, slots=True)
class RetainGrad:
    """Ask a value that is no leaf to hold its gradient, too."""

    target: Ref


@dataclass(frozen=True, slots=True)
class Hook:
    """A function to be called with a value's gradient; the instruction's value is the handle that removes it."""

    target: Ref
    """The value."""
    effect: str = "observe"
    """What the function does: "observe", "scale" (the gradient times `factor`), "replace" (by a constant `factor`),
    "raise" an exception of its own, or "misshape" (return a gradient of another shape)."""
    factor: float = 1.0
    """The number that `effect` speaks of."""
    accumulated: bool = False
    """Whether it is called after a leaf's gradient has been accumulated; then it only observes."""


@dataclass(frozen=True, slots=True)
class RemoveHook:
    """Take a hook away."""

    handle: Ref


@dataclass(frozen=True, slots=True)
class ZeroGrad:
    """Clear gradients."""

    leaves: tuple[Ref, ...]
    """The values whose gradients are cleared."""
    set_to_none: bool = True
    """Whether they become None; otherwise zeros, where there is a gradient."""


@dataclass(frozen=True, slots=True)
class ReadGrad:
    """The gradient that a leaf (or a value that retains it) holds, as a value."""

    leaf: Ref


@dataclass(frozen=True, slots=True)
class AssignGrad:
    """Replace the gradient that a leaf holds."""

    leaf: Ref
    value: Ref | None
    """The new gradient; None for no gradient."""


@dataclass(frozen=True, slots=True)
class Optimizer:
    """Make an optimizer; one with the same fields as an earlier one is that one.

    Where one was made, it clears the gradients of exactly its leaves.
    """

    leaves: tuple[Ref, ...]
    """The values that it optimizes."""
    optimizer: str
    """Its name in `ops.optimizers`."""
    settings: Attrs = ()
    """Its settings by name, such as the learning rate."""
    groups: Groups = ()
    """Parameter groups, which the leaves are cut into in order: each so many leaves, with settings of their own."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an optimizer, which is made now unless one with the same fields was made before."""

    leaves: tuple[Ref, ...]
    optimizer: str
    settings: Attrs = ()
    groups: Groups = ()


@dataclass(frozen=True, slots=True)
class Clip:
    """Clip the gradients that leaves hold, in place."""

    leaves: tuple[Ref, ...]
    kind: str
    """How: "norm" (all together, so that their common 2-norm is at most `bound`), or "value" (each element, to between
    minus `bound` and `bound`)."""
    bound: float


@dataclass(frozen=True, slots=True)
class Delete:
    """Let go of values: the program's last references to them; no later instruction may name them."""

    values: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class DefaultDtype:
    """Make a dtype the one that tensors get which are given none, until the end of the program or the next of these.

    Every tensor that a program makes is given one: nothing may change but what the framework makes on its way.
    """

    dtype: str
    """One of `DTYPES`."""


Instruction = (
    Leaf | Apply | Detach | InPlace | DetachInPlace | SetRequiresGrad | Backward | Grad | RetainGrad | Hook | RemoveHook
    | ZeroGrad | ReadGrad | AssignGrad | Optimizer | Step | Clip | Delete | DefaultDtype
)  # fmt: skip
BackwardCall = Backward | Grad
"""The instructions that traverse a graph."""

Notation = OneOf[
    "leaf", "detach", "write", "detach_", "requires", "backward", "grad", "retain", "hook", "unhook", "zero", "held",
    "assign", "optimizer", "step", "clip_grad", "drop", "default_dtype",
]  # fmt: skip
"""The words that instructions begin with in the text notation."""


@dataclass(frozen=True, slots=True)
class Row:
    """The plain properties of one instruction, equal for all instructions of its class."""

    word: str
    """Its name in the JSON form; spelled out, so that a class that is renamed changes no file."""
    notation: Notation | None
    """Its first word in the text notation; None for ops, which stand under their own names."""
    pure: bool = False
    """Whether its effect, in its plainest form, follows from the program alone, whatever the framework chose to do
    before."""
    writes: bool = False
    """Whether it changes values in place."""
    shows_values: bool = False
    """Whether every value is looked at after it."""
    shows_gradients: bool = False
    """Whether gradients are looked at after it."""


INSTRUCTIONS: dict[type[Instruction], Row] = {
    Leaf: Row("leaf", "leaf", pure=True),
    Apply: Row("apply", None, pure=True),
    Detach: Row("detach", "detach", pure=True),
    InPlace: Row("write", "write", writes=True, shows_values=True),
    DetachInPlace: Row("detach_in_place", "detach_", shows_values=True),
    SetRequiresGrad: Row("requires_grad", "requires"),
    Backward: Row("backward", "backward", pure=True, shows_gradients=True),
    Grad: Row("grad", "grad", shows_gradients=True),
    RetainGrad: Row("retain_grad", "retain"),
    Hook: Row("hook", "hook"),
    RemoveHook: Row("remove_hook", "unhook"),
    ZeroGrad: Row("zero_grad", "zero", pure=True, shows_gradients=True),
    ReadGrad: Row("held", "held"),
    AssignGrad: Row("assign_grad", "assign", shows_gradients=True),
    Optimizer: Row("optimizer", "optimizer"),
    Step: Row("step", "step", writes=True, shows_values=True, shows_gradients=True),
    Clip: Row("clip", "clip_grad", shows_gradients=True),
    Delete: Row("drop", "drop"),
    DefaultDtype: Row("default_dtype", "default_dtype", pure=True),
}
"""A row for each instruction."""

ACTIONS = tuple(kind for kind, row in INSTRUCTIONS.items() if row.shows_gradients)
WRITING = tuple(kind for kind, row in INSTRUCTIONS.items() if row.writes)
SHOWING = tuple(kind for kind, row in INSTRUCTIONS.items() if row.shows_values)

RANDOM = ("dropout_mask", "random_normal", "random_uniform")
"""Ops that draw at random: what follows from them follows from what was seen."""

CLIPS = ("norm", "value")
MODES = ("no_grad", "enable_grad")
EFFECTS = ("observe", "scale", "replace", "raise", "misshape")

Modes = tuple[str, ...]
"""The grad modes that an instruction stands under, the outermost first; the innermost counts."""


def is_recorded(modes: Modes) -> bool:
    """Whether operations are recorded under some nested grad modes."""
    return not modes or modes[-1] == "enable_grad"


def _is_pure(step: Instruction) -> bool:
    """Whether an instruction's effect follows from the program alone."""
    match step:
        case Apply():
            return step.op not in RANDOM
        case Backward():
            return not step.create_graph and step.inputs is None
        case _:
            return INSTRUCTIONS[type(step)].pure


@dataclass(frozen=True, slots=True)
class Program:
    """An immutable sequence of instructions, each under its grad modes (`modes` is empty where there are none)."""

    instructions: tuple[Instruction, ...]
    modes: tuple[Modes, ...] = ()

    def __post_init__(self) -> None:
        if self.modes and not any(self.modes):
            object.__setattr__(self, "modes", ())

    def __len__(self) -> int:
        return len(self.instructions)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def __getitem__(self, at: int) -> Instruction:
        return self.instructions[at]

    def mode(self, at: int) -> Modes:
        """The grad modes that instruction `at` stands under."""
        return self.modes[at] if at < len(self.modes) else ()

    def upto(self, count: int) -> Program:
        """The first `count` instructions."""
        return Program(self.instructions[:count], self.modes[:count])

    def extended(self, *steps: Instruction) -> Program:
        """The program with more instructions, outside of all grad modes."""
        modes = (*self.modes, *((),) * (len(self) + len(steps) - len(self.modes))) if self.modes else ()
        return Program((*self.instructions, *steps), modes)

    @property
    def stateful(self) -> bool:
        """Whether what is right depends on what the framework was seen to do: writes, gradients as values, modes."""
        return bool(self.modes) or not all(map(_is_pure, self))

    @property
    def leaves(self) -> tuple[Ref, ...]:
        """Every leaf that the program makes, in order."""
        return tuple(Ref(at) for at, step in enumerate(self) if isinstance(step, Leaf))
