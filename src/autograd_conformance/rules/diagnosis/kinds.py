"""A diagnosis as data: the kind of fault, and the lines, roots or results that it is about.

Each kind has its rule and its sentence. Two diagnoses are compared by kind and numbers; no code reads the sentences.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class DiagnosisKind(Enum):
    """The known faults, each with the rule that it breaks and a template of the sentence that describes it.

    A fault without a rule breaks another rule for each kind of call. `{}` is replaced with the diagnosis's numbers.
    """

    # accumulation
    OVERWRITTEN = ("accumulation/adds", "It is this call's contribution: the gradient held before was overwritten.")
    NOTHING_ADDED = ("accumulation/adds", "It is the gradient that the leaf held before: this call added nothing.")
    OLD_ADDED = (
        "accumulation/adds",
        "It is twice the gradient that the leaf held: this call added the old gradient, not its contribution.",
    )
    ADDED_TWICE = "", "This call's contribution was added twice."
    SUBTRACTED = "", "This call's contribution was subtracted."

    # all numbers of a result
    DOUBLED = "", "It is twice the right gradient."
    NEGATED = "", "It has the opposite sign."
    TRANSPOSED = "", "It is the transpose of the right gradient."

    # leaves
    LEAVES_MERGED = "gradients/equal-leaves", "One of two leaves of equal values got the gradients of both."
    LEAVES_SWAPPED = "gradients/equal-leaves", "Two leaves of equal values got each other's gradient."

    # the traversal of the graph
    COTANGENT_IGNORED = (
        "gradients/cotangent",
        "It is the gradient for a cotangent of ones: the one given was ignored.",
    )
    COTANGENT_SUMMED = (
        "gradients/cotangent",
        "It is the gradient for the sum of the cotangent's elements in every place.",
    )
    ROOT_ONCE = "gradients/several-roots", "It counts a root that is listed twice only once."
    ROOT_ALONE = "gradients/several-roots", "It is the gradient of root number {} alone: the other roots were ignored."
    FIRST_ARGUMENT = "gradients/same-argument", "It counts a value that an op takes twice only for its first place."
    LAST_ARGUMENT = "gradients/same-argument", "It counts a value that an op takes twice only for its last place."
    FIRST_CONTRIBUTION = (
        "gradients/fan-out",
        "It counts only the first contribution to a value that is used several times.",
    )
    LAST_CONTRIBUTION = (
        "gradients/fan-out",
        "It counts only the last contribution to a value that is used several times.",
    )
    RESULT_ALONE = (
        "gradients/several-results",
        "It is the gradient through result number {} of an op that has several: the others were dropped.",
    )
    GRADIENTS_KEPT = (
        "gradients/graph",
        "Non-leaf values kept the gradients of earlier calls, and these were passed on again.",
    )

    # writes
    CURRENT_VALUES = (
        "writes/error-or-recorded",
        "It is the gradient at the values after the write of line {}, not at those that were recorded.",
    )
    WRITE_IGNORED = (
        "writes/recorded",
        "It is the gradient without the write on line {}: the overwritten values got all of it.",
    )
    WRITTEN_WITHOUT = "writes/recorded", "The values written on line {} got no gradient."
    OVERWRITTEN_TOO = "writes/recorded", "The values overwritten on line {} got the gradient, too."
    BASE_UNWRITTEN = (
        "views/history",
        "It is the gradient of the base without the write on line {}, which changed a view of the base.",
    )
    WRITTEN_THROUGH_VIEW = (
        "views/history",
        "The values that the write on line {} put into the base through a view got no gradient.",
    )

    # constants
    CONSTANT_RECORDED = (
        "modes/constant",
        "It is the gradient with line {} recorded: values computed under no_grad passed it on.",
    )
    DETACH_IGNORED = "detach/blocks", "It is the gradient with the detach left out: the detached value passed it on."
    DETACH_IN_PLACE_IGNORED = "detach/in-place", "It is the gradient with the detaching in place left out."

    # hooks
    HOOKS_REVERSED = "hooks/order", "The hooks of one value were called in the opposite order."
    HOOK_KEPT = "hooks/removed", "The hook of line {} was called although it had been removed."
    HOOK_IGNORED = "hooks/result", "The result of the hook of line {} was ignored."
    HOOK_OF_WHOLE_GRADIENT = (
        "hooks/result",
        "The hook of line {} was applied to its leaf's whole gradient, not to this call's contribution.",
    )
    HOOK_TWICE = "hooks/called", "The hook of line {} was applied twice."

    def __init__(self, rule: str, sentence: str) -> None:
        self.rule = rule
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A fault that would give exactly the observed gradients."""

    kind: DiagnosisKind
    numbers: tuple[int, ...] = ()
    """The numbers of the lines, the root or the result that the fault is about, which count from 1."""
    rule_of_call: str = field(default="", compare=False)
    """The rule that the fault breaks, if its kind names none."""

    @property
    def rule(self) -> str:
        """The rule that the fault breaks."""
        return self.kind.rule or self.rule_of_call

    def __str__(self) -> str:
        """A sentence that describes the fault."""
        return self.kind.sentence.format(" and ".join(map(str, self.numbers)))
