"""Who shares memory with whom, and what was written: the part of the model that knows of in-place changes.

A value that has memory of its own is an storage; views and detached values use an storage's. Which ops give views
follows the catalogue, and where that is the implementation's choice, what was observed. Views that an implementation
tracks form families with a base: what is written to one of them, and recorded, becomes part of the history of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from autograd_conformance.programs.language import Apply, Attrs, Backward, Delete, Detach, Grad, Instruction, Ref
from autograd_conformance.programs.operands import operands
from autograd_conformance.reference.staging.derivatives import Array, forward_of

READING = (Apply, Detach, Grad, Delete)
"""Instructions that leave their operands as they are."""


@dataclass(frozen=True, slots=True)
class Derived:
    """How a value was made from the one whose memory it uses: by a view op, or (None) as it is."""

    source: Ref
    op: str | None = None
    attrs: Attrs = ()
    args: tuple[Ref, ...] = ()
    output: int = 0


class Storages:
    """What is known of memory so far; `values` holds the current value of everything."""

    def __init__(self, values: Mapping[Ref, Array]) -> None:
        self.values = values
        self.derived: dict[Ref, Derived] = {}
        self.storage_of_view: dict[Ref, Ref] = {}
        self.alias_lists: dict[Ref, list[Ref]] = {}
        self.versions: dict[Ref, int] = {}
        self.bases: dict[Ref, Ref] = {}
        self.views_of: dict[Ref, list[Ref]] = {}
        self.restricted: set[Ref] = set()
        self.views_of_toggled: set[Ref] = set()
        self.deleted: set[Ref] = set()
        self.unspecified: set[Ref] = set()
        self.overlapping: dict[Ref, set[Ref]] = {}
        self.ids: dict[Ref, int] = {}
        self.laid_out_as_seen: set[Ref] = set()
        self.internal_overlap: set[Ref] = set()
        self._offsets: dict[Ref, Array] = {}

    # -- sharing ------------------------------------------------------------------------------------------------------

    def storage(self, ref: Ref) -> Ref:
        """The value that owns the memory that another uses."""
        return self.storage_of_view.get(ref, ref)

    def shares(self, ref: Ref, derived: Derived) -> None:
        """A new value uses the memory of the one that it is derived from."""
        storage = self.storage(derived.source)
        self.derived[ref] = derived
        self.storage_of_view[ref] = storage
        self.alias_lists.setdefault(storage, [storage]).append(ref)

    def views(self, ref: Ref, derived: Derived, restricted: bool) -> None:
        """A new value is a view that belongs to the family of its source."""
        self.shares(ref, derived)
        base = self.base(derived.source)
        self.bases[ref] = base
        self.views_of.setdefault(base, []).append(ref)
        if restricted or derived.source in self.restricted:
            self.restricted.add(ref)
        if derived.source in self.views_of_toggled:
            self.views_of_toggled.add(ref)

    def base(self, ref: Ref) -> Ref:
        """The base of a value's family: the value itself unless it is a view."""
        return self.bases.get(ref, ref)

    def view_family(self, ref: Ref) -> list[Ref]:
        """The base of a value's family and all its views, the value itself included."""
        base = self.base(ref)
        return [base, *self.views_of.get(base, ())]

    def aliases(self, ref: Ref) -> list[Ref]:
        """All values that use the same memory, the value itself included."""
        storage = self.storage(ref)
        return self.alias_lists.get(storage, [storage])

    def seen_at(self, ref: Ref, number: int) -> None:
        """Note whose memory a new value was seen to use; where it is that of others, they are tangled."""
        storage = self.storage(ref)
        for other, known in self.ids.items():
            if known == number and other != storage:
                self.overlapping.setdefault(storage, set()).add(other)
                self.overlapping.setdefault(other, set()).add(storage)
        self.ids[storage] = number

    def laid_out(self, ref: Ref, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> None:
        """Note how a new value that owns its memory was seen to lie in it: spread where two elements may be in one
        place.
        """
        if strides is None or ref in self.storage_of_view:
            return
        self.laid_out_as_seen.add(ref)
        if _are_one(shape, strides):
            self.internal_overlap.add(ref)

    def forget(self, refs: Iterable[Ref]) -> None:
        """These values are gone: what memory they used may be used again."""
        self.deleted.update(refs)
        for storage in {self.storage(ref) for ref in refs}:
            if self.deleted.issuperset(self.alias_lists.get(storage, [storage])):
                self.ids.pop(storage, None)

    # -- places -------------------------------------------------------------------------------------------------------

    def offsets(self, ref: Ref) -> Array:
        """Where the elements of a value are in its storage's memory: an array of its shape."""
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
        """Where the elements of a value are among those of its base, counted in row-major order: an array of its
        shape.
        """
        places, wanted = self.offsets(base).ravel(), self.offsets(ref)
        order = np.argsort(places, kind="stable")
        return order[np.searchsorted(places, wanted.ravel(), sorter=order)].reshape(wanted.shape)

    def overlaps_itself(self, ref: Ref) -> bool:
        """Whether two elements of a value are one in memory."""
        if self.storage(ref) in self.internal_overlap:
            return True
        return ref in self.derived and len(np.unique(self.offsets(ref))) < self.offsets(ref).size

    def overlaps_partly(self, ref: Ref, other: Ref) -> bool:
        """Whether two values share some memory, but not the same element in each place."""
        if self.storage(ref) != self.storage(other):
            return False
        one, two = self.offsets(ref), self.offsets(other)
        return bool(np.intersect1d(one, two).size) and not np.array_equal(one, two)

    def uses_unspecified(self, step: Instruction) -> bool:
        """Whether an instruction uses a value of which it is not known what it is, or changes one that may be one
        object with another.
        """
        if self.overlapping and not isinstance(step, READING):
            changed = step.inputs or () if isinstance(step, Backward) else operands(step)
            if any(self.storage(r) in self.overlapping for r in changed):
                return True
        rebased = self.unspecified or self.views_of_toggled
        return bool(rebased) and any(r in self.unspecified or r in self.views_of_toggled for r in operands(step))


def _are_one(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides may put two elements in one place."""
    reach = 1
    for stride, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += stride * (n - 1)
    return False
