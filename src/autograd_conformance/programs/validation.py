"""Validation of programs: the language's own rules, checked instruction by instruction."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import assert_never

from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import (
    CLIPS,
    EFFECTS,
    INSTRUCTIONS,
    MODES,
    Apply,
    AssignGrad,
    Attrs,
    Backward,
    Clip,
    DefaultDtype,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    Groups,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    Optimizer,
    Program,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.operands import operands, results


class MalformedProgram(ValueError):
    """A program violates the language's own rules; the message names the instruction and the reason."""


def _any_attributes(op: str, attrs: Attrs) -> str | None:
    return None


def _any_settings(optimizer: str, settings: Attrs, groups: Groups) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that programs may use, with their attributes and settings; the op tables define these names."""

    ops: Collection[str]
    """Names of the ops that programs may apply, including modules and random ops."""
    writes: Collection[str]
    """Names of the in-place ops that programs may apply."""
    optimizers: Collection[str]
    """Names of the optimizers that programs may make."""
    attributes: Callable[[str, Attrs], str | None] = _any_attributes
    """A function that describes the problem with an op's attributes, or returns None if they are valid."""
    settings: Callable[[str, Attrs, Groups], str | None] = _any_settings
    """A function that describes the problem with the settings of an optimizer or of a parameter group, or returns None
    if they are valid.
    """


def validate(program: Program, vocabulary: Vocabulary | None = None) -> Program:
    """Returns the program if it is valid; otherwise raises `MalformedProgram`, which names the instruction and the
    problem.
    """
    if program.modes and len(program.modes) != len(program):
        raise MalformedProgram(f"{len(program)} instructions, but the modes of {len(program.modes)}")
    made: list[int] = []
    dropped: set[Ref] = set()
    for at, step in enumerate(program):
        problem = _operand_problem(step, made, program, dropped) or _problem(step, program, vocabulary)
        unknown = next((mode for mode in program.mode(at) if mode not in MODES), None)
        if unknown:
            problem = problem or f"unknown mode {unknown!r}; there are {', '.join(MODES)}"
        if problem:
            raise MalformedProgram(f"instruction {at} ({INSTRUCTIONS[type(step)].word}): {problem}")
        made.append(results(step))
        if isinstance(step, Delete):
            dropped.update(step.values)
    return program


def _operand_problem(step: Instruction, made: list[int], program: Program, dropped: set[Ref]) -> str | None:
    for ref in operands(step):
        if not 0 <= ref.at < len(made):
            return f"{ref} is not an earlier instruction"
        if not 0 <= ref.output < made[ref.at]:
            return f"{ref} does not exist: instruction {ref.at} makes {made[ref.at]} values"
        if ref in dropped:
            return f"{ref} was dropped"
        is_handle = isinstance(program[ref.at], Hook)
        if is_handle != isinstance(step, RemoveHook):
            return f"{ref} is {'the handle of a hook' if is_handle else 'not the handle of a hook'}"
    return None


def _problem(step: Instruction, program: Program, vocabulary: Vocabulary | None) -> str | None:
    match step:
        case Leaf():
            return _literal_problem(step.value)
        case Apply():
            if vocabulary is not None and step.op not in vocabulary.ops:
                return f"unknown op {step.op!r}"
            return "an op makes at least one value" if step.results < 1 else _attributes_problem(step, vocabulary)
        case InPlace():
            known = vocabulary is None or step.op in vocabulary.writes
            return _attributes_problem(step, vocabulary) if known else f"unknown write {step.op!r}"
        case Backward() | Grad():
            return _call_problem(step)
        case ZeroGrad():
            return _leaves_problem(step.leaves)
        case Step() | Optimizer():
            return _leaves_problem(step.leaves) or _optimizer_problem(step, program, vocabulary)
        case Clip():
            return _leaves_problem(step.leaves) or _clip_problem(step)
        case Hook():
            return _hook_problem(step)
        case Delete(values):
            if not values:
                return "it needs at least one value"
            return "it lists a value twice" if len(set(values)) < len(values) else None
        case DefaultDtype(dtype):
            return _dtype_problem(dtype)
        case Detach() | DetachInPlace() | SetRequiresGrad() | RetainGrad() | RemoveHook() | ReadGrad() | AssignGrad():
            return None
        case _:
            assert_never(step)


EQUATION = re.compile(r"[a-z,]+->[a-z]*")
"""The pattern of `einsum` equations, such as ``ij,jk->ik``."""

WORD = re.compile(rf"[A-Za-z_][A-Za-z0-9_]*|{EQUATION.pattern}")
"""The pattern of texts that attributes may contain: words and `einsum` equations. No such text is code
with an effect.
"""


def _plain_problem(attrs: Attrs) -> str | None:
    """Describes attributes that are not names with plain values, for any op; None if all are."""
    wrong = next((name for name, _ in attrs if not (isinstance(name, str) and name.isidentifier())), None)
    if wrong is not None:
        return f"{wrong!r} is not the name of an attribute"
    strange = next((value for _, value in attrs if not _is_plain(value)), None)
    return None if strange is None else f"{strange!r:.60} is not a valid attribute value"


def _is_plain(value: object) -> bool:
    match value:
        case tuple():
            return all(map(_is_plain, value))
        case str():
            return WORD.fullmatch(value) is not None
        case _:
            return value is None or type(value) in (bool, int, float)


def _attributes_problem(step: Apply | InPlace, vocabulary: Vocabulary | None) -> str | None:
    return _plain_problem(step.attrs) or (vocabulary.attributes(step.op, step.attrs) if vocabulary else None)


def _settings_problem(step: Step | Optimizer, vocabulary: Vocabulary | None) -> str | None:
    problems = (_plain_problem(its) for its in (step.settings, *(own for _, own in step.groups)))
    plain = next(filter(None, problems), None)
    return plain or (vocabulary.settings(step.optimizer, step.settings, step.groups) if vocabulary else None)


def _leaves_problem(leaves: tuple[Ref, ...]) -> str | None:
    return None if leaves else "it needs at least one leaf"


def _clip_problem(step: Clip) -> str | None:
    if step.kind not in CLIPS:
        return f"unknown way to clip {step.kind!r}; there are {', '.join(CLIPS)}"
    if not step.bound > 0:
        return "the bound of clipping has to be positive"
    return "it lists a leaf twice" if len(set(step.leaves)) < len(step.leaves) else None


def _hook_problem(step: Hook) -> str | None:
    if step.effect not in EFFECTS:
        return f"unknown effect {step.effect!r}; there are {', '.join(EFFECTS)}"
    if step.accumulated and step.effect != "observe":
        return "a hook that is called after accumulation can only observe"
    return None


def _optimizer_problem(step: Step | Optimizer, program: Program, vocabulary: Vocabulary | None) -> str | None:
    if vocabulary is not None and step.optimizer not in vocabulary.optimizers:
        return f"unknown optimizer {step.optimizer!r}; there are {', '.join(vocabulary.optimizers)}"
    wrong = next((r for r in step.leaves if not isinstance(program[r.at], (Leaf, Detach))), None)
    if wrong:
        return f"{wrong} is not a leaf"
    if step.groups and (
        sum(count for count, _ in step.groups) != len(step.leaves) or min(count for count, _ in step.groups) < 1
    ):
        return f"the sizes of the groups do not add up to {len(step.leaves)} leaves"
    return _settings_problem(step, vocabulary)


def _call_problem(call: Backward | Grad) -> str | None:
    if not call.roots:
        return "backward needs at least one root" if isinstance(call, Backward) else "grad needs at least one root"
    if isinstance(call, Grad) and not call.inputs:
        return "grad needs at least one input"
    if len(call.roots) != len(call.cotangents):
        return f"{len(call.roots)} roots but {len(call.cotangents)} cotangents"
    problems = (_literal_problem(c) for c in call.cotangents if c is not None)
    return next((p for p in problems if p), None)


def _dtype_problem(dtype: str) -> str | None:
    return None if dtype in DTYPES else f"unknown dtype {dtype!r}; it is one of {', '.join(DTYPES)}"


def _literal_problem(value: Literal) -> str | None:
    if problem := _dtype_problem(value.dtype):
        return problem
    if any(d < 0 for d in value.shape):
        return f"shape {value.shape} has a negative dimension"
    if len(value.data) != math.prod(value.shape):
        return f"shape {value.shape} needs {math.prod(value.shape)} values, {len(value.data)} are given"
    return None
