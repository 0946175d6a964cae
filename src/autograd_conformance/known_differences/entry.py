"""An entry of a file of known differences: which rule is broken, where, how far, and under which conditions."""

from __future__ import annotations

from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from autograd_conformance.programs.language import Program

NOT_REPORTED = "not reported"
"""What stands in the place of a link where the difference was not reported to the framework."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What the conditions of entries are held against: the framework and where it runs."""

    version: str
    """The framework's version."""
    device: str
    """The device that programs run on, such as "cpu" or "cuda:0"."""
    system: str
    """The operating system, such as "Linux"."""
    machine: str
    """The processor, such as "x86_64"."""


@dataclass(frozen=True, slots=True)
class Known:
    """One known difference. Every condition that it names has to hold: anything else is a failure.

    A wrong value is excused only as far as `relative` and `absolute` say, where `nan` says so, or where `any_value`
    does; an entry with none of them excuses no wrong value.
    """

    rule: str
    """The rule that the framework breaks, or a general one of which that is a special case."""
    op: str | None
    """The op that it is about, or the op in place (`add_`); none: where another key names the case."""
    reason: str
    """Why the framework differs."""
    witness: Program
    """A program that shows it: each run tries it, and an entry whose witness no longer does is stale."""
    link: str | None = None
    """Where it is discussed, or `NOT_REPORTED`."""
    since: str | None = None
    """The day since when it is known, as 2026-11-22."""
    relative: float | None = None
    """Values are off by no more than this part of the largest value that is expected; 1 at most."""
    absolute: float | None = None
    """Values may be off by this much more; 1 at most."""
    any_value: bool = False
    """Values may be anything: memory is read, or written, that nobody knows the contents of, or nothing bounds them."""
    nan: bool = False
    """Values that are no numbers were seen; the others are off by no more than the limits, or than rounding."""
    result_dtype: str | None = None
    """The result, or a gradient, has this dtype, where another is expected; such an entry excuses no wrong value."""
    wrong_shape: bool = False
    """The result has another shape than is due; such an entry excuses no wrong value."""
    elements: int | None = None
    """The difference is about a leaf, or a wrong value, of that many elements."""
    dimensions: int | None = None
    """The difference is about a leaf, the only root of a call that raised and the target of a write among them, or a
    wrong value, of that many dimensions."""
    wrong_elements: int | None = None
    """No more elements than that of the value, or of the gradient, are wrong."""
    zero_operand: int | None = None
    """This operand of the op may hold a zero: it is a leaf that does, or computed."""
    empty_value: bool = False
    """A value of the program, a leaf or computed, has no elements."""
    makes_view: bool = False
    """The op makes a view, or, where the failing instruction applies no op, some op of the program does."""
    op_repeated: bool = False
    """The value in question was made by an op that had been applied to the same operands, with the same attributes."""
    region_returns_detached: bool = False
    """A function that begins before the failing instruction, or with it, gives out a view of what it computed, and a
    view of the same that was detached."""
    region_returns_op: bool = False
    """A function that begins before the failing instruction gives out what the op made in it."""
    returned: bool = False
    """The failing instruction returned, where an error is expected; such an entry excuses no wrong value."""
    raised: str | None = None
    """The kind of the error that was raised."""
    message: str | None = None
    """The message of the exception that was raised has that in it."""
    after: str | None = None
    """That op, such a step, such a hook (`hook raise`), or an instruction of that word (`grad`, `assign`) stands
    before."""
    call: str | None = None
    """The failing instruction is a call of that word, `backward` or `grad`."""
    graph_reused: bool = False
    """The failing call goes through a value, its root included, through which an earlier call of the program went."""
    graph_partly_reused: bool = False
    """The failing call, or one before it, goes through something that an earlier call went through, and through
    something else that was not computed from that."""
    root_reused: bool = False
    """A root of the failing call, through which an earlier call went, was taken by an op behind that one."""
    grad_already_set: bool = False
    """The leaf that is wrong may hold, before the failing call, a gradient that an earlier one left there; if the entry
    names an op, the failing call goes through it, and it takes the leaf.
    """
    grad_is_none: bool = False
    """The leaf that is wrong holds no gradient before the failing instruction: none was left or assigned there since it
    was cleared."""
    reaches_several_leaves: bool = False
    """The failing call, or one before it, leaves gradients in the leaf that is wrong and in another one."""
    operands_share_leaf: bool = False
    """An op before the failing instruction takes two operands that were computed from one leaf."""
    duplicate_root: bool = False
    """The failing call, or one before it, has a root twice, a root and what may be a view of it or the very same, or
    one of its inputs among its roots."""
    writes_non_leaf: bool = False
    """A write into what an op computed, or into a part of it, stands before."""
    requires_grad_toggled: bool = False
    """A leaf that has begun, or ceased, to require grad since something was computed from it stands before."""
    writes_shared_memory: bool = False
    """A function, or a write by itself, that begins before the failing instruction, or with it, writes into memory in
    which several values lie that it did not make."""
    operand_written: bool = False
    """Behind the op, a write into memory in which one of its operands lies, or a step that moves one, stands before the
    failing instruction."""
    writes_overlapping_leaf: bool = False
    """Behind a view of a leaf that overlaps itself in memory, a write into that memory stands before the failing
    instruction."""
    root_without_inputs: bool = False
    """The failing call has a root that was computed from none of its inputs."""
    in_region: bool = False
    """The failing instruction stands in a unit in which something is written to, or is a call through one."""
    through_region: bool = False
    """The gradient that is read, or one that the failing call goes through, was left by a call with create_graph that
    went through a unit.
    """
    step: str | None = None
    """The failing instruction is the step of an optimizer with these settings, as the text form writes them."""
    version: SpecifierSet | None = None
    """The framework's versions that differ, such as >=2.12,<2.14."""
    device: str | None = None
    """The device that differs: cuda is any cuda device, cuda:1 that one."""
    dtype: str | None = None
    """The dtype that programs, or the values that the difference is about, differ in."""
    platform: str | None = None
    """The operating system or the processor that differs, such as Linux or x86_64."""
    left_out: bool = True
    """Whether the op is left out of the programs of tests that are not about it."""
    where: str = field(default="", compare=False)
    """The file that holds the entry."""
    inherited: bool = field(default=False, compare=False)
    """Whether it comes from a file that another one includes, as that of a framework whose mode is tested: the mode may
    not show it, and is not asked to.
    """

    @property
    def limited(self) -> bool:
        """Whether it says how far values may be off."""
        return self.relative is not None or self.absolute is not None

    def applies(self, run: Environment) -> bool:
        """Whether its conditions on the framework's version, device and platform hold; `InvalidVersion` where it asks
        for a version and the framework's cannot be compared.
        """
        if self.version is not None and not self.version.contains(Version(run.version), prereleases=True):
            return False
        if self.device is not None and self.device not in (run.device, run.device.partition(":")[0]):
            return False
        here = (run.system, run.machine, f"{run.system} {run.machine}")
        return self.platform is None or self.platform.lower() in [each.lower() for each in here]


__all__ = ["NOT_REPORTED", "Environment", "InvalidVersion", "Known"]
