"""Contributions of backward calls to gradients: rounding bounds, and comparison with old and new gradients."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from autograd_conformance.programs import slugs
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import AssignGrad, BackwardCall, ReadGrad, Ref
from autograd_conformance.programs.observations import Gradient
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.equality import is_equal
from autograd_conformance.reference.rounding.bounds import Bound, close, gradient_bound
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.tape.expectation.exercises import derived_op
from autograd_conformance.tape.graph import Expectation, Traversal


def values_of(gradients: Mapping[Ref, Gradient | None]) -> dict[Ref, np.ndarray | None]:
    """Returns the gradient of each leaf as a plain array."""
    return {leaf: None if gradient is None else gradient.value for leaf, gradient in gradients.items()}


def value_of(gradient: Gradient | None) -> np.ndarray | None:
    """Returns a gradient as a plain array."""
    return None if gradient is None else gradient.value


def is_unchanged(old: Gradient | None, new: Gradient | None) -> bool:
    """Whether a gradient has the same elements, in the same dtype, as before."""
    if old is None or new is None:
        return old is new
    return old.dtype == new.dtype and is_same(old.value, new.value)


def is_same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Whether two arrays are equal, or both missing."""
    if one is None or other is None:
        return one is other
    return is_equal(one, other)


def shares_gradient_memory(judging: Judging, leaf: Ref) -> bool:
    """Whether a leaf's gradient shares memory with another value's gradient, to which a call may add."""
    return may_share_gradient(judging, leaf, (r for r, g in judging.tape.grads.items() if r != leaf and g is not None))


def may_share_gradient(judging: Judging, leaf: Ref, others: Iterable[Ref]) -> bool:
    """Whether a leaf's gradient shares memory with that of one of the others. If the framework does not report
    memory, it may be so where the program read or assigned both from one memory at some time.
    """
    gradient = judging.tape.grads.get(leaf)
    if gradient is None:
        return False
    if holds_unlocated_gradient(judging, leaf):
        return not _assigned_together(judging, leaf).isdisjoint(others)
    held = map(judging.tape.grads.get, others)
    return any(other is not None and other.memory == gradient.memory for other in held)


def holds_unlocated_gradient(judging: Judging, leaf: Ref) -> bool:
    """Whether the framework does not report the memory of a leaf's gradient."""
    gradient = judging.tape.grads.get(leaf)
    return gradient is not None and gradient.memory is None


def _assigned_together(judging: Judging, leaf: Ref) -> set[Ref]:
    """Returns the values whose `.grad` the program read from the memory of that of `leaf`, or assigned with it."""
    storage, owners = judging.reference.storages.storage, defaultdict[Ref, set[Ref]](set)
    for at, step in enumerate(judging.reference.steps):
        match step:
            case ReadGrad(of):
                owners[storage(Ref(at))].add(of)
            case AssignGrad(of, given) if given is not None:
                owners[storage(given)].add(of)
            case _:
                pass
    return set().union(*(those for those in owners.values() if leaf in those)) - {leaf}


def is_complete(judging: Judging, call: BackwardCall, leaf: Ref, got: Gradient | None, traversal: Traversal) -> bool:
    """Whether a value to which a call may add holds the sum of its old gradient and the call's whole contribution."""
    if leaf not in traversal.must_accumulate | traversal.may_accumulate or got is None:
        return False
    old = judging.tape.added_to(leaf)
    contribution = judging.reference.pullbacks.of(call).get(judging.reference.tape.edge(leaf))
    if contribution is None or got.value.shape != contribution.shape:
        return contribution is None and not got.value.any()
    want = contribution if old is None else old.value + contribution
    if close(got.value, want, judging.precision(got.dtype)):
        return True
    bound = contribution_bound(judging, call, leaf)
    return bound.allows(np.abs(got.value - want), sum_rounding(judging, old, want))


def is_right_without_bound(judging: Judging, got: np.ndarray, want: np.ndarray, dtype: str | None) -> bool:
    """Whether a gradient is right without computing a bound: it is very close, or too large to be compared."""
    precision = judging.precision(dtype)
    return close(got, want, precision) or not np.abs(want).max() < DTYPES[precision].huge


def is_negligible(judging: Judging, call: BackwardCall, leaf: Ref, contribution: np.ndarray) -> bool:
    """Whether a call's contribution to a gradient is zero, or so small that rounding explains it."""
    if not contribution.any():
        return True
    return contribution_bound(judging, call, leaf).allows(np.abs(contribution))


def contribution_bound(judging: Judging, call: BackwardCall, ref: Ref) -> Bound:
    """Returns the rounding bound of a call's contribution to a value's gradient."""
    return gradient_bound(judging.reference, call, judging.reference.tape.edge(ref), judging.dtype)


def sum_rounding(judging: Judging, old: Gradient | None, want: np.ndarray) -> np.ndarray | float:
    """Returns the additional rounding of the sum of a leaf's old gradient and a call's contribution."""
    if old is None:
        return 0.0
    return 2 * DTYPES[judging.precision(old.dtype)].epsilon * (np.abs(old.value) + np.abs(want))


# -- the rule that a wrong gradient breaks ---------------------------------------------------------------------------

SPECIAL = (
    slugs.WRITES_ERROR_OR_RECORDED, slugs.HIGHER_OP, slugs.HIGHER_OP_THIRD, slugs.HIGHER_DIFFERENTIABLE,
    slugs.HOOKS_RESULT, slugs.VIEWS_HISTORY, slugs.WRITES_RECORDED,
)  # fmt: skip
"""Rules about gradients in special circumstances, such as second derivatives or hooks. Of those that a call tests, the
first is the one that a wrong gradient breaks.
"""

MODULES = (slugs.RECURRENT_GRADIENT, slugs.NETWORKS_GRADIENT)
"""Rules about the gradients of the framework's modules, such as a GRU. Of those that a call tests, the first is the one
that a wrong gradient breaks.
"""


def rule_of_gradient(judging: Judging, expectation: Expectation, rule: Slug) -> Slug:
    """Returns the rule that a wrong gradient breaks, chosen by the rules that the call puts to the test; `rule` if none
    of these is special.
    """
    rule, loop = rule_of_module_gradient(judging, expectation, rule), slugs.TRAINING_LOOP
    if rule == slugs.GRADIENTS_GRAPH and loop in expectation.exercises and judging.applies(loop):
        rule = loop
    return next((s for s in SPECIAL if s in expectation.exercises and judging.applies(s)), rule)


def rule_of_module_gradient(judging: Judging, expectation: Expectation, rule: Slug) -> Slug:
    """Returns the rule about the gradients of the modules on a call's way; `rule` if there are no modules."""
    return next((s for s in MODULES if s in expectation.exercises and judging.applies(s)), rule)


def op_of_rule(rule: Slug, traversal: Traversal) -> str | None:
    """Returns the op that causes the violation, if the rule is about single ops; else None."""
    match rule:
        case slugs.GRADIENTS_OP:
            return str(traversal.nodes[0].op) if traversal.alone else None
        case slugs.HIGHER_OP | slugs.HIGHER_OP_THIRD:
            return derived_op(traversal)
    return None


def op_of_call(traversal: Traversal) -> str | None:
    """Returns the only op that a call goes through, or the only op whose derivative it goes through, apart from
    multiplications by a weight; else None.
    """
    return str(traversal.nodes[0].op) if traversal.alone else derived_op(traversal)


def may_hold_any(judging: Judging, ref: Ref) -> bool:
    """Whether no rule says what a value holds: it is no leaf, retains no gradient, and was given none, but an
    instruction that was refused might have changed that.
    """
    receivers = judging.reference.calls.retained | judging.reference.calls.captured_inputs
    is_receiver = judging.reference.tape.is_leaf(ref) or ref in receivers
    return not is_receiver and judging.tape.grads.get(ref) is None
