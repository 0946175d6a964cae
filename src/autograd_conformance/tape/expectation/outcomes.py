"""The allowed outcomes of each instruction, and the rules that it exercises."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import assert_never

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.optimizers import IMPLEMENTATION
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    Clip,
    DefaultDtype,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Modes,
    Optimizer,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
    is_recorded,
)
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.operands import clearing_optimizer, operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.computation.memory.storage import Storages
from autograd_conformance.tape.expectation.backward_calls import expectation_of_call
from autograd_conformance.tape.graph import Expectation
from autograd_conformance.tape.state import TapeState
from autograd_conformance.tape.versions import is_invalidated

ELEMENTWISE = ("add_", "sub_", "mul_", "div_", "copy_")
"""In-place ops that may read their target as an operand, too, because each element depends only on the same element of
it.
"""

LEGAL = slugs.ERRORS_LEGAL_RETURNS


def expectation_of(tape: TapeState, step: Instruction, modes: Modes) -> Expectation:
    """Returns the outcomes that the rules allow for an instruction."""
    if isinstance(step, (Backward, Grad)):
        return expectation_of_call(tape, step, modes)
    restricted = tape.reference.storages.restricted
    hit = restricted and any(is_invalidated(tape, ref) for ref in operands(step))
    invalidated = {Kind.VIEW_WRITTEN: slugs.VIEWS_RESTRICTED} if hit else {}
    match step:
        case Apply():
            return Expectation(raises=invalidated, exercises=_rules_of_op(tape, step, modes))
        case Detach():
            return Expectation(raises=invalidated, exercises=(slugs.DETACH_VALUES, slugs.VIEWS_SHARES, LEGAL))
        case ZeroGrad(leaves, set_to_none):
            rule = slugs.ACCUMULATION_ZERO_TO_NONE if set_to_none else slugs.ACCUMULATION_ZERO_TO_ZEROS
            by_optimizer = (slugs.OPTIMIZERS_CLEARS,) if clearing_optimizer(step, tape.reference.steps) else ()
            # writing zeros into a gradient that is itself a leaf is a write to a leaf
            written = not set_to_none and any(map(partial(_holds_leaf, tape), leaves))
            raises = {Kind.LEAF_WRITTEN: slugs.WRITES_LEAF_RAISES} if written else {}
            return Expectation(raises=raises, exercises=(rule, *by_optimizer) if tape.holds_any(leaves) else ())
        case ReadGrad(leaf):
            none_held = {} if tape.grads.get(leaf) is not None else {Kind.UNKNOWN: LEGAL}
            held = tape.reference.grads.tensors.get(leaf)
            return Expectation(raises=none_held, unspecified=held in tape.reference.storages.views_of_toggled)
        case AssignGrad():
            return _assigning(tape, step)
        case Step() | Optimizer():
            return _optimizing(tape, step)
        case Clip(leaves):
            return Expectation(exercises=(slugs.OPTIMIZERS_CLIPS,) if tape.holds_any(leaves) else ())
        case InPlace():
            return _writing(tape, step, modes)
        case DetachInPlace(target):
            return _detaching(tape, target)
        case SetRequiresGrad(target, on):
            if not on and not tape.reference.tape.is_leaf(target):
                return Expectation(None, {Kind.NOT_A_LEAF: slugs.MODES_TOGGLE_REFUSED}, (slugs.MODES_TOGGLE_REFUSED,))
            return Expectation(exercises=(LEGAL,))
        case RetainGrad(target):
            if not tape.reference.requires_grad[target]:
                return Expectation(
                    None, {Kind.RETAIN_NO_GRAD: slugs.HOOKS_RETAIN_REFUSED}, (slugs.HOOKS_RETAIN_REFUSED,)
                )
            return Expectation(raises=invalidated, exercises=(LEGAL,))
        case Hook():
            return _hooking(tape, step, invalidated)
        case Leaf() | RemoveHook() | Delete() | DefaultDtype():
            return Expectation()
        case _:
            assert_never(step)


def _rules_of_op(tape: TapeState, step: Apply, modes: Modes) -> tuple[Slug, ...]:
    rules = [slugs.GRADIENTS_FORWARD, slugs.GRADIENTS_REQUIRES_GRAD, LEGAL]
    if step.op in RANDOM_OPS:
        rules.append(slugs.NETWORKS_RANDOM)
    requires = any(tape.reference.requires_grad.get(r, False) for r in step.args)
    if modes and requires:
        rules.append(slugs.MODES_RECORDED if is_recorded(modes) else slugs.MODES_NO_GRAD_RESULT)
    elif requires and tape.unrecorded:
        rules.append(slugs.MODES_RESTORED)
    aliases = row_of(step.op).aliases
    if aliases is not Certainty.MAYBE:
        rules.append(slugs.VIEWS_SHARES if aliases is Certainty.ALWAYS else slugs.VIEWS_OWN_MEMORY)
    return tuple(rules)


def _optimizing(tape: TapeState, step: Step | Optimizer) -> Expectation:
    reference, leaves = tape.reference, step.leaves
    raises: dict[Kind, Slug] = {}
    if not all(map(reference.tape.is_leaf, leaves)):  # since a recorded write; frameworks check it at different times
        raises[Kind.NOT_A_LEAF] = LEGAL
    if isinstance(step, Optimizer) or not tape.holds_any(leaves):
        return Expectation(raises=raises, exercises=(LEGAL,))
    rules = [slugs.OPTIMIZERS_FORMULA, slugs.OPTIMIZERS_KEEPS_GRADIENTS, slugs.WRITES_NOTHING_ELSE]
    holding = [leaf for leaf in leaves if tape.grads.get(leaf) is not None]
    if len(holding) < len(leaves):
        rules.append(slugs.OPTIMIZERS_SKIPS)
    if step.groups:
        rules.append(slugs.OPTIMIZERS_GROUPS)
    if any(key in IMPLEMENTATION for key, _ in step.settings):
        rules.append(slugs.OPTIMIZERS_VARIANTS)
    if any(any(tape.moved.get((step, leaf), ())) for leaf in holding):
        rules.append(slugs.OPTIMIZERS_REMEMBERS)
    overlap = any(map(reference.storages.overlaps_itself, leaves))
    if overlap:
        raises[Kind.OVERLAP] = slugs.WRITES_OVERLAP
    return Expectation(raises=raises, exercises=tuple(rules), unspecified=overlap)


def _assigning(tape: TapeState, step: AssignGrad) -> Expectation:
    if step.value is not None:
        values = tape.reference.values
        if np.shape(values[step.value]) != np.shape(values[step.leaf]):
            rule = slugs.ACCUMULATION_ASSIGNED_FORM
            return Expectation(None, {Kind.GRADIENT_FORM: rule}, (rule,))
        dtypes = {tape.leaves[r].value.dtype for r in (step.leaf, step.value) if r in tape.leaves}
        own = step.leaf in tape.reference.tape.same_objects([step.value])
        if own or len(dtypes) > 1:  # the documentation does not say whether this is refused
            refusable = {Kind.GRADIENT_FORM: slugs.ACCUMULATION_ASSIGNED_FORM}
            return Expectation(raises=refusable, exercises=(slugs.ACCUMULATION_ASSIGNED,))
    return Expectation(exercises=(slugs.ACCUMULATION_ASSIGNED,))


def _writing(tape: TapeState, step: InPlace, modes: Modes) -> Expectation:
    reference, storages, target = tape.reference, tape.reference.storages, step.target
    recorded = is_recorded(modes) and any(reference.requires_grad[r] for r in (target, *step.args))
    overlap = storages.overlaps_itself(target) or any(_reads_itself(storages, step, r) for r in step.args)
    raises = {Kind.OVERLAP: slugs.WRITES_OVERLAP} if overlap else {}
    unspecified = overlap or storages.storage(target) in storages.overlapping
    if reference.views.is_gradient(storages.storage(target)):
        raises |= _writing_gradient(tape, target, recorded)
        unspecified = unspecified or (Kind.OVERLAP in raises and reference.observing)
    family = storages.view_family(target)
    if any(is_invalidated(tape, ref) for ref in (target, *step.args)):
        raises[Kind.VIEW_WRITTEN] = slugs.VIEWS_RESTRICTED
    if recorded and any(r in storages.restricted for r in (target, *family)):
        raises[Kind.VIEW_WRITTEN] = slugs.VIEWS_RESTRICTED
        unspecified = True
    if recorded and any(r in tape.unrecorded and reference.views.may_be_view(r) for r in family):
        raises[Kind.VIEW_WRITTEN] = slugs.VIEWS_RESTRICTED  # an op's result may be a view of a hidden tensor
    if recorded and any(reference.requires_grad[r] and reference.tape.is_leaf(r) for r in _written(tape, target)):
        raises[Kind.LEAF_WRITTEN] = slugs.WRITES_LEAF_RAISES
        return Expectation(None, raises, (slugs.WRITES_LEAF_RAISES, slugs.WRITES_REFUSED_KEEPS_VALUES))
    exercises = [slugs.WRITES_VALUE, slugs.WRITES_NOTHING_ELSE]
    if len(storages.aliases(target)) > 1:
        exercises.append(slugs.WRITES_ALIASES)
    if recorded:
        exercises.append(slugs.WRITES_REQUIRES_GRAD)
    elif not is_recorded(modes) and reference.requires_grad[target]:
        exercises.append(slugs.MODES_UNRECORDED_WRITE)
    return Expectation(LEGAL, raises, tuple(exercises), unspecified=unspecified)


def _written(tape: TapeState, target: Ref) -> Iterator[Ref]:
    """Yields the values that must not be leaves where a recorded write to a target returns: the target, its base, and
    what it is a view of, if it requires grad as a part of that.
    """
    storages = tape.reference.storages
    yield target
    yield storages.base(target)
    if tape.reference.requires_grad[target] and tape.reference.tape.is_leaf(storages.base(target)):
        while target in storages.bases:
            target = storages.derived[target].source
            yield target


def _writing_gradient(tape: TapeState, target: Ref, recorded: bool) -> dict[Kind, Slug]:
    """Returns the errors that a write may raise because its target is a gradient that a call made."""
    storages, storage = tape.reference.storages, tape.reference.storages.storage(target)
    raises = {Kind.VIEW_WRITTEN: slugs.VIEWS_RESTRICTED}  # it may be a view that was made without recording,
    if recorded and storage in storages.versions:
        raises[Kind.LEAF_WRITTEN] = slugs.VIEWS_RESTRICTED  # whose history PyTorch does not rebuild,
    if storage not in storages.strides_observed:
        raises[Kind.OVERLAP] = slugs.WRITES_OVERLAP  # or have internal overlap
    return raises


def _holds_leaf(tape: TapeState, leaf: Ref) -> bool:
    """Whether the gradient that a leaf holds was itself made a leaf."""
    held = tape.reference.grads.tensors.get(leaf)
    return held is not None and tape.reference.requires_grad[held] and tape.reference.tape.is_leaf(held)


def _reads_itself(storages: Storages, step: InPlace, source: Ref) -> bool:
    """Whether an in-place op may read, through the operand `source`, other elements of its target than the one that it
    writes.
    """
    if storages.storage(source) != storages.storage(step.target):
        return False
    return step.op not in ELEMENTWISE or storages.overlaps_partly(source, step.target)


def _detaching(tape: TapeState, target: Ref) -> Expectation:
    storages = tape.reference.storages
    if target in storages.bases:
        rule = slugs.DETACH_VIEW_RAISES
        if _is_read_gradient(tape, target) or tape.reference.views.is_gradient(target):  # it may be the other tensor
            return Expectation(raises={Kind.VIEW_DETACHED: rule}, unspecified=True)
        if storages.bases[target] in tape.reference.unobserved:  # a region returned only the view
            return Expectation(raises={Kind.VIEW_DETACHED: rule}, unspecified=True)
        return Expectation(None, {Kind.VIEW_DETACHED: rule}, (rule,))
    hidden = {} if _is_plain(tape, target) else {Kind.VIEW_DETACHED: slugs.DETACH_VIEW_RAISES}
    return Expectation(raises=hidden, exercises=(slugs.DETACH_IN_PLACE,))


def _is_read_gradient(tape: TapeState, target: Ref) -> bool:
    """Whether a value is a `.grad` that an instruction read."""
    return target.at in range(len(tape.reference.steps)) and isinstance(tape.reference.steps[target.at], ReadGrad)


def _is_plain(tape: TapeState, target: Ref) -> bool:
    """Whether a value is never a view. Some ops may return a view of a tensor that is not visible to the program."""
    reference = tape.reference
    return isinstance(reference.steps[target.at], (Leaf, Detach, Apply)) and not reference.views.may_be_view(target)


def _hooking(tape: TapeState, step: Hook, invalidated: dict[Kind, Slug]) -> Expectation:
    reference, rule = tape.reference, slugs.HOOKS_REFUSED
    if not reference.requires_grad[step.target]:
        return Expectation(None, {Kind.HOOK_NO_GRAD: rule}, (rule,))
    if step.accumulated and not reference.tape.is_leaf(step.target):
        return Expectation(None, {Kind.NOT_A_LEAF: rule, Kind.HOOK_NO_GRAD: rule}, (rule,))
    return Expectation(raises=invalidated, exercises=(LEGAL,))
