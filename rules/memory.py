"""Which values share memory, and which of them were written to: what the tape model knows of in-place changes.

Detaching never copies; a view may or may not. A leaf's gradient is changed in place or replaced as the framework likes,
so that a
value taken from it earlier may or may not follow. Where a program goes on with a value of which that cannot be known,
the model
is `confused`, and nothing more is judged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rules.graph import Node
from rules.language import Apply, AssignGrad, Backward, Detach, Held, Instruction, Ref, Step, ZeroGrad, operands
from rules.observations import Gradient
from rules.ops.views import VIEWS


class Memory:
    """What is known of memory so far."""

    def __init__(self) -> None:
        self.base: dict[Ref, Ref] = {}
        self.viewed: set[Ref] = set()
        self.written: dict[Ref, int] = {}
        self.gradients: dict[Ref, Ref] = {}
        self.taken: set[Ref] = set()
        self.unsure: set[Ref] = set()
        self.muddled: set[Ref] = set()
        self.confused = False

    def root(self, ref: Ref) -> Ref:
        """The value that owns the memory of another, as far as that is known."""
        while ref in self.base:
            ref = self.base[ref]
        return ref

    def stale(self, node: Node) -> bool:
        """Whether an operand or a result of a node was written to after it was recorded."""
        if not self.written:
            return False
        refs = (*node.args, *(Ref(node.at, k) for k in range(node.results)))
        return any(self.written.get(self.root(r), -1) > node.at for r in refs)

    def loses_track(self, step: Instruction) -> bool:
        """Whether an instruction reads a value that is not known any more; from then on nothing is."""
        if self.unsure and any(self.root(r) in self.unsure or r in self.unsure for r in operands(step)):
            self.confused = True
        if isinstance(step, Held) and step.leaf in self.muddled:
            self.confused = True
        return self.confused

    def advance(
        self, at: int, step: Instruction, reached: Collection[Ref], held: Mapping[Ref, Gradient | None]
    ) -> None:
        """What an instruction does to memory; `reached` are the leaves that a backward call adds to."""
        match step:
            case Detach(source):
                self.base[Ref(at)] = source
                if source in self.viewed:
                    self.viewed.add(Ref(at))
            case Apply(op, args, _, results) if op in VIEWS:
                for k in range(results):
                    self.base[Ref(at, k)] = args[0]
                    self.viewed.add(Ref(at, k))
            case Held(leaf):
                self.gradients[Ref(at)] = leaf
                self.taken.add(Ref(at))
            case AssignGrad(leaf, value):
                self._replaced([leaf])
                if value is not None:
                    if self.root(value) in self.gradients:
                        self.confused = True
                    self.gradients[self.root(value)] = leaf
            case Backward():
                self._changed(reached)
            case ZeroGrad(leaves, to_none):
                (self._replaced if to_none else self._changed)(leaves)
            case Step(leaves):
                for leaf in leaves:
                    if held.get(leaf) is not None:
                        self.written[leaf] = at
                        self.unsure.update(r for r in self.viewed if self.root(r) == leaf)

    def _replaced(self, leaves: Collection[Ref]) -> None:
        """These leaves hold other objects now: what was taken from them stays as it is."""
        self.gradients = {value: leaf for value, leaf in self.gradients.items() if leaf not in leaves}
        self.muddled.difference_update(leaves)

    def _changed(self, leaves: Collection[Ref]) -> None:
        """The gradients of these leaves may have changed in place: what was taken from them is not known any more."""
        if self.gradients:
            self.unsure.update(value for value, leaf in self.gradients.items() if leaf in leaves)
