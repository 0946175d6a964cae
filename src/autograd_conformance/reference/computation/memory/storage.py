"""Storages: the memory that values share, and the in-place writes to it.

A storage is named by the value that was made with it; views and detached values are its aliases. The op table says
which ops return views; where that is the framework's choice, the observation decides. Views that a framework tracks
form a view family with their base. A recorded write to one member of a family becomes part of the history of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from autograd_conformance.programs.language import (
    Apply,
    Attrs,
    Backward,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    InPlace,
    Instruction,
    Ref,
)
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.derivatives import Array, forward_of

READING = (Apply, Detach, Grad, Delete)
"""Instructions that do not change their operands."""


@dataclass(frozen=True, slots=True)
class Derived:
    """Says how a value was made from the value whose storage it uses."""

    source: Ref
    """The value whose storage the derived value uses."""
    op: str | None = None
    """The view op that made the value; None if the value has the same elements as its source."""
    attrs: Attrs = ()
    """The keywords of the view op, such as ``dim``."""
    args: tuple[Ref, ...] = ()
    """The operands of the view op, including the source."""
    output: int = 0
    """The position of the derived value among the results of the view op."""


@dataclass(slots=True, eq=False)
class Storages:
    """The memory of all values so far: storages, views, versions and overlaps."""

    values: dict[Ref, Array]
    """The current elements of every value."""
    derived: dict[Ref, Derived] = field(default_factory=dict)
    """For each value without a separate storage, how it was derived."""
    storage_of_view: dict[Ref, Ref] = field(default_factory=dict)
    """For each value without a separate storage, the storage that it uses."""
    alias_lists: dict[Ref, list[Ref]] = field(default_factory=dict)
    """For each storage that several values use, all of these values; the one that names the storage is first."""
    versions: dict[Ref, int] = field(default_factory=dict)
    """For each storage that was written to in place, the number of the last instruction that wrote to it."""
    bases: dict[Ref, Ref] = field(default_factory=dict)
    """The base of each view."""
    views_of: dict[Ref, list[Ref]] = field(default_factory=dict)
    """The views of each base, oldest first."""
    restricted: set[Ref] = field(default_factory=set)
    """Views for which frameworks may raise an error: made under no_grad, by an op with several results, or from such a
    view. A recorded write to one may be refused, and so may its use after its storage was written to."""
    views_of_toggled: set[Ref] = field(default_factory=set)
    """Values that share a view family with a value whose `requires_grad` or history was changed; the rules do not say
    what happens to such values."""
    deleted: set[Ref] = field(default_factory=set)
    """Values that the program has deleted, and gradient tensors that are no longer a `.grad`."""
    unspecified: set[Ref] = field(default_factory=set)
    """Values whose elements or memory the rules leave unspecified."""
    outside_domains: set[Ref] = field(default_factory=set)
    """The unspecified values of which only the elements are unspecified: an op computed them outside its domain, or
    they were computed from such values."""
    overlapping: dict[Ref, set[Ref]] = field(default_factory=dict)
    """For each storage, the other storages that were observed to use the same memory although the op table does not say
    so."""
    may_overlap: dict[Ref, set[Ref]] = field(default_factory=dict)
    """For each storage, the other storages that may use the same memory: the framework may return a view or a copy, and
    does not say which."""
    ids: dict[Ref, int] = field(default_factory=dict)
    """For each storage, the number that the framework reported for its memory, as long as some value uses it."""
    strides_observed: set[Ref] = field(default_factory=set)
    """Storages whose strides were observed."""
    internal_overlap: set[Ref] = field(default_factory=set)
    """Storages in which two elements of a value may have the same place in memory, according to the observed
    strides."""
    documented: bool = True
    """Whether the framework says which values share memory. If it does not, a write leaves the elements of the other
    values of the storage unspecified.
    """
    _offsets: dict[Ref, Array] = field(default_factory=dict)

    # -- sharing ------------------------------------------------------------------------------------------------------

    def storage(self, ref: Ref) -> Ref:
        """Returns the storage that a value uses."""
        return self.storage_of_view.get(ref, ref)

    def add_alias(self, ref: Ref, derived: Derived) -> None:
        """Adds a value that shares the storage of its source, such as a detached value."""
        storage = self.storage(derived.source)
        self.derived[ref] = derived
        self.storage_of_view[ref] = storage
        self.alias_lists.setdefault(storage, [storage]).append(ref)

    def add_view(self, ref: Ref, derived: Derived, restricted: bool) -> None:
        """Adds a value that is a view, and so belongs to the view family of its source. `restricted` says that
        frameworks may refuse recorded writes to the view.
        """
        self.add_alias(ref, derived)
        base = self.base(derived.source)
        self.bases[ref] = base
        self.views_of.setdefault(base, []).append(ref)
        if restricted or derived.source in self.restricted:
            self.restricted.add(ref)
        if derived.source in self.views_of_toggled:
            self.views_of_toggled.add(ref)

    def base(self, ref: Ref) -> Ref:
        """Returns the base of a value's view family; the value itself unless it is a view."""
        return self.bases.get(ref, ref)

    def view_family(self, ref: Ref) -> list[Ref]:
        """Returns a value's view family: the base and all its views, including the value."""
        base = self.base(ref)
        return [base, *self.views_of.get(base, ())]

    def aliases(self, ref: Ref) -> list[Ref]:
        """Returns all values that use the same storage, including the value."""
        storage = self.storage(ref)
        return self.alias_lists.get(storage, [storage])

    def add_possible_overlap(self, ref: Ref, others: Iterable[Ref]) -> None:
        """Records that a new value may share memory with each of the others."""
        storage = self.storage(ref)
        for other in map(self.storage, others):
            self.may_overlap.setdefault(storage, set()).add(other)
            self.may_overlap.setdefault(other, set()).add(storage)

    def possible_overlaps(self, ref: Ref) -> set[Ref]:
        """Returns the other storages that may use the memory of a value, directly or through storages between them."""
        own = self.storage(ref)
        found, new = {own}, {own}
        while new:
            new = {other for storage in new for other in self.may_overlap.get(storage, ())} - found
            found |= new
        return found - {own}

    def record_memory(self, ref: Ref, number: int) -> None:
        """Records the observed memory of a new value, as a number; storages with the same number overlap."""
        storage = self.storage(ref)
        for other, known in self.ids.items():
            if known == number and other != storage:
                self.overlapping.setdefault(storage, set()).add(other)
                self.overlapping.setdefault(other, set()).add(storage)
        self.ids[storage] = number

    def note_move(self, ref: Ref, number: int | None) -> None:
        """Notes where a value that was recorded is now; other values may use its former memory."""
        storage = self.storage(ref)
        if number is not None and storage in self.ids:
            self.ids[storage] = number

    def record_strides(self, ref: Ref, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> None:
        """Records the observed strides of a new value that has a separate storage, and whether its elements may
        overlap.
        """
        if strides is None or ref in self.storage_of_view:
            return
        self.strides_observed.add(ref)
        if _has_internal_overlap(shape, strides):
            self.internal_overlap.add(ref)

    def forget(self, refs: Iterable[Ref]) -> None:
        """Marks values as deleted: memory that no other value uses may be used again."""
        self.deleted.update(refs)
        for storage in {self.storage(ref) for ref in refs}:
            if self.deleted.issuperset(self.alias_lists.get(storage, [storage])):
                self.ids.pop(storage, None)

    def overwrite(self, at: int, ref: Ref, value: Array) -> None:
        """Gives a value, and so all values that share its storage, new elements, by instruction `at`."""
        storage = self.storage(ref)
        self.versions[storage] = at
        possible = self.possible_overlaps(ref)
        for other in self.overlapping.get(storage, set()) | possible:
            self.unspecified.update(self.aliases(other))
        self.versions.update(dict.fromkeys(possible, at))
        aliases = self.aliases(ref)
        if len(aliases) == 1 or not self.documented:
            self.values[ref] = value
            self.unspecified.update(alias for alias in aliases if alias != ref)
            return
        content = np.array(self.values[storage], dtype=np.float64).ravel()
        content[self.offsets(ref).ravel()] = np.ravel(value)
        for alias in aliases:
            self.values[alias] = content[self.offsets(alias)]

    # -- offsets -----------------------------------------------------------------------------------------------------

    def offsets(self, ref: Ref) -> Array:
        """Returns the positions of a value's elements in its storage, as an array of the value's shape."""
        if ref not in self._offsets:
            derived = self.derived.get(ref)
            if derived is None:
                shape = np.shape(self.values[ref])
                found = np.arange(int(np.prod(shape))).reshape(shape)
            elif derived.op is None:
                found = self.offsets(derived.source)
            else:
                found = self._viewed(derived)
            self._offsets[ref] = found
        return self._offsets[ref]

    def _viewed(self, derived: Derived) -> Array:
        operands = [
            self.offsets(r).astype(np.float64) if r == derived.source else np.zeros(np.shape(self.values[r]))
            for r in derived.args
        ]
        assert derived.op is not None
        made = forward_of(derived.op, derived.attrs, tuple([x.shape for x in operands]))(*operands)
        return made[derived.output].astype(int)

    def offsets_in(self, ref: Ref, base: Ref) -> Array:
        """Returns the positions of a view's elements among those of its base, counted in row-major order, as an array
        of the view's shape.
        """
        there, wanted = self.offsets(base).ravel(), self.offsets(ref)
        order = np.argsort(there, kind="stable")
        return order[np.searchsorted(there, wanted.ravel(), sorter=order)].reshape(wanted.shape)

    def overlaps_itself(self, ref: Ref) -> bool:
        """Whether two elements of a value have the same place in memory (internal overlap)."""
        if self.storage(ref) in self.internal_overlap:
            return True
        return ref in self.derived and len(np.unique(self.offsets(ref))) < self.offsets(ref).size

    def overlaps_partly(self, ref: Ref, other: Ref) -> bool:
        """Whether two values share elements without consisting of the same elements in the same order."""
        if self.storage(ref) != self.storage(other):
            return False
        one, two = self.offsets(ref), self.offsets(other)
        return bool(np.intersect1d(one, two).size) and not np.array_equal(one, two)

    def mark_outside_domain(self, refs: Iterable[Ref]) -> None:
        """Marks new values as computed where the op is not smooth: their elements, and gradients that flow through
        them, are unspecified.
        """
        found = tuple(refs)
        self.unspecified.update(found)
        self.outside_domains.update(found)

    def uses_only_elements(self, step: Instruction) -> bool:
        """Whether the elements of values are the only unspecified thing that an instruction uses: no unspecified
        memory, and no value in `views_of_toggled`.
        """
        used = operands(step)
        if self.overlapping or self.views_of_toggled.intersection(used):
            return False
        return self.outside_domains.issuperset(self.unspecified.intersection(used))

    def uses_unspecified(self, step: Instruction) -> bool:
        """Whether an instruction uses an unspecified value, changes one whose storage was observed to overlap another,
        or writes in place to one that may be a view or have views.
        """
        if self.overlapping and not isinstance(step, READING):
            changed = step.inputs or () if isinstance(step, Backward) else operands(step)
            if any(self.storage(r) in self.overlapping for r in changed):
                return True
        if isinstance(step, InPlace | DetachInPlace) and self.storage(step.target) in self.may_overlap:
            return True
        if not self.unspecified and not self.views_of_toggled:
            return False
        return any(r in self.unspecified or r in self.views_of_toggled for r in operands(step))


def _has_internal_overlap(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether a tensor of this shape may have two elements at the same position, given its strides."""
    reach = 1
    for stride, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += stride * (n - 1)
    return False
