"""What the reference keeps of a program, and how it records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from autograd_conformance.programs.language import Apply, Grad, Hook, Instruction, Ref
from autograd_conformance.reference.reverse import GradientEdge, TapeEntry, evaluate
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.reference.storage import Storages

INTERNAL = 1000
"""From this number on, results of an instruction are slots beside the values that it makes."""


def is_internal(edge: GradientEdge) -> bool:
    """Whether a slot is no value of the program."""
    return edge.output >= INTERNAL


class State:
    """Values, slots and records; those that share a slot with nothing that was written are their own slots.

    `requires_grad` is each value's flag as it is now. `objects` are the gradients that are held, as values without an
    instruction; `histories` the slots of those that are differentiable. `asked` are values that are no leaves and
    were inputs of a call: an implementation may go on to fill their gradients. `toggled` are leaves whose flag was
    changed. `rebased` are the slots of views whose memory was written to: whether gradients that flow through them
    from before are found there is open. `same` are values that are one object with another, `made_by_call` the
    gradients that each call made. `lost` says that the program went on with something of which the rules leave open
    what it is: from then on nothing can be said.
    """

    def __init__(self) -> None:
        self.steps: list[Instruction] = []
        self.values: dict[Ref, Array] = {}
        self.requires_grad: dict[Ref, bool] = {}
        self.edges: dict[Ref, GradientEdge] = {}
        self.entries: list[TapeEntry] = []
        self.producer: dict[GradientEdge, int] = {}
        self.storages = Storages(self.values)
        self.hooks: dict[GradientEdge, list[tuple[Ref, Hook]]] = {}
        self.after: dict[GradientEdge, list[tuple[Ref, Hook]]] = {}
        self.retained: set[Ref] = set()
        self.captured_inputs: set[Ref] = set()
        self.toggled: set[Ref] = set()
        self.grads: dict[Ref, Ref | None] = {}
        self.histories: dict[Ref, GradientEdge] = {}
        self.observing = False
        self.rebased: set[GradientEdge] = set()
        self.same: dict[Ref, Ref] = {}
        self.made_by_call: dict[int, list[Ref]] = {}
        self.unspecified = False
        self._extra: dict[int, int] = {}
        self._nameless = 0

    # -- slots --------------------------------------------------------------------------------------------------------

    def edge(self, ref: Ref) -> GradientEdge:
        """What a value's cotangent belongs to now."""
        ref = self.same.get(ref, ref)
        return self.edges.get(ref, ref)

    def same_objects(self, refs: Iterable[Ref]) -> set[Ref]:
        """Some values and all that are one object with them."""
        found = set(refs)
        if not self.same:
            return found
        objects = {self.same.get(r, r) for r in found}
        return found | objects | {r for r, other in self.same.items() if other in objects}

    def is_leaf(self, ref: Ref) -> bool:
        """Whether a value requires grad without a history of its own, or requires none."""
        return not self.requires_grad[ref] or self.edge(ref) not in self.producer

    def unnamed(self, value: Array, requires_grad: bool = False) -> Ref:
        """A value that no instruction makes: a gradient."""
        self._nameless -= 1
        ref = Ref(self._nameless)
        self.values[ref], self.requires_grad[ref] = value, requires_grad
        return ref

    def constant(self, at: int, value: Array) -> GradientEdge:
        """A slot without history among those that instruction `at` records."""
        number = self._extra.get(at, INTERNAL)
        self._extra[at] = number + 1
        edge = Ref(at, number)
        self.values[edge], self.requires_grad[edge] = value, False
        return edge

    # -- recording ----------------------------------------------------------------------------------------------------

    def record(
        self,
        at: int,
        outs: tuple[GradientEdge, ...],
        op: str,
        attrs: Any,
        args: tuple[Ref, ...],
        operands: tuple[Array, ...],
        needs_input_grad: tuple[bool, ...],
    ) -> None:
        """Remember an op on values; `outs` are values of the program."""
        owner = self.storages.storage
        named = args if not self.edges and not self.same else tuple([self.edge(r) for r in args])
        operand_storages, made = tuple([owner(r) for r in args]), tuple([owner(r) for r in outs])
        self._keep(TapeEntry(at, outs, op, attrs, named, operands, needs_input_grad, operand_storages, made))

    def _keep(self, record: TapeEntry) -> None:
        if any(record.needs_input_grad):
            for edge in record.outs:
                self.producer[edge] = len(self.entries)
        self.entries.append(record)

    def shadow(self, at: int, op: str, attrs: Any, args: tuple[GradientEdge, ...]) -> tuple[GradientEdge, ...]:
        """An op on slots, recorded by instruction `at` beside the values of the program; the slots that it makes."""
        operands = tuple([self.values[r] for r in args])
        made = evaluate(op, attrs, operands)
        needs_input_grad = tuple([self.requires_grad[r] for r in args])
        return self._shadow(at, made, op, attrs, args, operands, needs_input_grad)

    def _shadow(
        self,
        at: int,
        made: tuple[Array, ...],
        op: str,
        attrs: Any,
        args: tuple[GradientEdge, ...],
        operands: tuple[Array, ...],
        needs_input_grad: tuple[bool, ...],
        operand_storages: tuple[Ref | None, ...] = (),
        of: Ref | None = None,
        via: tuple[GradientEdge, ...] = (),
    ) -> tuple[GradientEdge, ...]:
        outs = tuple([self.constant(at, value) for value in made])
        for edge in outs:
            self.requires_grad[edge] = any(needs_input_grad)
        operand_storages = operand_storages + (None,) * (len(args) - len(operand_storages))
        self._keep(
            TapeEntry(at, outs, op, attrs, args, operands, needs_input_grad, operand_storages, (of,) * len(outs), via)
        )
        return outs

    # -- memory -------------------------------------------------------------------------------------------------------

    def _may_be_view(self, ref: Ref) -> bool:
        """Whether a value is a view, or what an op or a call returned, which may be a view of something unseen."""
        at = self.same.get(ref, ref).at
        return at < 0 or isinstance(self.steps[at], (Apply, Grad))

    def overwrite(self, at: int, ref: Ref, value: Array) -> None:
        """A value, and all that shares its memory, is another from instruction `at` on."""
        storages, owner = self.storages, self.storages.storage(ref)
        storages.versions[owner] = at
        for other in storages.overlapping.get(owner, ()):
            storages.unspecified.update(storages.aliases(other))
        users = storages.aliases(ref)
        self.rebased.update(self.edge(user) for user in users if self._may_be_view(user))
        if len(users) == 1:
            self.values[ref] = value
            return
        content = np.array(self.values[owner], dtype=np.float64).ravel()
        content[storages.offsets(ref).ravel()] = np.ravel(value)
        for user in users:
            self.values[user] = content[storages.offsets(user)]
