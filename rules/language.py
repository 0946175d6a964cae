"""The language of programs: a computation and the calls on it, interleaved, in single-assignment form.

A program is a tuple of instructions. The value ``%3`` is the result of instruction 3; an op with several
results gives ``%3.0``, ``%3.1``, and so on. Instructions that make no value (the actions: backward, clearing a
gradient) stand in the same sequence, because what autograd does depends on the order of both.

Adding an instruction means: a frozen dataclass here, a line in `rules.codec` and `rules.text`, a case in the tape
model, and a case in the adapters' runner. Nothing else knows the list.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

VERSION = 1
"""The version of the language: written into every program's JSON form."""

DTYPES = ("float32", "float64")

Shape = tuple[int, ...]
Attr = int | float | bool | str | None | tuple["Attr", ...]
Attrs = tuple[tuple[str, Attr], ...]


class Ref(NamedTuple):
    """A value: result number `output` of instruction number `at`."""

    at: int
    output: int = 0

    def __str__(self) -> str:
        return f"%{self.at}" if self.output == 0 else f"%{self.at}.{self.output}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A tensor written out: `data` in row-major order, exactly representable in `dtype`."""

    data: tuple[float, ...]
    shape: Shape
    dtype: str = "float64"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A tensor made from literal values."""

    value: Literal
    requires_grad: bool = True


@dataclass(frozen=True, slots=True)
class Apply:
    """An op of the catalogue on earlier values; `results` is how many values it makes."""

    op: str
    args: tuple[Ref, ...]
    attrs: Attrs = ()
    results: int = 1


@dataclass(frozen=True, slots=True)
class Detach:
    """The same values without history."""

    source: Ref


@dataclass(frozen=True, slots=True)
class Backward:
    """One backward call; a cotangent of None means the framework's implicit one (allowed for one-element roots)."""

    roots: tuple[Ref, ...]
    cotangents: tuple[Literal | None, ...]
    retain_graph: bool | None = None
    create_graph: bool = False

    @property
    def retains(self) -> bool:
        """Whether the graph is kept; left to the framework, it is if and only if one is created."""
        return self.create_graph if self.retain_graph is None else self.retain_graph


@dataclass(frozen=True, slots=True)
class ZeroGrad:
    """Clear the gradients of `leaves`: to None, or to zeros where there is one."""

    leaves: tuple[Ref, ...]
    set_to_none: bool = True


@dataclass(frozen=True, slots=True)
class Held:
    """The gradient that a leaf holds, as a value."""

    leaf: Ref


@dataclass(frozen=True, slots=True)
class AssignGrad:
    """Replace the gradient that a leaf holds, by a value or by none."""

    leaf: Ref
    value: Ref | None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an optimizer over leaves; equal leaves and settings mean the same optimizer."""

    leaves: tuple[Ref, ...]
    optimizer: str
    settings: Attrs = ()


STATEFUL = (Held, AssignGrad, Step)
"""Instructions after which values and gradients depend on what the framework really did before."""

Instruction = Leaf | Apply | Detach | Backward | ZeroGrad | Held | AssignGrad | Step
Action = Backward | ZeroGrad | AssignGrad | Step
OPTIMIZERS = ("sgd", "adam")


class MalformedProgram(ValueError):
    """A program that breaks the language's own rules; the message says which instruction and why."""


@dataclass(frozen=True, slots=True)
class Program:
    """An immutable sequence of instructions."""

    instructions: tuple[Instruction, ...]

    def __len__(self) -> int:
        return len(self.instructions)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def __getitem__(self, at: int) -> Instruction:
        return self.instructions[at]

    @property
    def stateful(self) -> bool:
        """Whether gradients are used as values, replaced, or stepped along."""
        return any(isinstance(s, STATEFUL) or (isinstance(s, Backward) and s.create_graph) for s in self)

    @property
    def leaves(self) -> tuple[Ref, ...]:
        """Every leaf that the program makes, in order."""
        return tuple(Ref(at) for at, step in enumerate(self) if isinstance(step, Leaf))


def results(step: Instruction) -> int:
    """How many values an instruction makes."""
    match step:
        case Leaf() | Detach() | Held():
            return 1
        case Apply():
            return step.results
        case Backward() | ZeroGrad() | AssignGrad() | Step():
            return 0


def operands(step: Instruction) -> tuple[Ref, ...]:
    """The values that an instruction reads, in order, repetitions included."""
    match step:
        case Leaf():
            return ()
        case Apply():
            return step.args
        case Detach():
            return (step.source,)
        case Backward():
            return step.roots
        case ZeroGrad() | Step():
            return step.leaves
        case Held():
            return (step.leaf,)
        case AssignGrad():
            return (step.leaf,) if step.value is None else (step.leaf, step.value)


def refer(step: Instruction, new: dict[Ref, Ref]) -> Instruction:
    """The same instruction with its operands renamed through `new`."""
    match step:
        case Leaf():
            return step
        case Apply():
            return Apply(step.op, tuple(new[r] for r in step.args), step.attrs, step.results)
        case Detach():
            return Detach(new[step.source])
        case Backward():
            return replace(step, roots=tuple(new[r] for r in step.roots))
        case ZeroGrad() | Step():
            return replace(step, leaves=tuple(new[r] for r in step.leaves))
        case Held():
            return Held(new[step.leaf])
        case AssignGrad():
            return AssignGrad(new[step.leaf], None if step.value is None else new[step.value])


def validate(program: Program, known_ops: frozenset[str] | None = None) -> Program:
    """The program itself, or `MalformedProgram` that says which instruction breaks the language and how."""
    made: list[int] = []
    for at, step in enumerate(program):
        problem = _problem(step, made, program, known_ops)
        if problem:
            raise MalformedProgram(f"instruction {at} ({type(step).__name__.lower()}): {problem}")
        made.append(results(step))
    return program


def _problem(step: Instruction, made: list[int], program: Program, known_ops: frozenset[str] | None) -> str | None:
    for ref in operands(step):
        if not 0 <= ref.at < len(made):
            return f"{ref} is not an earlier instruction"
        if not 0 <= ref.output < made[ref.at]:
            return f"{ref} does not exist: instruction {ref.at} makes {made[ref.at]} values"
    match step:
        case Leaf():
            return _literal_problem(step.value)
        case Apply() if known_ops is not None and step.op not in known_ops:
            return f"unknown op {step.op!r}"
        case Apply() if step.results < 1:
            return "an op makes at least one value"
        case Backward():
            if not step.roots:
                return "backward needs at least one root"
            if len(step.roots) != len(step.cotangents):
                return f"{len(step.roots)} roots but {len(step.cotangents)} cotangents"
            problems = (_literal_problem(c) for c in step.cotangents if c is not None)
            return next((p for p in problems if p), None)
        case ZeroGrad(leaves) | Step(leaves) if not leaves:
            return "it needs at least one leaf"
        case Step() if step.optimizer not in OPTIMIZERS:
            return f"unknown optimizer {step.optimizer!r}; there are {', '.join(OPTIMIZERS)}"
        case ZeroGrad() | Step() | Held() | AssignGrad():
            named = operands(step)[:1] if isinstance(step, AssignGrad) else operands(step)
            wrong = next((r for r in named if not isinstance(program[r.at], Leaf)), None)
            return f"{wrong} is not a leaf" if wrong else None
        case _:
            return None


def _literal_problem(value: Literal) -> str | None:
    if value.dtype not in DTYPES:
        return f"unknown dtype {value.dtype!r}; it is one of {', '.join(DTYPES)}"
    if any(d < 0 for d in value.shape):
        return f"shape {value.shape} has a negative dimension"
    if len(value.data) != math.prod(value.shape):
        return f"shape {value.shape} needs {math.prod(value.shape)} values, {len(value.data)} are given"
    return None
