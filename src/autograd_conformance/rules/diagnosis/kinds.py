"""A diagnosis of wrong gradients as data: the kind of fault, and the lines, roots or results that the fault is about.

Each kind has its rule and its sentence. Two diagnoses are compared by kind and numbers; no code reads the sentences.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from autograd_conformance.programs import slugs
from autograd_conformance.programs.slugs import Slug


class DiagnosisKind(Enum):
    """The known faults, each with the rule that it breaks and a template of the sentence that describes it.

    If a kind has no rule, the rule that the fault breaks depends on the call. `{}` is replaced with the diagnosis's
    numbers.
    """

    # accumulation
    OVERWRITTEN = (slugs.ACCUMULATION_ADDS, "It is this call's contribution: the gradient held before was overwritten.")
    NOTHING_ADDED = (slugs.ACCUMULATION_ADDS, "It is the gradient that the leaf held before: this call added nothing.")
    OLD_ADDED = (
        slugs.ACCUMULATION_ADDS,
        "It is twice the gradient that the leaf held: this call added the old gradient, not its contribution.",
    )
    HELD_TWICE = (
        slugs.ACCUMULATION_ADDS,
        "It is this call's contribution and twice the gradient that the leaf held: what was held is added twice.",
    )
    ADDED_TWICE = None, "This call's contribution was added twice."
    SUBTRACTED = None, "This call's contribution was subtracted."

    # all numbers of a result
    DOUBLED = None, "It is twice the right gradient."
    NEGATED = None, "It has the opposite sign."
    TRANSPOSED = None, "It is the transpose of the right gradient."

    LAST_OF_REPEATED = (
        None,
        "An op takes an element of its operand several times, and only the last of these counts: gradients were "
        "written, not added.",
    )
    FIRST_OF_REPEATED = None, "An op takes an element of its operand several times, and only the first of these counts."

    # leaves
    LEAVES_MERGED = slugs.GRADIENTS_EQUAL_LEAVES, "One of two leaves of equal values got the gradients of both."
    LEAVES_SWAPPED = slugs.GRADIENTS_EQUAL_LEAVES, "Two leaves of equal values got each other's gradient."

    # the traversal of the graph
    COTANGENT_IGNORED = (
        slugs.GRADIENTS_COTANGENT,
        "It is the gradient for a cotangent of ones: the one given was ignored.",
    )
    COTANGENT_SUMMED = (
        slugs.GRADIENTS_COTANGENT,
        "It is the gradient for the sum of the cotangent's elements in every place.",
    )
    CONSTANT_GRADIENT = (
        slugs.HIGHER_DIFFERENTIABLE,
        "A part of the gradient that line {} computed is a constant: nothing was passed on through it.",
    )
    ROOT_ONCE = slugs.GRADIENTS_SEVERAL_ROOTS, "It counts a root that is listed twice only once."
    ROOT_ALONE = (
        slugs.GRADIENTS_SEVERAL_ROOTS,
        "It is the gradient of root number {} alone: the other roots were ignored.",
    )
    FIRST_ARGUMENT = slugs.GRADIENTS_SAME_ARGUMENT, "It counts a value that an op takes twice only for its first place."
    LAST_ARGUMENT = slugs.GRADIENTS_SAME_ARGUMENT, "It counts a value that an op takes twice only for its last place."
    FIRST_CONTRIBUTION = (
        slugs.GRADIENTS_FAN_OUT,
        "It counts only the first contribution to a value that is used several times.",
    )
    LAST_CONTRIBUTION = (
        slugs.GRADIENTS_FAN_OUT,
        "It counts only the last contribution to a value that is used several times.",
    )
    RUNNING_TOTALS = (
        slugs.GRADIENTS_FAN_OUT,
        "A value that is used several times passed on what it had so far at each contribution, so that earlier "
        "contributions count again.",
    )
    RESULT_ALONE = (
        slugs.GRADIENTS_SEVERAL_RESULTS,
        "It is the gradient through result number {} of an op that has several: the others were dropped.",
    )
    GRADIENTS_KEPT = (
        slugs.GRADIENTS_GRAPH,
        "Non-leaf values kept the gradients of earlier calls, and these were passed on again.",
    )
    FREED_PASSES_NOTHING = (
        slugs.GRADIENTS_GRAPH,
        "The ops that an earlier call without retain_graph went through passed nothing on.",
    )

    # writes
    CURRENT_VALUES = (
        slugs.WRITES_ERROR_OR_RECORDED,
        "It is the gradient at the values after the write of line {}, not at those that were recorded.",
    )
    WRITE_IGNORED = (
        slugs.WRITES_RECORDED,
        "It is the gradient without the write on line {}: the write was not recorded, and the values before it got all "
        "of it.",
    )
    WRITTEN_WITHOUT = slugs.WRITES_RECORDED, "The values written on line {} got no gradient."
    OVERWRITTEN_TOO = slugs.WRITES_RECORDED, "The values overwritten on line {} got the gradient, too."
    BASE_UNWRITTEN = (
        slugs.VIEWS_HISTORY,
        "It is the gradient of the base without the write on line {}, which changed a view of the base.",
    )
    WRITTEN_THROUGH_VIEW = (
        slugs.VIEWS_HISTORY,
        "The values that the write on line {} put into the base through a view got no gradient.",
    )

    # optimizers
    GROUP_IGNORED = (
        slugs.OPTIMIZERS_GROUPS,
        "It moved by the optimizer's settings: those of its parameter group were ignored.",
    )

    # constants
    CONSTANT_RECORDED = (
        slugs.MODES_CONSTANT,
        "It is the gradient with line {} recorded: values computed under no_grad passed it on.",
    )
    DETACH_IGNORED = (
        slugs.DETACH_BLOCKS,
        "It is the gradient with the detach left out: the detached value passed it on.",
    )
    DETACH_IN_PLACE_IGNORED = slugs.DETACH_IN_PLACE, "It is the gradient with the detaching in place left out."

    # hooks
    HOOKS_REVERSED = slugs.HOOKS_ORDER, "The hooks of one value were called in the opposite order."
    HOOK_KEPT = slugs.HOOKS_REMOVED, "The hook of line {} was called although it had been removed."
    HOOK_IGNORED = slugs.HOOKS_RESULT, "The result of the hook of line {} was ignored."
    HOOK_OF_WHOLE_GRADIENT = (
        slugs.HOOKS_RESULT,
        "The hook of line {} was applied to its leaf's whole gradient, not to this call's contribution.",
    )
    HOOK_OF_NONE = (
        slugs.HOOKS_RESULT,
        "The hook of line {} was called with a gradient and returned None, and the leaf got no gradient.",
    )
    HOOK_TWICE = slugs.HOOKS_CALLED, "The hook of line {} was applied twice."

    def __init__(self, rule: Slug | None, sentence: str) -> None:
        self.rule = rule
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A known fault that would give the observed gradients, up to rounding."""

    kind: DiagnosisKind
    numbers: tuple[int, ...] = ()
    """The numbers of the lines, the root or the result that the fault is about, which count from 1."""
    rule_of_call: Slug | None = field(default=None, compare=False)
    """The rule that the fault breaks in this call, if the kind of fault names none."""

    @property
    def rule(self) -> Slug:
        """The rule that the fault breaks."""
        rule = self.kind.rule or self.rule_of_call
        assert rule is not None
        return rule

    def __str__(self) -> str:
        """Returns a sentence that describes the fault."""
        return self.kind.sentence.format(" and ".join(map(str, self.numbers)))
