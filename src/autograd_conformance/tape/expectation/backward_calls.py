"""The allowed outcomes of a backward call, computed from the state of the tape.

The first row of this table that applies decides.

| the call | if | and raises |
|---|---|---|
| is refused | an argument is not legal | an error about its arguments, or about a freed graph |
| is stopped | it certainly reaches a freed node or a failing hook, or misses an input | the error of one of these |
| returns | otherwise | nothing |

In all three cases the call may instead raise an error from `_may_raise`: these depend on what an implementation saves,
calls or implements. If several errors apply, the rules do not specify which one comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from autograd_conformance.ops.modules import MODULES
from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import Backward, BackwardCall, Grad, Modes, ReadGrad, Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug, family
from autograd_conformance.reference.computation.reverse import GradientEdge
from autograd_conformance.reference.computation.value_types import GradTensor
from autograd_conformance.reference.staging.vjp import base_op
from autograd_conformance.tape.expectation.exercises import exercised
from autograd_conformance.tape.expectation.unspecified import goes_through_views_of_toggled, is_unspecified
from autograd_conformance.tape.graph import Expectation, Node, Traversal
from autograd_conformance.tape.recurrence import carries_state
from autograd_conformance.tape.state import TapeState
from autograd_conformance.tape.versions import (
    is_invalidated,
    kept_storages,
    recomputes_changed_inputs,
    version_mismatch,
)

RAISED_MIDWAY = frozenset(
    {
        Kind.GRAPH_FREED, Kind.MODIFIED, Kind.HOOK_RAISED, Kind.HOOK_SHAPE, Kind.UNUSED_INPUT, Kind.VIEW_WRITTEN,
        Kind.NOT_IMPLEMENTED, Kind.OVERLAP, Kind.RECOMPUTED, Kind.UNKNOWN,
    }
)  # fmt: skip
"""The errors that a call may raise during its traversal of the graph; all others are raised before it begins."""

FAILING_HOOKS = {"raise": (Kind.HOOK_RAISED, slugs.HOOKS_RAISE), "misshape": (Kind.HOOK_SHAPE, slugs.HOOKS_SHAPE)}
"""For each effect of a hook that makes a call fail: the error that the call raises, and its rule."""

SPECIFIC = (
    slugs.ERRORS_REFUSAL_KEEPS_GRAPH, slugs.ERRORS_RECOVERS, slugs.RECURRENT_DETACHED_STATE, slugs.DETACH_KEEPS_SOURCE,
    slugs.WRITES_UNSAVED_WORKS, slugs.WRITES_RECORDED, slugs.MODES, slugs.FUNCTIONAL, slugs.HIGHER, slugs.LIFETIME,
)  # fmt: skip
"""The rules, and the families of rules, by which a call must return, the most specific first."""

Errors = dict[Kind, Slug]
"""Kinds of errors, each with its rule."""


def expectation_of_call(tape: TapeState, call: BackwardCall, modes: Modes) -> Expectation:
    """Returns the allowed outcomes of a backward call, by the table of this module's docstring."""
    traversal = tape.traverse(call)
    may_raise = _may_raise(tape, call, traversal)
    refused = refusals(tape, call)
    if refused:
        return _refused(tape, traversal, refused, may_raise)
    if _may_be_unused(tape, call):
        may_raise[Kind.UNUSED_INPUT] = slugs.FUNCTIONAL_UNUSED_RAISES
    stopped = _stopped(tape, call, traversal, may_raise)
    if stopped is not None:
        return stopped
    if any(node.freed or _is_cut_off(tape, node) for node in traversal.all_nodes):
        may_raise[Kind.GRAPH_FREED] = slugs.LIFETIME_NOTHING_SAVED
    exercises = exercised(tape, call, traversal, modes) if tape.counts else ()
    unspecified = is_unspecified(tape, call, traversal)
    return Expectation(_why_returns(exercises), may_raise, exercises, traversal, unspecified)


def _refused(tape: TapeState, traversal: Traversal, refused: Errors, may_raise: Errors) -> Expectation:
    raises = dict(refused)
    if any(node.freed for node in traversal.nodes):
        raises.setdefault(Kind.GRAPH_FREED, slugs.LIFETIME_SAME_ROOT_RAISES)
    kept = (slugs.ERRORS_REFUSAL_KEEPS_GRADIENTS,) if any(tape.grads.values()) else ()
    return Expectation(None, {**raises, **may_raise}, (*dict.fromkeys(refused.values()), *kept), traversal)


def _stopped(tape: TapeState, call: BackwardCall, traversal: Traversal, may_raise: Errors) -> Expectation | None:
    """Returns the expectation for a call that cannot complete its traversal; None for a call that can."""
    freed: list[Node] = []
    hooks: Errors = {}
    if not tape.reference.views.rebased.intersection(map(tape.reference.tape.edge, call.inputs or ())):
        freed = _always_freed(tape, traversal)
        hooks = _always_failing_hooks(tape, call, traversal)
    # an input that is a view of a storage that was written to may have lost its place in the graph
    unused = _always_unused(tape, call, traversal)
    if not (freed or hooks or unused):
        return None
    rules = _rules_of_freed(tape, call, traversal, freed) if freed else ()
    if any(node.freed for node in traversal.all_nodes):
        may_raise.setdefault(Kind.GRAPH_FREED, slugs.LIFETIME_NOTHING_SAVED)
    must_raise = {**({Kind.GRAPH_FREED: rules[0]} if rules else {}), **hooks, **unused}
    atomic = (slugs.ERRORS_ATOMIC,) if traversal.must_accumulate else ()
    exercises = (*rules, *hooks.values(), *unused.values(), *atomic)
    # errors that must be raised come first: a call that returns certainly breaks their rules
    return Expectation(None, {**must_raise, **may_raise, **must_raise}, exercises, traversal)


def _why_returns(exercises: Sequence[Slug]) -> Slug:
    """Returns the most specific of the rules by which a call must return."""
    first = min(exercises, key=_generality, default=slugs.ERRORS_LEGAL_RETURNS)
    return first if _generality(first) < len(SPECIFIC) else slugs.ERRORS_LEGAL_RETURNS


@cache
def _generality(rule: Slug) -> int:
    """Returns the index of a rule or its family in `SPECIFIC`; `len(SPECIFIC)` if neither is there, or if the call may
    raise instead by this rule.
    """
    places = (k for k, each in enumerate(SPECIFIC) if each in (rule, family(rule)))
    return len(SPECIFIC) if rule == slugs.LIFETIME_NOTHING_SAVED else next(places, len(SPECIFIC))


# -- refused -----------------------------------------------------------------------------------------------------------


def refusals(tape: TapeState, call: BackwardCall) -> Errors:
    """Returns the errors by which a call may be refused because of its arguments alone."""
    reference, found = tape.reference, Errors()
    for root, ct in zip(call.roots, call.cotangents, strict=True):
        value = reference.values[root]
        if not reference.requires_grad[root]:
            found[Kind.NO_GRAD] = _rule_of_constant_root(tape, root)
        if ct is None and not reference.traits.implies(np.shape(value)):
            found[Kind.NON_SCALAR_ROOT] = slugs.ERRORS_NON_SCALAR_ROOT
        if ct is not None and ct.shape != np.shape(value):
            found[Kind.COTANGENT_SHAPE] = slugs.ERRORS_COTANGENT_SHAPE
    constant_input = not all(reference.requires_grad[r] for r in call.inputs or ())
    if isinstance(call, Backward):
        if call.inputs == ():
            found[Kind.NO_INPUTS] = slugs.FUNCTIONAL_NO_INPUTS
        if constant_input:
            found[Kind.INPUT_NO_GRAD] = found[Kind.RETAIN_NO_GRAD] = slugs.FUNCTIONAL_INPUT_NO_GRAD
    else:
        if constant_input:
            found[Kind.INPUT_NO_GRAD] = slugs.FUNCTIONAL_INPUT_NO_GRAD
        if call.materialize_grads and call.allow_unused is False:
            found[Kind.OPTIONS] = slugs.FUNCTIONAL_OPTIONS
    return found


def _rule_of_constant_root(tape: TapeState, root: Ref) -> Slug:
    if root in tape.detached:
        return slugs.DETACH_ROOT_RAISES
    if isinstance(tape.reference.steps[root.at], (ReadGrad, Grad)):
        return slugs.HIGHER_PLAIN_RAISES
    return slugs.MODES_CONSTANT_ROOT if root in tape.unrecorded else slugs.ERRORS_NO_GRAD_ROOT


# -- stopped -----------------------------------------------------------------------------------------------------------


def _always_freed(tape: TapeState, traversal: Traversal) -> list[Node]:
    """Returns the nodes of a call's traversal that are certainly freed."""
    if not tape.frees:
        return []
    return [node for node in traversal.nodes if node.must_be_freed and node not in traversal.partial_nodes]


def _rules_of_freed(
    tape: TapeState, call: BackwardCall, traversal: Traversal, freed: Sequence[Node]
) -> tuple[Slug, ...]:
    """Returns the rules by which freed nodes stop a call, the most specific first."""
    rules = [slugs.LIFETIME_LATE_RETAIN_RAISES] if call.retain_graph else []
    if any(node.was_retained for node in freed):
        rules.append(slugs.LIFETIME_LAST_CALL_FREES)
    if isinstance(call, Grad):
        rules.append(slugs.FUNCTIONAL_FREES)
    if carries_state(tape, traversal, freed):
        rules.append(slugs.RECURRENT_CARRIED_STATE)
    repeated = any(tape.reference.tape.edge(root) in tape.roots for root in call.roots)
    rules.append(slugs.LIFETIME_SAME_ROOT_RAISES if repeated else slugs.LIFETIME_FREED_SUBGRAPH_RAISES)
    if any(node.freed_by in tape.by_default for node in freed):
        rules.append(slugs.LIFETIME_DEFAULT_FREES)
    return tuple(rules)


def _always_failing_hooks(tape: TapeState, call: BackwardCall, traversal: Traversal) -> Errors:
    """Returns the errors of the failing hooks that a call certainly runs."""
    called = tape.hooks_on(traversal.must_fire - tape.reference.views.rebased)
    failing = [(handle, hook) for handle, hook in called if hook.effect in FAILING_HOOKS]
    missed = tape.may_skip(call, failing)
    return dict(FAILING_HOOKS[hook.effect] for handle, hook in failing if handle not in missed)


def _refuses_unused(call: BackwardCall) -> bool:
    """Whether a call raises for inputs that it does not reach."""
    return isinstance(call, Grad) and not call.allow_unused and not call.materialize_grads


def _always_unused(tape: TapeState, call: BackwardCall, traversal: Traversal) -> Errors:
    if not _refuses_unused(call):
        return {}
    edges = map(tape.reference.tape.edge, call.inputs or ())
    unused = any(edge not in traversal.must_reach and edge not in traversal.may_fire for edge in edges)
    return {Kind.UNUSED_INPUT: slugs.FUNCTIONAL_UNUSED_RAISES} if unused else {}


# -- what a call may raise, or not -------------------------------------------------------------------------------------


def _may_be_unused(tape: TapeState, call: BackwardCall) -> bool:
    """Whether a call raises for unused inputs, and the gradient of one of its inputs is zero, so that the framework may
    count that input as unused.
    """
    return _refuses_unused(call) and any(tape.reference.pullbacks.is_zero(call, r) for r in call.inputs or ())


def _may_raise(tape: TapeState, call: BackwardCall, traversal: Traversal) -> Errors:
    """Returns the errors that a call may raise, or not, because of writes, hooks, recomputation, or missing
    implementations.
    """
    reference, nodes, found = tape.reference, traversal.all_nodes, Errors()
    if call.create_graph or any(node.derivative for node in nodes):
        found[Kind.NOT_IMPLEMENTED] = slugs.HIGHER_UNSUPPORTED
    if any(version_mismatch(tape, node) for node in nodes) or _changes_what_is_saved(tape, traversal):
        found[Kind.MODIFIED] = slugs.WRITES_ERROR_OR_RECORDED
        if reference.storages.restricted or any(base_op(node.op) in MODULES for node in nodes):
            found[Kind.VIEW_WRITTEN] = slugs.VIEWS_RESTRICTED  # it may have saved a restricted view of an operand
    if not call.create_graph and any(_may_overlap(tape, leaf) for leaf in traversal.must_accumulate):
        found[Kind.OVERLAP] = slugs.WRITES_OVERLAP
    if goes_through_views_of_toggled(tape, traversal):
        found[Kind.VIEW_WRITTEN] = slugs.VIEWS_RESTRICTED
    edges = map(reference.tape.edge, call.inputs or ())
    if (reference.views.rebased | _within_regions(tape, traversal)).intersection(edges):
        found[Kind.UNUSED_INPUT] = slugs.FUNCTIONAL_UNUSED_RAISES
    if any(is_invalidated(tape, ref) for ref in (*call.roots, *(call.inputs or ()))):
        found[Kind.VIEW_WRITTEN] = slugs.VIEWS_RESTRICTED
    for _, hook in tape.hooks_on(traversal.may_fire | traversal.must_fire):
        if hook.effect in FAILING_HOOKS:
            kind, rule = FAILING_HOOKS[hook.effect]
            found[kind] = rule
    if any(recomputes_changed_inputs(tape, node) for node in nodes):
        # the recomputed ops may refuse the changed inputs
        found[Kind.RECOMPUTED] = found[Kind.UNKNOWN] = slugs.WRITES_ERROR_OR_RECORDED
    return found


def _within_regions(tape: TapeState, traversal: Traversal) -> frozenset[GradientEdge]:
    """Returns the edges inside compiled or checkpointed functions (regions) that are recorded as one node: inputs there
    get no gradient.
    """
    return traversal.may_reach if tape.reference.traits.one_node else frozenset()


def _is_cut_off(tape: TapeState, node: Node) -> bool:
    """Whether a node was recorded from a value whose graph a call has ended since."""
    ended = tape.reference.tape.ended
    return bool(ended) and any(ended.get(edge, -1) > node.at for edge in node.args)


def _changes_what_is_saved(tape: TapeState, traversal: Traversal) -> bool:
    """Whether a call adds to a gradient in a storage that a node of its traversal may have saved."""
    storages = tape.reference.storages
    held = [ref for r in traversal.must_accumulate if (ref := tape.reference.grads.tensors.get(r)) is not None]
    visible = [r for r in held if not isinstance(r, GradTensor) or len(storages.aliases(r)) > 1]
    added = set(map(storages.storage, visible))
    return bool(added) and any(added & set(kept_storages(node)) for node in traversal.all_nodes)


def _may_overlap(tape: TapeState, leaf: Ref) -> bool:
    """Whether a leaf was assigned a gradient that may have internal overlap."""
    reference, storages = tape.reference, tape.reference.storages
    held = reference.grads.tensors.get(leaf)
    if held is None or isinstance(held, GradTensor):
        return False
    storage = storages.storage(held)
    if storage not in storages.strides_observed and reference.views.is_gradient(storage):
        return True
    return storages.overlaps_itself(held)
