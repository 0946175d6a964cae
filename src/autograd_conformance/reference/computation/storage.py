"""Who shares memory with whom, and what was written: the part of the reference that knows of in-place changes.

A storage is named by the value that was made with it; views and detached values are its aliases. Which ops give views
follows the catalogue, and where that is the implementation's choice, what was observed. Views that an implementation
tracks form a view family with their base: what is written to one of them, and recorded, becomes part of the history of
all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autograd_conformance.programs.language import Apply, Attrs, Backward, Delete, Detach, Grad, Instruction, Ref
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.derivatives import Array, forward_of

READING = (Apply, Detach, Grad, Delete)
"""Instructions that leave their operands as they are."""


@dataclass(frozen=True, slots=True)
class Derived:
    """How a value was made from the one whose storage it uses."""

    source: Ref
    """The value whose storage it uses."""
    op: str | None = None
    """The view op that made it; None where it has the source's elements as they are."""
    attrs: Attrs = ()
    """The op's keywords."""
    args: tuple[Ref, ...] = ()
    """The op's operands, the source among them."""
    output: int = 0
    """Which of the op's results it is."""


class Storages:
    """What is known of memory so far."""

    def __init__(self, values: Mapping[Ref, Array]) -> None:
        self.values = values
        """What every value is now."""
        self.derived: dict[Ref, Derived] = {}
        """How each value that has no storage of its own was made."""
        self.storage_of_view: dict[Ref, Ref] = {}
        """The storage of each value that has none of its own."""
        self.alias_lists: dict[Ref, list[Ref]] = {}
        """For each storage that several values use, all of them, the one that it is named by first."""
        self.versions: dict[Ref, int] = {}
        """For each storage that was written to, the last instruction that wrote to it."""
        self.bases: dict[Ref, Ref] = {}
        """The base of each view."""
        self.views_of: dict[Ref, list[Ref]] = {}
        """The views of each base, oldest first."""
        self.restricted: set[Ref] = set()
        """Restricted views: made under no_grad, or by an op with several results, or of such a view. A recorded write
        to one may be refused, and so may its use after its storage was written to."""
        self.views_of_toggled: set[Ref] = set()
        """Views whose base's flag or history was changed by itself: nothing says what becomes of them."""
        self.deleted: set[Ref] = set()
        """Values that the program has deleted, and gradients that are no longer held."""
        self.unspecified: set[Ref] = set()
        """Values of which the rules do not say what they are, or which memory they use."""
        self.outside_domains: set[Ref] = set()
        """Those of them whose elements alone are unspecified: an op computed them outside of its domain, or they follow
        from such values."""
        self.overlapping: dict[Ref, set[Ref]] = {}
        """Storages that were seen to use the same memory, against what the catalogue says."""
        self.ids: dict[Ref, int] = {}
        """The number by which each storage's memory was observed, as long as some value uses it."""
        self.strides_observed: set[Ref] = set()
        """Storages whose strides were observed."""
        self.internal_overlap: set[Ref] = set()
        """Those of them in which two elements of one value may be in one place."""
        self._offsets: dict[Ref, Array] = {}

    # -- sharing ------------------------------------------------------------------------------------------------------

    def storage(self, ref: Ref) -> Ref:
        """The storage that a value uses."""
        return self.storage_of_view.get(ref, ref)

    def add_alias(self, ref: Ref, derived: Derived) -> None:
        """A new value uses the storage of the one that it is derived from."""
        storage = self.storage(derived.source)
        self.derived[ref] = derived
        self.storage_of_view[ref] = storage
        self.alias_lists.setdefault(storage, [storage]).append(ref)

    def add_view(self, ref: Ref, derived: Derived, restricted: bool) -> None:
        """A new value is a view, and belongs to the view family of its source."""
        self.add_alias(ref, derived)
        base = self.base(derived.source)
        self.bases[ref] = base
        self.views_of.setdefault(base, []).append(ref)
        if restricted or derived.source in self.restricted:
            self.restricted.add(ref)
        if derived.source in self.views_of_toggled:
            self.views_of_toggled.add(ref)

    def base(self, ref: Ref) -> Ref:
        """The base of a value's view family: the value itself unless it is a view."""
        return self.bases.get(ref, ref)

    def view_family(self, ref: Ref) -> list[Ref]:
        """A value's view family: the base and all its views, the value itself included."""
        base = self.base(ref)
        return [base, *self.views_of.get(base, ())]

    def aliases(self, ref: Ref) -> list[Ref]:
        """All values that use the same storage, the value itself included."""
        storage = self.storage(ref)
        return self.alias_lists.get(storage, [storage])

    def record_memory(self, ref: Ref, number: int) -> None:
        """Note the memory, by number, that a new value was seen to use; storages with one number are overlapping."""
        storage = self.storage(ref)
        for other, known in self.ids.items():
            if known == number and other != storage:
                self.overlapping.setdefault(storage, set()).add(other)
                self.overlapping.setdefault(other, set()).add(storage)
        self.ids[storage] = number

    def record_strides(self, ref: Ref, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> None:
        """Note the strides that a new value with a storage of its own was seen to have."""
        if strides is None or ref in self.storage_of_view:
            return
        self.strides_observed.add(ref)
        if _has_internal_overlap(shape, strides):
            self.internal_overlap.add(ref)

    def forget(self, refs: Iterable[Ref]) -> None:
        """These values are deleted: memory that no other value uses may be used again."""
        self.deleted.update(refs)
        for storage in {self.storage(ref) for ref in refs}:
            if self.deleted.issuperset(self.alias_lists.get(storage, [storage])):
                self.ids.pop(storage, None)

    # -- offsets -----------------------------------------------------------------------------------------------------

    def offsets(self, ref: Ref) -> Array:
        """Where the elements of a value are in its storage: an array of its shape."""
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
        """Where the elements of a view are among those of its base, counted in row-major order: an array of the view's
        shape.
        """
        there, wanted = self.offsets(base).ravel(), self.offsets(ref)
        order = np.argsort(there, kind="stable")
        return order[np.searchsorted(there, wanted.ravel(), sorter=order)].reshape(wanted.shape)

    def overlaps_itself(self, ref: Ref) -> bool:
        """Whether two elements of a value are in one place: its internal overlap."""
        if self.storage(ref) in self.internal_overlap:
            return True
        return ref in self.derived and len(np.unique(self.offsets(ref))) < self.offsets(ref).size

    def overlaps_partly(self, ref: Ref, other: Ref) -> bool:
        """Whether two values have elements in common, but not each at the same index."""
        if self.storage(ref) != self.storage(other):
            return False
        one, two = self.offsets(ref), self.offsets(other)
        return bool(np.intersect1d(one, two).size) and not np.array_equal(one, two)

    def mark_outside_domain(self, refs: Iterable[Ref]) -> None:
        """Nothing says what the elements of some new values are, nor the gradients that go through them."""
        found = tuple(refs)
        self.unspecified.update(found)
        self.outside_domains.update(found)

    def uses_only_elements(self, step: Instruction) -> bool:
        """Whether all that is unspecified of what an instruction uses is the elements of values."""
        used = operands(step)
        if self.overlapping or self.views_of_toggled.intersection(used):
            return False
        return self.outside_domains.issuperset(self.unspecified.intersection(used))

    def uses_unspecified(self, step: Instruction) -> bool:
        """Whether an instruction uses a value of which the rules do not say what it is, or changes one whose storage
        is seen to overlap another.
        """
        if self.overlapping and not isinstance(step, READING):
            changed = step.inputs or () if isinstance(step, Backward) else operands(step)
            if any(self.storage(r) in self.overlapping for r in changed):
                return True
        if not self.unspecified and not self.views_of_toggled:
            return False
        return any(r in self.unspecified or r in self.views_of_toggled for r in operands(step))


def _has_internal_overlap(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides may put two elements in one place."""
    reach = 1
    for stride, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += stride * (n - 1)
    return False
