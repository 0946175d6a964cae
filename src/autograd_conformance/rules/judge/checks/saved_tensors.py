"""Checks of the number of live saved tensors.

A framework that counts its saved tensors reports after each instruction how many are alive; a tensor that two ops saved
counts twice. The increase at an op is the number of tensors that this op saved. From then on, the tape model keeps a
lower and an upper bound on how many of them are alive. A call that does not retain the graph certainly frees the
tensors of the nodes that it goes through, and possibly frees those of the nodes that it may go through. Deleting a
value frees the tensors that no other value and no gradient keeps alive. The reported count must be within the sums of
these bounds. Unspecified behaviour widens the bounds, and is not judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    BackwardCall,
    Delete,
    DetachInPlace,
    Grad,
    InPlace,
    Instruction,
    ReadGrad,
    Ref,
    ZeroGrad,
)
from autograd_conformance.programs.observations import Returned, StepObservation
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.expected import SavedTensorBounds
from autograd_conformance.rules.violations.observed import SavedTensorCount
from autograd_conformance.rules.violations.violation import Allowed, Violation
from autograd_conformance.tape.graph import Expectation, Node, Traversal
from autograd_conformance.tape.saved_tensors import NONE, SavedBy, SavedTensors

RELEASING = (Delete, ZeroGrad, AssignGrad)
"""Instructions that may remove a value or a gradient that kept saved tensors alive."""

CREATED = "create_graph"
"""The text in place of an op's name for tensors that a backward call saved because it was recorded (create_graph)."""

Release = tuple[str, tuple[str, ...]]
"""Says which type of instruction frees the saved tensors of which ops; two instructions of one program with the same
value repeat the same release.
"""


@dataclass(slots=True)
class SavedTensorChecks:
    """The state of the saved-tensor checks between two instructions."""

    tensors: SavedTensors = field(default_factory=SavedTensors)
    count: int | None = 0
    """The number of live saved tensors after the last instruction; None once the number is unknown."""
    kept_by_failed_call: int = 0
    """Number of saved tensors that may still be alive because a call that needed these tensors failed, until another
    call returns.
    """
    late_reported: bool = False
    """Whether a violation already reported that the tensors of `kept_by_failed_call` are alive."""
    released_before: set[Release] = field(default_factory=set)
    """For each earlier instruction of the program that freed saved tensors: its type, and the ops that had saved them.
    """

    def judge(
        self, judging: Judging, at: int, step: Instruction, expectation: Expectation, observed: StepObservation
    ) -> Violation | None:
        """Updates the bounds with an instruction whose other effects are right, and counts the rules about saved
        tensors that it tested; returns the violation if the number of live saved tensors is out of bounds. The tape,
        the model of the recorded graph, has not yet recorded the instruction.
        """
        before, self.count = self.count, observed.saved
        if before is None or observed.saved is None:
            self.count = None  # the framework does not count, or its count has become ambiguous
            return None
        freed = _record(judging, self.tensors, at, step, expectation, observed, observed.saved - before)
        for ref, gradient in observed.gradients.items():
            if gradient is None:
                self.tensors.grad_may_keep.pop(ref, None)
        if isinstance(step, (*RELEASING, Backward, Grad, InPlace, DetachInPlace)):
            unreachable = self.tensors.free_unreachable()
            freed = unreachable if isinstance(step, RELEASING) else freed
            self.kept_by_failed_call += sum(each.most for each in unreachable if each.failed)
        if isinstance(step, BackwardCall) and isinstance(observed.outcome, Returned):
            self.kept_by_failed_call, self.late_reported = 0, False
            self.tensors.recover()
        low, high = self.tensors.bounds()
        high += self.kept_by_failed_call if self.late_reported else 0
        recorded = isinstance(step, InPlace) or (isinstance(step, BackwardCall) and step.create_graph)
        if recorded and observed.saved >= low:
            op = step.op if isinstance(step, InPlace) else CREATED
            self.tensors.by[at] = SavedBy(op, max(0, observed.saved - high), observed.saved - low, True)
        elif not low <= observed.saved <= high:
            self.late_reported = high < observed.saved <= high + self.kept_by_failed_call
            self.count = observed.saved if self.late_reported else None
            return self._violation(judging, at, step, observed, freed, low, high)
        self._exercise(judging, step, expectation, observed, freed)
        return None

    def _exercise(
        self,
        judging: Judging,
        step: Instruction,
        expectation: Expectation,
        observed: StepObservation,
        freed: list[SavedBy],
    ) -> None:
        """Counts the rules that the instruction put to the test."""
        rules: list[Slug] = []
        if isinstance(step, BackwardCall) and isinstance(observed.outcome, Returned) and step.retains:
            saved = (self.tensors.by.get(node.at) for node in expectation.traversal.nodes)
            rules += [slugs.MEMORY_RETAINED] if any(each is not None and each.least for each in saved) else []
        if isinstance(step, RELEASING) and any(each.failed for each in freed):
            rules.append(slugs.MEMORY_AFTER_ERROR)
        if freed:
            release = _release(step, freed)
            rules += [_release_rule(step, freed)] + ([slugs.MEMORY_STEADY] if release in self.released_before else [])
            self.released_before.add(release)
        judging.exercise(rule for rule in rules if judging.applies(rule))

    def _violation(
        self,
        judging: Judging,
        at: int,
        step: Instruction,
        observed: StepObservation,
        freed: list[SavedBy],
        low: int,
        high: int,
    ) -> Violation | None:
        """Returns the violation of the rule that bounds the number of saved tensors; None if no rule does."""
        count = observed.saved
        assert count is not None
        if isinstance(step, BackwardCall) and isinstance(observed.outcome, Returned):
            rule = slugs.MEMORY_RETAINED if step.retains else slugs.MEMORY_FREED
        elif isinstance(step, RELEASING) and count > high:
            rule = _release_rule(step, freed)
        else:
            return None
        if self.late_reported:
            rule = slugs.MEMORY_AFTER_ERROR
        elif count > high and _release(step, freed) in self.released_before:
            rule = slugs.MEMORY_STEADY
        if not judging.applies(rule):
            return None
        exact, few = low == high, count < low
        expected = SavedTensorBounds(low if few or exact else None, high if not few or exact else None)
        return Violation(rule, at, SavedTensorCount(count), (Allowed(expected, rule),))


def _release_rule(step: Instruction, freed: list[SavedBy]) -> Slug:
    """Returns the rule that says when an instruction frees these saved tensors."""
    if isinstance(step, BackwardCall):
        return slugs.MEMORY_FREED
    return slugs.MEMORY_CYCLE if any(each.op == CREATED for each in freed) else slugs.MEMORY_DROPPED


def _release(step: Instruction, freed: list[SavedBy]) -> Release:
    return type(step).__name__, tuple(each.op for each in freed)


# -- following --------------------------------------------------------------------------------------------------------


def _record(
    judging: Judging,
    tensors: SavedTensors,
    at: int,
    step: Instruction,
    expectation: Expectation,
    observed: StepObservation,
    count: int,
) -> list[SavedBy]:
    """Updates the model of saved tensors with an instruction, after which `count` more tensors are alive; returns the
    tensors that the instruction certainly frees.
    """
    if isinstance(step, BackwardCall):
        return _record_call(judging, tensors, at, step, expectation, observed)
    if not isinstance(observed.outcome, Returned):
        return []
    if isinstance(step, Apply):
        _record_op(judging, tensors, at, step, count)
    elif isinstance(step, ReadGrad):
        tensors.may_keep[Ref(at)] = tensors.grad_may_keep.get(step.leaf, NONE)
    elif isinstance(step, AssignGrad) and step.value is not None:
        tensors.grad_may_keep[step.leaf] = tensors.may_keep.get(step.value, NONE)
    elif isinstance(step, InPlace):
        _record_write(judging, tensors, at, step)
    elif isinstance(step, DetachInPlace):
        tensors.must_keep.pop(step.target, None)
    elif isinstance(step, Delete):
        for ref in step.values:
            tensors.may_keep.pop(ref, None)
            tensors.must_keep.pop(ref, None)
    return []


def _record_op(judging: Judging, tensors: SavedTensors, at: int, step: Apply, count: int) -> None:
    """Records that an op saved `count` tensors, and which values may or must keep them alive."""
    requires = judging.reference.requires_grad
    if count > 0:
        tensors.by[at] = SavedBy(step.op, count, count)
    own = NONE | {at}
    for k in range(step.results):
        ref = Ref(at, k)
        graph = requires[ref] or row_of(step.op).aliases is not Certainty.NEVER  # a view may keep its base
        tensors.may_keep[ref] = tensors.kept_by(step.args) | own if graph else own
        if requires[ref]:
            kept = (tensors.must_keep.get(r, NONE) for r in step.args if requires[r])
            tensors.must_keep[ref] = NONE.union(own if step.results == 1 else NONE, *kept)


def _record_write(judging: Judging, tensors: SavedTensors, at: int, step: InPlace) -> None:
    """Adds an in-place change to the history of all values in its target's memory; their earlier history may be cut
    off.
    """
    storages = judging.reference.storages
    aliases = {step.target, *storages.aliases(step.target), *storages.view_family(step.target)}
    history = tensors.kept_by((*aliases, *step.args)) | {at}
    for ref in aliases:
        tensors.must_keep.pop(ref, None)
        if ref in tensors.may_keep or ref == step.target:
            tensors.may_keep[ref] = history
    for leaf in judging.reference.grads.tensors:  # the target may be a gradient
        tensors.grad_may_keep[leaf] = tensors.grad_may_keep.get(leaf, NONE) | history


def _record_call(
    judging: Judging,
    tensors: SavedTensors,
    at: int,
    call: BackwardCall,
    expectation: Expectation,
    observed: StepObservation,
) -> list[SavedBy]:
    """Frees the tensors of the nodes that a call goes through, unless the call retains them. With create_graph,
    gradients keep these tensors alive. Returns the tensors that are certainly freed.
    """
    traversal, outcome = expectation.traversal, observed.outcome
    returned = isinstance(outcome, Returned)
    if call.create_graph:
        history = tensors.kept_by(call.roots) | {at}
        for ref in traversal.must_accumulate | traversal.may_accumulate:
            tensors.grad_may_keep[ref] = tensors.grad_may_keep.get(ref, NONE) | history
        values = outcome.values if isinstance(outcome, Returned) else ()
        tensors.may_keep.update({Ref(at, k): history for k, value in enumerate(values) if value is not None})
    if not returned:
        tensors.fail(tensors.kept_by(call.roots))
    elif call.retains:
        return []
    certain = returned and judging.tape.frees
    freed = [n.at for n in traversal.nodes if _is_whole(judging, tensors, n, call, traversal)] if certain else []
    tensors.may_free(node.at for node in (*traversal.nodes, *traversal.maybe_nodes))
    return tensors.free(dict.fromkeys(freed))


def _is_whole(judging: Judging, tensors: SavedTensors, node: Node, call: BackwardCall, traversal: Traversal) -> bool:
    """Whether a call goes through everything that an op recorded. An op may record a separate part for each result, and
    for each operand; a call with inputs may go through some of these parts only.
    """
    saved = tensors.by.get(node.at)
    if saved is None or saved.derived or not all(out in traversal.must_reach for out in node.entry.outs):
        return False
    if call.inputs is None:
        return True
    ends = {judging.reference.tape.edge(r) for r in call.inputs}.union(*(each.entry.outs for each in traversal.nodes))
    operands = zip(node.entry.args, node.entry.needs_input_grad, strict=True)
    return all(edge in ends for edge, needs_input_grad in operands if needs_input_grad)
