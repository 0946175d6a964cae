"""Checks of memory: a view shares its base's memory, and other values and gradients have separate memory."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs import slugs
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    Detach,
    DetachInPlace,
    Grad,
    InPlace,
    Leaf,
    ReadGrad,
    Ref,
    Step,
)
from autograd_conformance.programs.observations import Gradient, StepObservation, Tensor
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.observed import MovedMemory, ValueMemory
from autograd_conformance.rules.violations.shared import OwnMemory, SharedMemory
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.tape.graph import Traversal

OWN, SHARES = slugs.VIEWS_OWN_MEMORY, slugs.VIEWS_SHARES


def judge_made(
    judging: Judging, at: int, step: Leaf | Apply | Detach | ReadGrad, ref: Ref, tensor: Tensor
) -> Violation | None:
    """Notes the memory of a new value; returns the violation if it is a view with separate memory, or if it is no view
    and shares memory with an existing value.
    """
    memory = tensor.memory
    if memory is None:
        return None
    owner = judging.owners.setdefault(memory, ref)
    judging.memories[ref] = memory
    if isinstance(step, Apply):
        aliases, args = row_of(step.op).aliases, step.args
    elif isinstance(step, Detach):
        aliases, args = Certainty.ALWAYS, (step.source,)
    elif isinstance(step, Leaf):
        aliases, args = Certainty.NEVER, ()
    else:
        return None  # a gradient that was read has the memory of its leaf's `.grad`
    if owner == ref and aliases is not Certainty.ALWAYS:
        return None
    sources = [judging.memories.get(r) for r in args]
    if owner == ref and None not in sources:
        return judging.differs(SHARES, at, ref, OwnMemory(), SharedMemory(), step)
    if owner.at == at or (aliases is not Certainty.NEVER and not {memory, None}.isdisjoint(sources)):
        return None  # the memory of an unspecified source was not observed
    given = [r for r in args if judging.memories.get(r) == memory]
    named = ValueMemory(names(judging.program)[given[0] if given else owner])
    difference = SharedMemory() if given and len(set(args)) == 1 else named
    return judging.differs(OWN, at, ref, difference, OwnMemory(), step)


def judge_region_result(judging: Judging, at: int, step: Apply | Detach, ref: Ref, tensor: Tensor) -> Violation | None:
    """Notes the memory of a result of a region (instructions that ran as one compiled or checkpointed function).
    Returns the violation if the result does not share memory with exactly those values that use its storage, including
    values inside the region that were not observed.
    """
    memory, storages = tensor.memory, judging.reference.storages
    if memory is None:
        return None
    owner = judging.owners.setdefault(memory, ref)
    judging.memories[ref] = memory
    if not (_is_documented(judging, ref) and _is_documented(judging, owner)):
        return None
    others = {judging.memories.get(r) for r in storages.aliases(ref) if r != ref and _is_documented(judging, r)}
    if storages.storage(owner) != storages.storage(ref) and memory not in others:  # two gradients may be one tensor
        difference = ValueMemory(names(judging.program)[owner])
        return judging.differs(OWN, at, ref, difference, OwnMemory(), step)
    if others - {None, memory}:
        return judging.differs(SHARES, at, ref, OwnMemory(), SharedMemory(), step)
    return None


def _is_documented(judging: Judging, ref: Ref) -> bool:
    """Whether the storage of a value is documented: no op that it derives from may return either a view or a copy."""
    storages = judging.reference.storages
    if ref.at < 0 or ref in storages.unspecified:
        return False
    step, derived = judging.program[ref.at], storages.derived.get(ref)
    if isinstance(step, Apply) and row_of(step.op).aliases is Certainty.MAYBE:
        return False
    return derived is None or _is_documented(judging, derived.source)


def judge_returned(
    judging: Judging, at: int, step: Grad, out: Ref, tensor: Tensor, traversal: Traversal
) -> Violation | None:
    """Notes the memory of a returned gradient; returns the violation if it is that of a value, or of a gradient held
    before the call. Two results of one call may be one tensor. A gradient that the call itself replaces does not count.
    """
    memory = tensor.memory
    if memory is None:
        return None
    owner = judging.owners.setdefault(memory, out)
    judging.memories[out] = memory
    if owner.at != at:
        return judging.differs(OWN, at, out, ValueMemory(names(judging.program)[owner]), OwnMemory(), step)
    replaced = traversal.must_accumulate | traversal.may_accumulate
    for leaf, held in judging.tape.grads.items():
        if held is not None and held.memory == memory and leaf not in replaced:
            difference = ValueMemory(names(judging.program)[leaf], of_gradient=True)
            return judging.differs(OWN, at, out, difference, OwnMemory(), step)
    return None


def check_new_gradients(judging: Judging, at: int, call: Backward, observed: StepObservation) -> Violation | None:
    """Returns the violation if a gradient that a call stored uses the memory of a value of the program."""
    owners = judging.owners
    for leaf, gradient in observed.gradients.items():
        if gradient is None or gradient.memory not in owners or _is_old(judging.tape.grads.get(leaf), gradient):
            continue
        difference = ValueMemory(names(judging.program)[owners[gradient.memory]])
        violation = judging.differs(OWN, at, leaf, difference, OwnMemory(), call)
        if violation:
            return violation
    return None


def _is_old(old: Gradient | None, new: Gradient) -> bool:
    """Whether a gradient is in the same memory as before the call: it may have been assigned, or read."""
    return old is not None and old.memory == new.memory


def judge_moved(
    judging: Judging, at: int, step: Apply | InPlace | DetachInPlace | Step, observed: StepObservation
) -> Violation | None:
    """Notes to which memory a module, an in-place change, a detach in place or an optimizer step moved values; returns
    the violation if values that shared memory no longer do.
    """
    memories = judging.memories
    moved = [
        r for r, t in observed.values.items() if r in memories and t.memory is not None and t.memory != memories[r]
    ]
    if not moved:
        return None
    memories.update((r, t.memory) for r, t in observed.values.items() if r in memories and t.memory is not None)
    _recompute_owners(judging)
    storages = judging.reference.storages
    for ref in moved:
        others = {r for r in storages.aliases(ref) if r in observed.values and r in memories} - storages.unspecified
        left = sorted(r for r in others if ref in others and memories[r] != memories[ref])
        if left:
            difference = MovedMemory(names(judging.program)[left[0]])
            return judging.differs(SHARES, at, ref, difference, SharedMemory(), step)
    return None


def forget(judging: Judging, values: Iterable[Ref]) -> None:
    """Forgets the memory of deleted values, which may be reused."""
    for ref in values:
        judging.memories.pop(ref, None)
    _recompute_owners(judging)


def _recompute_owners(judging: Judging) -> None:
    """Recomputes which value is the first in each memory."""
    judging.owners.clear()
    for ref, memory in judging.memories.items():
        judging.owners.setdefault(memory, ref)
