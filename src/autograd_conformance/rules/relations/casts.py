"""Programs under autocast, with their casts written out.

A framework documents which ops cast their operands in a block of autocast, and to which dtype. So a program with such
blocks must give what the program without them gives that casts these operands by ops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs import slugs
from autograd_conformance.programs.dtypes import OF_OPERANDS
from autograd_conformance.programs.language import (
    CAST_MODES,
    GRAD_MODES,
    WRITING,
    Apply,
    BackwardCall,
    Grad,
    Instruction,
    Leaf,
    Modes,
    Program,
    Ref,
    casts,
    innermost,
    is_recorded,
    of_kind,
)
from autograd_conformance.programs.operands import operands, results, with_operands
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.rules.relations.relation import Related

WIDE = frozenset(("float64",))
"""The dtype of values that no block casts."""


class NotDocumented(ValueError):
    """The documentation does not say how a program computes under autocast."""


def has_casts(program: Program) -> bool:
    """Whether a program has blocks of autocast."""
    return any(mode in CAST_MODES for modes in program.modes for mode in modes)


def rule_about(program: Program) -> Slug:
    """Returns the rule that a program with blocks of autocast is about."""
    inside = [(step, program.mode(at)) for at, step in enumerate(program) if casts(program.mode(at))]
    if any(isinstance(step, WRITING) for step, _ in inside):
        return slugs.AUTOCAST_WRITTEN
    if any(isinstance(step, Grad) and step.create_graph for step in program):
        return slugs.AUTOCAST_HIGHER
    if any(mode == "autocast_off" for modes in program.modes for mode in modes):
        return slugs.AUTOCAST_NESTED
    if not all(is_recorded(modes) for _, modes in inside):
        return slugs.AUTOCAST_UNRECORDED
    return slugs.AUTOCAST_GRADIENT


def with_casts(program: Program, autocast: Mapping[str, str]) -> Related:
    """Returns a program under autocast, and the same program with its casts written out, as a pair that must agree.

    Both agree bit for bit, unless a sum of gradients may be taken before or after a cast: where a cast is used twice,
    and where a gradient is differentiated.

    `autocast` maps ops to the dtypes in which they compute under autocast. Raises `NotDocumented` for an op that is not
    among them, and for a call inside of a block.
    """
    writer = _Writer(program, autocast)
    for at in range(len(program)):
        writer.add(at)
    same = tuple(writer.places.items())
    rule = rule_about(program)
    exact = not writer.shares and rule != slugs.AUTOCAST_HIGHER
    return Related(rule, program, writer.program(), same=same, exact=exact, interrupted=True)


@dataclass(frozen=True, slots=True)
class _Cast:
    """The key of a cast: a leaf that is cast twice in one block is cast once by a framework that keeps the first
    cast.
    """

    leaf: Ref
    dtype: str
    recorded: bool


class _Writer:
    """Writes a program without autocast, instruction by instruction."""

    def __init__(self, program: Program, autocast: Mapping[str, str]) -> None:
        self.source, self.autocast = program, autocast
        self.steps: list[Instruction] = []
        self.modes: list[Modes] = []
        self.places: dict[int, int] = {}
        """The number of each instruction in the new program, by its number in the source."""
        self.new: dict[Ref, Ref] = {}
        """The values of the new program, by those of the source."""
        self.dtypes: dict[Ref, frozenset[str]] = {}
        """The dtypes that each value of the source may have: several, if the dtypes of an op's operands differ."""
        self.kept: dict[_Cast, Ref] = {}
        """The casts of leaves in the present block, as values of the new program."""
        self.shares = False
        """Whether a cast is used twice: then a sum of gradients may be taken before or after the cast."""

    def program(self) -> Program:
        """Returns the program that was written."""
        return Program(tuple(self.steps), tuple(self.modes))

    def add(self, at: int) -> None:
        """Writes an instruction of the source, after the casts of its operands."""
        step, modes = self.source[at], self.source.mode(at)
        if innermost(modes, CAST_MODES) is None or isinstance(step, WRITING):
            self.kept.clear()
        dtypes = [self.dtypes[ref] for ref in operands(step) if ref in self.dtypes]
        given = [self.new[ref] for ref in operands(step)]
        if casts(modes) and isinstance(step, BackwardCall):
            raise NotDocumented("a call that computes gradients is inside of a block of autocast")
        if casts(modes) and isinstance(step, Apply):
            dtype = self.autocast.get(step.op)
            if dtype is None:
                raise NotDocumented(f"the framework does not document in which dtype {step.op} computes under autocast")
            if dtype != OF_OPERANDS and WIDE not in dtypes:
                given = [self._cast(ref, dtype, modes) for ref in step.args]  # a second time if it is given twice
                dtypes = [frozenset((dtype,))]
        self.places[at] = len(self.steps)
        self._write(with_operands(step, given), modes)
        for k in range(results(step)):
            self.new[Ref(at, k)] = Ref(self.places[at], k)
            self.dtypes[Ref(at, k)] = _result_dtypes(step, k, dtypes, self.dtypes)

    def _write(self, step: Instruction, modes: Modes) -> None:
        self.steps.append(step)
        self.modes.append(of_kind(modes, GRAD_MODES))

    def _cast(self, ref: Ref, dtype: str, modes: Modes) -> Ref:
        """Returns an operand in the dtype in which its op computes, of the new program."""
        if self.dtypes[ref] == {dtype}:
            return self.new[ref]
        if self.dtypes[ref] > WIDE:
            raise NotDocumented("an operand may be float64, which is never cast, or not")
        leaf, cast = self.source[ref.at], _Cast(ref, dtype, is_recorded(modes))
        keeps = innermost(modes, CAST_MODES) == "autocast" and isinstance(leaf, Leaf) and leaf.requires_grad
        if keeps and cast in self.kept:
            self.shares = True
            return self.kept[cast]
        self._write(Apply(f"astype_{dtype}", (self.new[ref],)), modes)
        made = Ref(len(self.steps) - 1)
        if keeps:
            self.kept[cast] = made
        return made


def _result_dtypes(
    step: Instruction, number: int, given: Sequence[frozenset[str]], dtypes: Mapping[Ref, frozenset[str]]
) -> frozenset[str]:
    """Returns the dtypes that a result may have, given those of the operands, after their casts."""
    match step:
        case Leaf(value):
            return frozenset((value.dtype,))
        case Grad():
            return dtypes[step.inputs[number]]
        case Apply(op) if (made := row_of(op).dtype) is not None:
            return frozenset((made,))
        case Apply():
            return frozenset().union(*given, *([{"float32"}] if len({*given}) > 1 else []))
        case _:
            return given[0]
