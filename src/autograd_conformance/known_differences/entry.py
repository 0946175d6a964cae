"""One entry of a file of known differences: the violated rule, the conditions of the case, and the limits for
values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from autograd_conformance.programs.language import Program

NOT_REPORTED = "not reported"
"""Value of `link` for a difference that was not reported to the framework's developers."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The framework's version and the machine of a run, which the entry's `version`, `device` and `platform` are
    compared with.
    """

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
    """One known difference. A violation is this difference only if it fulfils every condition of the entry; otherwise
    it is a failure.

    Wrong values are waived only within `relative` and `absolute`, or by `nan` or `any_value`. An entry without any of
    these waives no wrong value.
    """

    rule: str
    """The violated rule, or a more general rule that includes it."""
    op: str | None
    """The op that the entry is about, in-place ops included (`add_`); None if another key names the case."""
    reason: str
    """Why the framework differs."""
    witness: Program
    """A program that shows the difference. Each run tries it, and reports the entry as stale if the program no longer
    shows it.
    """
    link: str | None = None
    """Address of the discussion, or `NOT_REPORTED`."""
    since: str | None = None
    """Day since which the difference is known, such as 2026-11-22."""
    relative: float | None = None
    """Largest error, as a part of the largest expected magnitude; at most 1."""
    absolute: float | None = None
    """Error allowed in addition to `relative`; at most 1."""
    any_value: bool = False
    """Values may be anything: the framework reads or writes memory with unknown contents, or nothing bounds the error.
    """
    nan: bool = False
    """Some values are NaN. All other values are within the limits, or within rounding if the entry has no limits."""
    result_dtype: str | None = None
    """The result, or a gradient, has this dtype, and another one is expected. Such an entry waives no wrong value."""
    wrong_shape: bool = False
    """The shape of the result differs from the expected one. Such an entry waives no wrong value."""
    elements: int | None = None
    """Number of elements of the leaf, or of the wrong value, that the violation is about."""
    dimensions: int | None = None
    """Number of dimensions of the leaf, or of the wrong value, that the violation is about. For a call that raised, it
    is the call's only root; for a write, its target.
    """
    wrong_elements: int | None = None
    """Largest number of wrong elements in the value or gradient."""
    zero_operand: int | None = None
    """Position of an operand of the op that may contain a zero: it is a leaf with a zero, or a computed value."""
    empty_value: bool = False
    """Some value of the program, a leaf or computed, has no elements."""
    makes_view: bool = False
    """The op makes a view; if the failing instruction applies no op, some op of the program makes a view."""
    op_repeated: bool = False
    """The wrong value was computed by an op that was applied before to the same operands with the same attributes."""
    region_returns_detached: bool = False
    """A region that begins at or before the failing instruction returns both a view of a value that it computed and a
    detached view of the same value.
    """
    region_returns_op: bool = False
    """A region that begins before the failing instruction returns a result of the op."""
    returned: bool = False
    """The failing instruction returned, and an error is expected. Such an entry waives no wrong value."""
    raised: str | None = None
    """Kind of the raised error."""
    message: str | None = None
    """Text that the message of the raised exception contains."""
    after: str | None = None
    """An earlier instruction is this op, this optimizer step, this hook (`hook raise`), or has this word (`grad`,
    `assign`).
    """
    call: str | None = None
    """The failing instruction is a call with this word: `backward` or `grad`."""
    graph_reused: bool = False
    """The failing call passes through a value that an earlier call passed through; roots count."""
    graph_partly_reused: bool = False
    """The failing call, or a call before it, reuses a part of the graph of earlier calls, and also passes through ops
    that are not downstream of that part.
    """
    root_reused: bool = False
    """An earlier call passed through a root of the failing call, and an op has taken this root as an operand since."""
    grad_already_set: bool = False
    """An earlier call may have set the `.grad` of the leaf in question. If the entry names an op, the failing call
    passes through this op, applied to the leaf.
    """
    grad_is_none: bool = False
    """The `.grad` of the leaf in question is None before the failing instruction: since it was last cleared, no call
    accumulated into it and none was assigned.
    """
    reaches_several_leaves: bool = False
    """The failing call, or a call before it, accumulates into the leaf in question and into another leaf."""
    operands_share_leaf: bool = False
    """An op before the failing instruction has two operands that were computed from the same leaf."""
    duplicate_root: bool = False
    """The failing call, or a call before it, has the same root twice, two roots that may be views of the same value, or
    a root that is also one of its inputs.
    """
    writes_non_leaf: bool = False
    """An earlier instruction writes into a computed value, or into a view of one."""
    requires_grad_toggled: bool = False
    """The `requires_grad` of a leaf changes before the failing instruction, after an op has used the leaf."""
    writes_shared_memory: bool = False
    """A region that begins at or before the failing instruction writes into memory that it did not allocate and that
    several values share. A write outside all regions counts as a region of one instruction.
    """
    operand_written: bool = False
    """After the op was applied and before the failing instruction, a write or an optimizer step changes the memory of
    one of its operands.
    """
    writes_overlapping_leaf: bool = False
    """Before the failing instruction, a write changes a leaf that overlaps itself in memory, after a view of this leaf
    was taken.
    """
    root_without_inputs: bool = False
    """The failing call has a root that was computed from none of its inputs."""
    in_region: bool = False
    """A region contains an in-place write, and the failing instruction is in this region or is a call that passes
    through it.
    """
    through_region: bool = False
    """The gradient in question, or one that the failing call passes through, was computed through a region by a call
    with create_graph.
    """
    step: str | None = None
    """The failing instruction is a step of an optimizer with these settings, in the notation of programs."""
    version: SpecifierSet | None = None
    """Versions of the framework that differ, such as >=2.12,<2.14."""
    device: str | None = None
    """The device that differs: `cuda` is any CUDA device, `cuda:1` is one."""
    dtype: str | None = None
    """The dtype in which the program computes, or of the value that the violation is about."""
    platform: str | None = None
    """The operating system or the processor that differs, such as Linux or x86_64."""
    left_out: bool = True
    """Whether tests about other rules leave the op out of their programs."""
    where: str = field(default="", compare=False)
    """Path of the file that contains the entry."""
    inherited: bool = field(default=False, compare=False)
    """Whether the entry comes from an included file, such as the file of the framework whose mode is tested. An
    inherited entry is not stale if the mode does not show it.
    """

    @property
    def limited(self) -> bool:
        """Whether the entry limits how far values may be off."""
        return self.relative is not None or self.absolute is not None

    def applies(self, run: Environment) -> bool:
        """Whether the entry's version, device and platform match a run. Raises `InvalidVersion` if the entry names
        versions and the framework's own version is not comparable.
        """
        if self.version is not None and not self.version.contains(Version(run.version), prereleases=True):
            return False
        if self.device is not None and self.device not in (run.device, run.device.partition(":")[0]):
            return False
        here = (run.system, run.machine, f"{run.system} {run.machine}")
        return self.platform is None or self.platform.lower() in [each.lower() for each in here]


__all__ = ["NOT_REPORTED", "Environment", "InvalidVersion", "Known"]
