"""The language of programs: a computation and the calls on it, interleaved, in single-assignment form.

A program is a tuple of instructions. The value ``%3`` is the result of instruction 3; an op with several results makes
``%3.0``, ``%3.1``, and so on. Instructions that make no value (actions such as backward, or clearing a gradient) are
part of the same sequence, because what autograd does depends on the order of both.

To add an instruction, add a frozen dataclass and a row of `INSTRUCTIONS` here. The type checker names the places that
need to know the instruction: each `match` there ends in `assert_never`. A `match` that ends in `case _` has a default
that is right for most instructions. The operands of an instruction are found by the types of its fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import NamedTuple

from autograd_conformance.programs.dtypes import COARSE

VERSION = 3
"""The version of the language, written into every program's JSON form."""

Shape = tuple[int, ...]
Attr = int | float | bool | str | None | tuple["Attr", ...]
Attrs = tuple[tuple[str, Attr], ...]
Groups = tuple[tuple[int, Attrs], ...]


class Ref(NamedTuple):
    """A value of a program."""

    at: int
    """The index of the instruction that makes the value."""
    output: int = 0
    """The position of the value among that instruction's results."""

    def __str__(self) -> str:
        return f"%{self.at}" if self.output == 0 else f"%{self.at}.{self.output}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A tensor given by its elements."""

    data: tuple[float, ...]
    """The elements in row-major order, exactly representable in `dtype`."""
    shape: Shape
    dtype: str = "float64"
    """The name of the dtype, of `programs.dtypes.DTYPES`."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """Make a leaf, a tensor of literal values."""

    value: Literal
    requires_grad: bool = True


@dataclass(frozen=True, slots=True)
class Apply:
    """Apply an op to earlier values."""

    op: str
    """The op's name in `ops.catalogue`, such as ``matmul``."""
    args: tuple[Ref, ...]
    """The operands."""
    attrs: Attrs = ()
    """The op's attributes, as pairs of name and value: ``(("dim", 0),)``."""
    results: int = 1
    """The number of values that the op returns."""


@dataclass(frozen=True, slots=True)
class Detach:
    """Detach a value: make a value with the same elements in the same memory, without a history."""

    source: Ref


@dataclass(frozen=True, slots=True)
class InPlace:
    """Apply an op in place, which overwrites its target."""

    op: str
    """The in-place op's name in `ops.catalogue`, such as ``add_``."""
    target: Ref
    """The first operand, which the op overwrites with its result."""
    args: tuple[Ref, ...] = ()
    """The other operands."""
    attrs: Attrs = ()
    """The op's attributes, as pairs of name and value: ``(("alpha", 2.0),)``."""


@dataclass(frozen=True, slots=True)
class DetachInPlace:
    """Detach a value in place, so that the value loses its history."""

    target: Ref


@dataclass(frozen=True, slots=True)
class SetRequiresGrad:
    """Set a value's `requires_grad`."""

    target: Ref
    on: bool = True


@dataclass(frozen=True, slots=True)
class Backward:
    """A backward call, which accumulates gradients into values."""

    roots: tuple[Ref, ...]
    """The values that are differentiated."""
    cotangents: tuple[Literal | None, ...]
    """A cotangent for each root. None is the implicit cotangent of ones, which PyTorch has only for roots of one
    element.
    """
    retain_graph: bool | None = None
    """Whether the graph is kept; None is the framework's default."""
    create_graph: bool = False
    """Whether the gradients are differentiable themselves."""
    inputs: tuple[Ref, ...] | None = None
    """The values into which gradients are accumulated; None: all leaves."""

    @property
    def retains(self) -> bool:
        """Whether the graph is kept; by default, it is kept if and only if `create_graph` is set."""
        return self.create_graph if self.retain_graph is None else self.retain_graph


@dataclass(frozen=True, slots=True)
class Grad:
    """A call that returns gradients, one for each input, and accumulates nothing.

    A result is None for an unused input, where the options allow that; later instructions cannot use such a result.
    """

    roots: tuple[Ref, ...]
    """The values that are differentiated."""
    inputs: tuple[Ref, ...]
    """The values with respect to which the roots are differentiated."""
    cotangents: tuple[Literal | None, ...]
    """A cotangent for each root, or None for the implicit cotangent of ones."""
    retain_graph: bool | None = None
    """Whether the graph is kept; None is the framework's default."""
    create_graph: bool = False
    """Whether the gradients are differentiable themselves."""
    allow_unused: bool | None = None
    """Whether inputs are allowed that the roots do not depend on; None is the framework's default."""
    materialize_grads: bool = False
    """Whether the gradients of inputs that the roots do not depend on are zeros instead of None."""

    @property
    def retains(self) -> bool:
        """Whether the graph is kept; by default, it is kept if and only if `create_graph` is set."""
        return self.create_graph if self.retain_graph is None else self.retain_graph


@dataclass(frozen=True, slots=True)
class RetainGrad:
    """Make a value that is no leaf retain its gradient."""

    target: Ref


@dataclass(frozen=True, slots=True)
class Hook:
    """Register a hook: a function that is called with a value's gradient. The instruction's result is the handle that
    removes the hook.
    """

    target: Ref
    """The value whose gradient the hook receives."""
    effect: str = "observe"
    """The effect of the hook: "observe" the gradient, "scale" it by `factor`, "replace" it by the constant `factor`,
    "raise" an exception, or "misshape" (return a gradient of another shape)."""
    factor: float = 1.0
    """The number that "scale" and "replace" use."""
    accumulated: bool = False
    """Whether the hook is called after a leaf's gradient was accumulated; such a hook can only observe."""


@dataclass(frozen=True, slots=True)
class RemoveHook:
    """Remove a hook."""

    handle: Ref


@dataclass(frozen=True, slots=True)
class ZeroGrad:
    """Clear gradients."""

    leaves: tuple[Ref, ...]
    """The values whose gradients are cleared."""
    set_to_none: bool = True
    """Whether the gradients become None; otherwise existing gradients become zeros."""


@dataclass(frozen=True, slots=True)
class ReadGrad:
    """Read the `.grad` of a leaf, or of a value that retains its gradient, as a value of the program."""

    leaf: Ref


@dataclass(frozen=True, slots=True)
class AssignGrad:
    """Set a leaf's `.grad`."""

    leaf: Ref
    value: Ref | None
    """The new gradient, or None."""


@dataclass(frozen=True, slots=True)
class Optimizer:
    """Make an optimizer. An instruction with the same fields as an earlier one refers to that same optimizer.

    The optimizer also clears gradients: a later `ZeroGrad` of exactly its leaves is a call of the optimizer.
    """

    leaves: tuple[Ref, ...]
    """The values that the optimizer updates."""
    optimizer: str
    """The optimizer's name in `ops.optimizers`, such as ``adam``."""
    settings: Attrs = ()
    """The optimizer's settings, as pairs of name and value: ``(("lr", 0.1),)``."""
    groups: Groups = ()
    """Parameter groups, which split the leaves in order: for each group, its number of leaves and the settings that
    override the optimizer's."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an optimizer. The optimizer is made here unless an earlier instruction with the
    same fields made it.
    """

    leaves: tuple[Ref, ...]
    optimizer: str
    settings: Attrs = ()
    groups: Groups = ()


@dataclass(frozen=True, slots=True)
class Clip:
    """Clip the gradients of leaves, in place."""

    leaves: tuple[Ref, ...]
    kind: str
    """How gradients are clipped: "norm" (all together, so that their common 2-norm is at most `bound`) or "value" (each
    element, to the range from minus `bound` to `bound`)."""
    bound: float


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the program's own references to values, as `del x` does; no later instruction may use these values."""

    values: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class DefaultDtype:
    """Set the default dtype of new tensors, until the end of the program or the next such instruction.

    Programs give every tensor its dtype. This instruction may therefore change only tensors that the framework makes
    internally.
    """

    dtype: str
    """The name of the dtype, of `programs.dtypes.DTYPES`."""


Instruction = (
    Leaf | Apply | Detach | InPlace | DetachInPlace | SetRequiresGrad | Backward | Grad | RetainGrad | Hook | RemoveHook
    | ZeroGrad | ReadGrad | AssignGrad | Optimizer | Step | Clip | Delete | DefaultDtype
)  # fmt: skip
BackwardCall = Backward | Grad
"""The instructions that differentiate a graph."""

Notation = OneOf[
    "leaf", "detach", "write", "detach_", "requires", "backward", "grad", "retain", "hook", "unhook", "zero", "held",
    "assign", "optimizer", "step", "clip_grad", "drop", "default_dtype",
]  # fmt: skip
"""The first words of instructions in the text notation."""


@dataclass(frozen=True, slots=True)
class Row:
    """Properties that are equal for all instructions of one class."""

    word: str
    """The name of the instruction in the JSON form. It is written out, so that renaming the class changes no file."""
    notation: Notation | None
    """The first word of the instruction in the text notation; None for ops, which begin with their name."""
    pure: bool = False
    """Whether the effect of the instruction, without options such as `create_graph`, follows from the program alone,
    whatever the framework did before.
    """
    writes: bool = False
    """Whether the instruction changes the elements of values in place, as an in-place op and a step of an optimizer do.
    """
    shows_values: bool = False
    """Whether all values are observed after the instruction."""
    shows_gradients: bool = False
    """Whether the instruction computes, clears, assigns, clips or applies gradients. Stored gradients are also observed
    after other instructions without results.
    """
    results: int = 0
    """The number of values that the instruction makes, unless the number depends on its fields."""
    gives_grad: bool = False
    """Whether the values in the first field may have a `.grad` because of the instruction."""
    action: str | None = None
    """The word under which the coverage of a run counts the instruction as one that follows an op, such as ``switch``;
    None if it is not counted, or if the word depends on its options, as for a backward call.
    """


INSTRUCTIONS: dict[type[Instruction], Row] = {
    Leaf: Row("leaf", "leaf", pure=True, results=1),
    Apply: Row("apply", None, pure=True),
    Detach: Row("detach", "detach", pure=True, results=1, action="detach"),
    InPlace: Row("write", "write", writes=True, shows_values=True, action="write"),
    DetachInPlace: Row("detach_in_place", "detach_", shows_values=True, gives_grad=True, action="detach in place"),
    SetRequiresGrad: Row("requires_grad", "requires", gives_grad=True, action="switch"),
    Backward: Row("backward", "backward", pure=True, shows_gradients=True),
    Grad: Row("grad", "grad", shows_gradients=True),
    RetainGrad: Row("retain_grad", "retain", gives_grad=True, action="retain"),
    Hook: Row("hook", "hook", results=1, action="hook"),
    RemoveHook: Row("remove_hook", "unhook"),
    ZeroGrad: Row("zero_grad", "zero", pure=True, shows_gradients=True, gives_grad=True, action="zero"),
    ReadGrad: Row("held", "held", results=1, gives_grad=True, action="held"),
    AssignGrad: Row("assign_grad", "assign", shows_gradients=True, gives_grad=True, action="assign"),
    Optimizer: Row("optimizer", "optimizer", gives_grad=True),
    Step: Row("step", "step", writes=True, shows_values=True, shows_gradients=True, gives_grad=True, action="step"),
    Clip: Row("clip", "clip_grad", shows_gradients=True, gives_grad=True, action="clip"),
    Delete: Row("drop", "drop", action="drop"),
    DefaultDtype: Row("default_dtype", "default_dtype", pure=True),
}
"""The properties of each class of instructions."""

ACTIONS = tuple(kind for kind, row in INSTRUCTIONS.items() if row.shows_gradients)
WRITING = tuple(kind for kind, row in INSTRUCTIONS.items() if row.writes)
SHOWING = tuple(kind for kind, row in INSTRUCTIONS.items() if row.shows_values)

RANDOM = ("dropout_mask", "random_normal", "random_uniform")
"""Ops that draw random numbers; the values that later instructions should compute from these numbers follow from the
numbers that were observed.
"""

CLIPS = ("norm", "value")
GRAD_MODES = ("no_grad", "enable_grad")
CAST_MODES = ("autocast", "autocast_uncached", "autocast_off")
MODES = (*GRAD_MODES, *CAST_MODES)
EFFECTS = ("observe", "scale", "replace", "raise", "misshape")

Modes = tuple[str, ...]
"""Nested modes of an instruction, the outermost first. Of the grad modes among them, which decide whether ops are
recorded, the innermost one applies, and so it does of the cast modes, which decide in which dtype listed ops compute.
"""


def of_kind(modes: Modes, kind: Modes) -> Modes:
    """Returns the modes of a kind, `GRAD_MODES` or `CAST_MODES`, in their order."""
    return tuple(mode for mode in modes if mode in kind)


def innermost(modes: Modes, kind: Modes) -> str | None:
    """Returns the innermost mode of a kind, `GRAD_MODES` or `CAST_MODES`; None if there is none."""
    return next((mode for mode in reversed(modes) if mode in kind), None)


def is_recorded(modes: Modes) -> bool:
    """Whether operations are recorded under nested modes."""
    return innermost(modes, GRAD_MODES) != "no_grad"


def casts(modes: Modes) -> bool:
    """Whether listed ops cast their operands under nested modes."""
    return innermost(modes, CAST_MODES) in ("autocast", "autocast_uncached")


def _is_pure(step: Instruction) -> bool:
    """Whether an instruction's effect follows from the program alone."""
    match step:
        case Leaf(value):
            return value.dtype not in COARSE
        case Apply():
            return step.op not in RANDOM
        case Backward():
            return not step.create_graph and step.inputs is None
        case _:
            return INSTRUCTIONS[type(step)].pure


@dataclass(frozen=True, slots=True)
class Program:
    """An immutable sequence of instructions and their modes (`modes` is empty if no instruction has any)."""

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
        """Returns the modes of instruction `at`."""
        return self.modes[at] if at < len(self.modes) else ()

    def upto(self, count: int) -> Program:
        """Returns the first `count` instructions."""
        return Program(self.instructions[:count], self.modes[:count])

    def extended(self, *steps: Instruction) -> Program:
        """Returns the program with further instructions at its end, outside of all modes."""
        modes = (*self.modes, *((),) * (len(self) + len(steps) - len(self.modes))) if self.modes else ()
        return Program((*self.instructions, *steps), modes)

    @property
    def stateful(self) -> bool:
        """Whether the expected results depend on what the framework did earlier. They do unless every instruction is
        outside modes and makes a leaf of a dtype with many digits, applies an op that draws no random numbers,
        detaches a value, clears gradients, sets the default dtype, or is a plain backward call (without `create_graph`
        and `inputs`).
        """
        return bool(self.modes) or not all(map(_is_pure, self))

    @property
    def leaves(self) -> tuple[Ref, ...]:
        """All leaves that the program makes, in order."""
        return tuple(Ref(at) for at, step in enumerate(self) if isinstance(step, Leaf))
