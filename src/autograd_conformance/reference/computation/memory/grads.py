"""The tensors in the `.grad` of values: their memory, their object identities and their histories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from autograd_conformance.programs.language import Ref, ZeroGrad
from autograd_conformance.reference.computation.memory.storage import Derived, Storages
from autograd_conformance.reference.computation.reverse import GradientEdge
from autograd_conformance.reference.computation.tape import ReferenceTape
from autograd_conformance.reference.computation.value_types import GradTensor
from autograd_conformance.reference.staging.derivatives import Array


@dataclass(slots=True, eq=False)
class Grads:
    """Stores for each value the tensor in its `.grad`, and the edge of that tensor if it is differentiable."""

    tape: ReferenceTape
    storages: Storages
    tensors: dict[Ref, Ref | None] = field(default_factory=dict)
    """For each value, its observed `.grad`: a `GradTensor`, or the value of the program that was assigned; None if the
    value has no `.grad`."""
    identities: dict[Ref, int | None] = field(default_factory=dict)
    """For each value, the observed number of the object that was last in its `.grad`; None if it is unknown."""
    histories: dict[Ref, GradientEdge] = field(default_factory=dict)
    """For each value with a differentiable `.grad`, the edge of that gradient on the tape."""
    outdated: set[Ref] = field(default_factory=set)
    """Tensors in `.grad` whose recorded history may be outdated or incomplete."""
    made_by_call: dict[int, list[Ref]] = field(default_factory=dict)
    """The gradient tensors that each backward call made, by the number of its instruction."""
    _count: int = 0  # of the tensors made

    def new(self, value: Array) -> GradTensor:
        """Makes a tensor for a `.grad`, without a history, and returns its name."""
        self._count += 1
        ref = GradTensor(-self._count)
        self.tape.values[ref], self.tape.requires_grad[ref] = value, False
        return ref

    def represent(self, owner: Ref, value: Array) -> GradTensor:
        """Makes a tensor for the `.grad` of `owner`, with the history of that `.grad`, and returns its name."""
        tensor, history = self.new(value), self.histories.get(owner)
        if history is not None:
            self.tape.edges[tensor] = history
            self.tape.requires_grad[tensor] = self.tape.requires_grad[history]
        return tensor

    def read(self, ref: Ref, tensor: Ref) -> tuple[Array]:
        """Makes `ref` a name of the tensor in a `.grad`, as the program reads it, and returns the tensor's elements."""
        tape, storages = self.tape, self.storages
        storages.add_view(ref, Derived(tensor), restricted=False)
        tape.values[ref], tape.requires_grad[ref] = tape.values[tensor], tape.requires_grad[tensor]
        tape.same_object[ref] = tape.same_object.get(tensor, tensor)
        if tensor in self.outdated:
            storages.unspecified.add(ref)  # its history may be outdated
        return (tape.values[ref],)

    def clear(self, at: int, step: ZeroGrad) -> None:
        """Sets the `.grad` of leaves to None, or to zeros in place; zeros in place make a recorded history outdated."""
        for leaf in step.leaves:
            self.histories.pop(leaf, None)
            tensor = None if step.set_to_none else self.tensors.get(leaf)
            if tensor is None:
                continue
            # Clearing counts as a write even if the elements do not change.
            self.storages.versions[self.storages.storage(tensor)] = at
            if self.tape.requires_grad[tensor]:
                self.outdated.add(tensor)
                self.mark_unspecified(self.tape.same_objects([tensor, *self.storages.aliases(tensor)]))

    def assign(self, leaf: Ref, given: Ref | None, copies: bool) -> None:
        """Sets the `.grad` of a leaf to a value, to a copy of the value, or to None."""
        self.histories.pop(leaf, None)
        self.release(self.tensors.get(leaf))
        if given is not None and copies:
            self.tensors[leaf] = self.new(self.tape.values[given])
        else:
            self.tensors[leaf] = given
            if given is not None and self.tape.requires_grad[given]:
                self.histories[leaf] = self.tape.edge(given)
        self.identities[leaf] = None

    def renew_histories(self, changed: Iterable[Ref]) -> None:
        """Updates the recorded history of every `.grad` that is the same object as one of the changed values."""
        changed = self.tape.same_objects(changed)
        for owner, tensor in self.tensors.items():
            if tensor in changed:
                if self.tape.requires_grad[tensor]:
                    self.histories[owner] = self.tape.edge(tensor)
                else:
                    self.histories.pop(owner, None)

    def release(self, tensor: Ref | None) -> None:
        """Marks a tensor that was a `.grad` as deleted, so that its memory may be used again, if the program has no
        name for the tensor.
        """
        if isinstance(tensor, GradTensor):
            self.storages.forget([tensor])

    def mark_unspecified(self, refs: Iterable[Ref]) -> None:
        """Marks as unspecified those of the given values that the program has names for."""
        self.storages.unspecified.update(r for r in refs if not isinstance(r, GradTensor))
