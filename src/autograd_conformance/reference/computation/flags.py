"""Changes of `requires_grad`, and `detach_`, which removes a history in place."""

from __future__ import annotations

from dataclasses import dataclass, field

from autograd_conformance.programs.language import Ref
from autograd_conformance.reference.computation.memory.grads import Grads
from autograd_conformance.reference.computation.memory.storage import Storages
from autograd_conformance.reference.computation.reverse import GradientEdge
from autograd_conformance.reference.computation.tape import ReferenceTape
from autograd_conformance.reference.computation.value_types import GradTensor, InternalValue


@dataclass(slots=True, eq=False)
class Flags:
    """Changes `requires_grad` and the history of one value: all names of the same object change together, and its views
    become unspecified.
    """

    tape: ReferenceTape
    storages: Storages
    grads: Grads
    toggled: set[Ref] = field(default_factory=set)
    """Leaves whose `requires_grad` was changed."""
    new_leaves: dict[GradientEdge, Ref] = field(default_factory=dict)
    """The values that became leaves by `detach_` and then require grad, by their edges."""

    def detach_in_place(self, at: int, target: Ref) -> None:
        """Removes the history of a value, and of all values that are the same object, as `detach_` does."""
        if self.tape.requires_grad[target] and self.tape.is_leaf(target):
            self.toggled.add(target)
        self.forget_history(at, target)
        self.storages.versions[self.storages.storage(target)] = at  # ops that saved it may miss its history
        self._toggle_views(target)

    def forget_history(self, at: int, target: Ref) -> None:
        """Makes a value, and all values that are the same object, constants from instruction `at` on."""
        tape, names = self.tape, self.tape.same_objects([target])
        if not tape.is_leaf(target):
            tape.edges[tape.same_object.get(target, target)] = tape.constant(at, tape.values[target])
        tape.requires_grad.update(dict.fromkeys(names, False))
        self.grads.renew_histories(names)

    def set_requires_grad(self, leaf: Ref, on: bool) -> None:
        """Sets `requires_grad` of a leaf to `on`."""
        tape = self.tape
        if tape.requires_grad[leaf] != on:
            self.toggled.add(leaf)
        if isinstance(edge := tape.edge(leaf), InternalValue):
            self.new_leaves[edge] = leaf
        names = tape.same_objects([leaf])
        tape.requires_grad.update(dict.fromkeys(names, on))
        # the results for an input that was listed twice share memory, and may be one object or two
        if not isinstance(tape.same_object.get(leaf, leaf), GradTensor):
            self.storages.views_of_toggled.update(names - {leaf})
        self.grads.renew_histories([leaf])
        self._toggle_views(leaf)

    def _toggle_views(self, target: Ref) -> None:
        """Marks all other values in the view family of `target` as unspecified, because the flag or history of `target`
        changed and the rules do not say what happens to its views.
        """
        views = set(self.storages.view_family(target)) - self.tape.same_objects([target])
        for other in self.storages.possible_overlaps(target):
            views.update(self.storages.aliases(other))
        self.storages.views_of_toggled.update(views)
