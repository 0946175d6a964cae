"""The `.grad` of leaves as it follows from the backward calls so far, for programs without observations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from autograd_conformance.programs.language import AssignGrad, Backward, Instruction, Leaf, Ref, ZeroGrad
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.pullbacks import Pullbacks
from autograd_conformance.reference.computation.tape import ReferenceTape
from autograd_conformance.reference.staging.derivatives import Array


@dataclass(slots=True, eq=False)
class Totals:
    """Computes the `.grad` of a leaf when it is needed, from the instructions since it was computed last. Calls that
    are not legal add nothing.
    """

    steps: Sequence[Instruction]
    skipped: Set[int]
    tape: ReferenceTape
    pullbacks: Pullbacks
    contributions: dict[int, dict[Ref, Array]] = field(default_factory=dict)
    """For each backward call that adds to values other than leaves, by instruction number: its contribution to each
    value."""
    _changing: list[int] = field(default_factory=list)  # the instructions so far that may change a leaf's .grad
    _scanned: int = 0  # number of instructions searched for these
    _known: dict[Ref, tuple[int, Array | None]] = field(default_factory=dict)  # .grad after the first n of these

    def of(self, leaf: Ref) -> Array | None:
        """Returns a leaf's `.grad` after the instructions so far; None if it has none."""
        new = range(self._scanned, len(self.steps))
        self._changing += [at for at in new if isinstance(self.steps[at], (Backward, ZeroGrad, AssignGrad))]
        self._scanned = len(self.steps)
        since, total = self._known.get(leaf) or (0, self.initial(leaf))
        for at in self._changing[since:]:
            if at not in self.skipped:
                total = self._after(at, self.steps[at], leaf, total)
        self._known[leaf] = len(self._changing), total
        return total

    def initial(self, leaf: Ref) -> Array | None:
        """Returns a leaf's `.grad` before any call."""
        step = self.steps[leaf.at]
        begins = self.pullbacks.traits.begins_with_zeros and isinstance(step, Leaf) and step.requires_grad
        return np.zeros_like(self.tape.values[leaf]) if begins else None

    def replace(self, totals: Mapping[Ref, Array]) -> None:
        """Sets the `.grad` of each given leaf to a new array that counts as of the present instruction, as clipping
        does.
        """
        self._known.update({leaf: (len(self._changing), total) for leaf, total in totals.items()})

    def _after(self, at: int, step: Instruction, leaf: Ref, total: Array | None) -> Array | None:
        """Returns a leaf's `.grad` after an instruction, given the `.grad` before it."""
        contribution: Array | None = None
        match step:
            case Backward() if at in self.contributions:
                contribution = self.contributions[at].get(leaf)
            case Backward() if self.tape.requires_grad[leaf] and self.pullbacks.is_legal(step):
                contribution = self.pullbacks.of(step).get(self.tape.edge(leaf))
            case ZeroGrad(leaves, to_none) if leaf in leaves:
                return None if to_none or total is None else np.zeros_like(total)
            case AssignGrad(target, given) if target == leaf:
                return None if given is None else self.tape.values[given]
        return total if contribution is None else contribution if total is None else total + contribution
