"""Cases in which the rules do not specify the gradients of a backward call, so that they are not judged."""

from __future__ import annotations

from autograd_conformance.programs.language import BackwardCall, Grad
from autograd_conformance.reference.domains import is_finite_call
from autograd_conformance.tape.graph import Traversal
from autograd_conformance.tape.state import TapeState
from autograd_conformance.tape.versions import recomputes_changed_inputs


def is_unspecified(tape: TapeState, call: BackwardCall, traversal: Traversal) -> bool:
    """Whether the rules do not specify the gradients of a call."""
    return (
        _adds_to_one_gradient_twice(tape, traversal)
        or (bool(traversal.all_nodes) and not is_finite_call(call))
        or goes_through_views_of_toggled(tape, traversal)
        or (isinstance(call, Grad) and _changes_inputs_midway(tape, call, traversal))
        or (call.create_graph and _differentiates_toggled(tape, traversal))
        or _may_replace_zeros(tape, call, traversal)
        or _depends_on_choices(tape, call, traversal)
        or any(recomputes_changed_inputs(tape, node) for node in traversal.all_nodes)
    )


def _adds_to_one_gradient_twice(tape: TapeState, traversal: Traversal) -> bool:
    """Whether several values hold one gradient object to which a call adds, or gradients that share memory if the
    framework does not report which object it is.
    """
    objects = tape.reference.tape.same_object
    held = {
        objects.get(r, r): gradient for r in traversal.must_accumulate if (gradient := tape.grads.get(r)) is not None
    }
    found = [(g.identity, None if g.identity is not None else g.memory) for g in held.values() if g.value.size]
    known = [each for each in found if each != (None, None)]
    return len(set(known)) < len(known)


def goes_through_views_of_toggled(tape: TapeState, traversal: Traversal) -> bool:
    """Whether a call goes through uses of views of a tensor that has begun or ceased to require grad since it was
    viewed.
    """
    views = tape.reference.storages.views_of_toggled
    return bool(views) and any(views.intersection(node.args) for node in traversal.all_nodes)


def _changes_inputs_midway(tape: TapeState, call: Grad, traversal: Traversal) -> bool:
    """Whether an input of a call that returns gradients has a hook that changes its gradient, and is on the path to
    another input, so that it is unspecified whether the returned gradients show the change.
    """
    passed = {out for node in traversal.all_nodes for out in node.entry.outs}
    inputs = passed.intersection(map(tape.reference.tape.edge, call.inputs))
    return any(hook.effect != "observe" for _, hook in tape.hooks_on(inputs))


def _differentiates_toggled(tape: TapeState, traversal: Traversal) -> bool:
    """Whether a call goes through uses of leaves that have begun or ceased to require grad since: the derivative that
    it records may depend on the current flag.
    """
    toggled = tape.reference.flags.toggled
    return any(toggled.intersection(node.args) for node in traversal.nodes)


def _may_replace_zeros(tape: TapeState, call: BackwardCall, traversal: Traversal) -> bool:
    """Whether a hook replaces a gradient that is zero: such a gradient may stay undefined, and then the hook does not
    run.
    """
    hooks = tape.hooks_on(traversal.must_fire | traversal.may_fire)
    return bool(tape.may_skip(call, [(handle, hook) for handle, hook in hooks if hook.effect == "replace"]))


def _depends_on_choices(tape: TapeState, call: BackwardCall, traversal: Traversal) -> bool:
    """Whether a gradient that is read, or a hook that changes one, is on an edge that only some implementations use: an
    edge from which a derivative may have been computed, or one of a view with a new history.
    """
    reference = tape.reference
    looked_at = (*(call.inputs or ()), *reference.calls.retained, *reference.calls.captured_inputs)
    if (traversal.may_reach | reference.views.rebased).intersection(map(reference.tape.edge, looked_at)):
        return True
    choices = reference.views.rebased & (traversal.must_fire | traversal.may_fire) | traversal.may_reach
    return any(hook.effect != "observe" for _, hook in tape.hooks_on(choices))
