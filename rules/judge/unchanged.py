"""What must stay: what leaves hold after instructions that clear, assign or do something else, and after errors."""

from __future__ import annotations

import numpy as np
from autograd_conformance.programs.language import (
    AssignGrad,
    Backward,
    DetachInPlace,
    Grad,
    InPlace,
    Instruction,
    RetainGrad,
    SetRequiresGrad,
    ZeroGrad,
)
from autograd_conformance.programs.observations import Gradient, Raised, StepObservation
from autograd_conformance.programs.operands import made_for
from autograd_conformance.reference.bounds import close
from autograd_conformance.rules.judge.gradients import Holdings, unchanged
from autograd_conformance.rules.judge.violation import Violation
from autograd_conformance.rules.tape.backward_calls import RAISED_MIDWAY
from autograd_conformance.rules.tape.graph import Expectation
from autograd_conformance.rules.tape.unspecified import is_unspecified


class Staying(Holdings):
    """The checks of what no call brought about."""

    def _assigned(self, at: int, step: AssignGrad, seen: StepObservation) -> Violation | None:
        rule = "accumulation/assigned"
        for leaf, got in seen.gradients.items():
            held = self.tape.grads.get(leaf)
            if leaf != step.leaf:
                fine = unchanged(held, got)
            elif step.value is None:
                fine = got is None
            else:
                want = self.reference.values[step.value]
                fine = got is not None and close(got.value, want, self.dtype)
            if not fine:
                shown = "none" if got is None else f"{got.value.tolist()}"
                return self._differs(
                    rule, at, leaf, f"the leaf holds {shown}", "the leaf holds what was assigned", step
                )
        return None

    def _cleared(self, at: int, step: ZeroGrad, seen: StepObservation) -> Violation | None:
        rule = "accumulation/zero-to-none" if step.set_to_none else "accumulation/zero-to-zeros"
        rule = "optimizers/clears" if made_for(step, self.program.instructions[:at]) else rule
        for leaf, got in seen.gradients.items():
            held = self.tape.grads.get(leaf)
            if leaf not in step.leaves:
                fine, due = unchanged(held, got) or self._same_object(held, step), "other leaves keep their gradients"
            elif step.set_to_none or held is None:
                fine, due = got is None, "the leaf holds no gradient"
            else:
                fine = got is not None and not got.value.any() and got.value.shape == held.value.shape
                due = "the leaf holds zeros"
            if not fine:
                shown = "none" if got is None else f"{got.value.tolist()}"
                return self._differs(rule, at, leaf, f"the leaf holds {shown}", due, step)
        return None

    def _same_object(self, held: Gradient | None, step: ZeroGrad) -> bool:
        """Whether a gradient was assigned to several leaves, one of which is cleared."""
        cleared = [self.tape.grads.get(leaf) for leaf in step.leaves]
        return held is not None and any(c is not None and c.memory == held.memory is not None for c in cleared)

    def _kept_all(self, at: int, step: Instruction, seen: StepObservation) -> Violation | None:
        """Whether an instruction that has nothing to do with gradients left them alone."""
        rule: dict[type, str] = {
            SetRequiresGrad: "modes/frozen-leaf",
            DetachInPlace: "detach/in-place",
            RetainGrad: "hooks/retained",
        }
        for leaf, got in seen.gradients.items():
            if not unchanged(self.tape.grads.get(leaf), got):
                slug = rule.get(type(step), "hooks/called")
                return self._differs(slug, at, leaf, "the leaf's gradient changed", "gradients stay as they were", step)
        return None

    def _after_error(
        self, at: int, step: Instruction, expectation: Expectation, raised: Raised, seen: StepObservation
    ) -> Violation | None:
        """What an instruction that raised may leave behind."""
        if isinstance(step, InPlace):
            return self._kept(at, step, seen)
        if not isinstance(step, (Backward, Grad)):
            return None
        walked = raised.kind in RAISED_MIDWAY
        rule = "errors/atomic" if walked else "errors/refusal-keeps-gradients"
        for leaf, got in seen.gradients.items():
            held = self.tape.grads.get(leaf)
            if unchanged(held, got) or (walked and self._complete(step, leaf, held, got, expectation.traversal)):
                continue
            if walked and (
                self.reference.edge(leaf) in expectation.traversal.may_reach or self._is_anothers(leaf, step)
            ):
                continue
            if walked and is_unspecified(self.tape, step, expectation.traversal):
                self.lost = True  # what it would have given is open, too
                return None
            due = "its old gradient or the complete new one" if walked else "its old gradient"
            if self.applies(rule):
                return Violation(
                    rule, at, "the failed call left another gradient", ((f"each leaf holds {due}", rule),), leaf,
                    held=None if held is None else held.value, got=None if got is None else got.value,
                )  # fmt: skip
        return None

    def _kept(self, at: int, step: InPlace, seen: StepObservation) -> Violation | None:
        """Whether a write that was refused left the values as they were."""
        rule = "writes/refused-keeps-values"
        for ref, tensor in seen.values.items():
            before = self.reference.values.get(ref)
            if before is None or ref in self.reference.storages.unspecified:
                continue
            if not np.array_equal(tensor.value, before, equal_nan=True):
                return self._differs(rule, at, ref, "the refused write changed a value", "values stay", step)
        return None
