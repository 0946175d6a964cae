"""What the reference keeps of a program, and how it records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from autograd_conformance.programs.language import Apply, Grad, Hook, Instruction, Ref
from autograd_conformance.reference.reverse import Record, Slot, evaluate
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.reference.storage import Memory

SHADOWS = 1000
"""From this number on, results of an instruction are slots beside the values that it makes."""


def is_shadow(slot: Slot) -> bool:
    """Whether a slot is no value of the program."""
    return slot.output >= SHADOWS


class State:
    """Values, slots and records; those that share a slot with nothing that was written are their own slots.

    `requires_grad` is each value's flag as it is now. `objects` are the gradients that are held, as values without an
    instruction; `histories` the slots of those that are differentiable. `asked` are values that are no leaves and were
    inputs of a call: an implementation may go on to fill their gradients. `switched` are leaves whose flag was changed.
    `doubtful` are the slots of views whose memory was written to: whether gradients that flow through them from before
    are found there is open. `same` are values that are one object with another, `born` the gradients that each call
    made. `lost` says that the program went on with something of which the rules leave open what it is: from then on
    nothing can be said.
    """

    def __init__(self) -> None:
        self.steps: list[Instruction] = []
        self.values: dict[Ref, Array] = {}
        self.requires_grad: dict[Ref, bool] = {}
        self.slots: dict[Ref, Slot] = {}
        self.records: list[Record] = []
        self.producer: dict[Slot, int] = {}
        self.memory = Memory(self.values)
        self.hooks: dict[Slot, list[tuple[Ref, Hook]]] = {}
        self.after: dict[Slot, list[tuple[Ref, Hook]]] = {}
        self.retained: set[Ref] = set()
        self.asked: set[Ref] = set()
        self.switched: set[Ref] = set()
        self.objects: dict[Ref, Ref | None] = {}
        self.histories: dict[Ref, Slot] = {}
        self.observing = False
        self.doubtful: set[Slot] = set()
        self.same: dict[Ref, Ref] = {}
        self.born: dict[int, list[Ref]] = {}
        self.lost = False
        self._extra: dict[int, int] = {}
        self._nameless = 0

    # -- slots --------------------------------------------------------------------------------------------------------

    def slot(self, ref: Ref) -> Slot:
        """What a value's cotangent belongs to now."""
        ref = self.same.get(ref, ref)
        return self.slots.get(ref, ref)

    def one_with(self, refs: Iterable[Ref]) -> set[Ref]:
        """Some values and all that are one object with them."""
        found = set(refs)
        if not self.same:
            return found
        objects = {self.same.get(r, r) for r in found}
        return found | objects | {r for r, other in self.same.items() if other in objects}

    def is_leaf(self, ref: Ref) -> bool:
        """Whether a value requires grad without a history of its own, or requires none."""
        return not self.requires_grad[ref] or self.slot(ref) not in self.producer

    def nameless(self, value: Array, requires_grad: bool = False) -> Ref:
        """A value that no instruction makes: a gradient."""
        self._nameless -= 1
        ref = Ref(self._nameless)
        self.values[ref], self.requires_grad[ref] = value, requires_grad
        return ref

    def constant(self, at: int, value: Array) -> Slot:
        """A slot without history among those that instruction `at` records."""
        number = self._extra.get(at, SHADOWS)
        self._extra[at] = number + 1
        slot = Ref(at, number)
        self.values[slot], self.requires_grad[slot] = value, False
        return slot

    # -- recording ----------------------------------------------------------------------------------------------------

    def record(
        self,
        at: int,
        outs: tuple[Slot, ...],
        op: str,
        attrs: Any,
        args: tuple[Ref, ...],
        operands: tuple[Array, ...],
        flows: tuple[bool, ...],
    ) -> None:
        """Remember an op on values; `outs` are values of the program."""
        owner = self.memory.owner
        named = args if not self.slots and not self.same else tuple([self.slot(r) for r in args])
        cells, made = tuple([owner(r) for r in args]), tuple([owner(r) for r in outs])
        self._keep(Record(at, outs, op, attrs, named, operands, flows, cells, made))

    def _keep(self, record: Record) -> None:
        if any(record.flows):
            for slot in record.outs:
                self.producer[slot] = len(self.records)
        self.records.append(record)

    def shadow(self, at: int, op: str, attrs: Any, args: tuple[Slot, ...]) -> tuple[Slot, ...]:
        """An op on slots, recorded by instruction `at` beside the values of the program; the slots that it makes."""
        operands = tuple([self.values[r] for r in args])
        made = evaluate(op, attrs, operands)
        flows = tuple([self.requires_grad[r] for r in args])
        return self._shadow(at, made, op, attrs, args, operands, flows)

    def _shadow(
        self,
        at: int,
        made: tuple[Array, ...],
        op: str,
        attrs: Any,
        args: tuple[Slot, ...],
        operands: tuple[Array, ...],
        flows: tuple[bool, ...],
        cells: tuple[Ref | None, ...] = (),
        of: Ref | None = None,
        via: tuple[Slot, ...] = (),
    ) -> tuple[Slot, ...]:
        outs = tuple([self.constant(at, value) for value in made])
        for slot in outs:
            self.requires_grad[slot] = any(flows)
        cells = cells + (None,) * (len(args) - len(cells))
        self._keep(Record(at, outs, op, attrs, args, operands, flows, cells, (of,) * len(outs), via))
        return outs

    # -- memory -------------------------------------------------------------------------------------------------------

    def _may_be_view(self, ref: Ref) -> bool:
        """Whether a value is a view, or what an op or a call returned, which may be a view of something unseen."""
        at = self.same.get(ref, ref).at
        return at < 0 or isinstance(self.steps[at], (Apply, Grad))

    def overwrite(self, at: int, ref: Ref, value: Array) -> None:
        """A value, and all that shares its memory, is another from instruction `at` on."""
        memory, owner = self.memory, self.memory.owner(ref)
        memory.written[owner] = at
        for other in memory.tangled.get(owner, ()):
            memory.unsure.update(memory.users_of(other))
        users = memory.users_of(ref)
        self.doubtful.update(self.slot(user) for user in users if self._may_be_view(user))
        if len(users) == 1:
            self.values[ref] = value
            return
        content = np.array(self.values[owner], dtype=np.float64).ravel()
        content[memory.places(ref).ravel()] = np.ravel(value)
        for user in users:
            self.values[user] = content[memory.places(user)]
