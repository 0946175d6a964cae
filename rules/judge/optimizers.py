"""What optimizers do: each leaf's step by its formula, and gradients that are clipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from autograd_conformance.ops.optimizers import IMPLEMENTATION
from autograd_conformance.programs.language import Clip, Instruction, Ref, Step
from autograd_conformance.programs.observations import Gradient, StepObservation
from autograd_conformance.programs.operands import grouped
from autograd_conformance.reference.optimizers import LeafState, slack, stepped
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.rules.judge.gradients import unchanged
from autograd_conformance.rules.judge.violation import Violation

if TYPE_CHECKING:
    from autograd_conformance.rules.judge.gradients import Holdings

    Base = Holdings
else:
    Base = object


class Stepping(Base):
    """The checks of steps and of clipped gradients."""

    def _stepped(self, at: int, step: Step, values: tuple, seen: StepObservation) -> Violation | None:
        owners = [self.reference.storages.storage(leaf) for leaf in step.leaves]
        if len(set(owners)) < len(owners):
            self.lost = True  # one memory, moved as often as there are leaves in it
            return None
        for leaf, tensor in zip(step.leaves, values, strict=True):
            want, old = self.reference.values[leaf], self.before[leaf]
            if self._is_near(tensor.value, want, old):
                continue
            bound = self._step_bound(step, leaf, tensor.dtype, old)
            off = np.abs(tensor.value - want) > bound
            off |= np.isnan(tensor.value) & np.isfinite(bound)
            if not off.any():
                continue
            rule, due = self._rule_of(step, leaf, tensor.value)
            if self.applies(rule):
                return Violation(
                    rule, at, "the leaf has another value", ((due, rule),), leaf,
                    got=tensor.value, want=want, bound=bound,
                )  # fmt: skip
        for leaf, got in seen.gradients.items():
            if not unchanged(self.tape.grads.get(leaf), got) and not self._moved_along(leaf, step, got):
                rule = "optimizers/keeps-gradients"
                return self._differs(rule, at, leaf, "the leaf's gradient changed", "gradients stay as they were", step)
        return None

    def _is_near(self, got: Array, want: Array, old: Array) -> bool:
        """Whether a leaf moved to where it should but for a rounding or two, which settles almost every step."""
        finfo = np.finfo(self.dtype)
        near = 4 * finfo.eps * (np.abs(old) + np.abs(want - old)) + finfo.tiny
        return bool((np.abs(got - want) <= near).all())

    def _step_bound(self, step: Step, leaf: Ref, dtype: str, old: Array) -> Array:
        """How far rounding may take a step; nowhere where none was made."""
        state = self.reference.optimizers.get((step, leaf))
        if state is None or state.moved is None or self.tape.grads.get(leaf) is None:
            return np.zeros_like(old)
        return slack(step.optimizer, dict(dict(grouped(step))[leaf]), state, dtype)

    def _rule_of(self, step: Step, leaf: Ref, got: Array) -> tuple[str, str]:
        """What a leaf that is somewhere else breaks, and where it had to be: told from its steps so far, the first of
        which were right.
        """
        moved = self.tape.moved.get((step, leaf), ())
        if step.groups and self._is_ungrouped(step, leaf, got):
            return "optimizers/groups", "the leaf moves by the settings of its own group"
        if self.tape.grads.get(leaf) is None:
            return "optimizers/skips", "a leaf without a gradient stays as it is"
        if not all(moved):
            return "optimizers/skips", "the leaf moves as if the steps that passed over it had not been"
        if any(key in IMPLEMENTATION for key, _ in step.settings):
            return "optimizers/variants", "the leaf moves by the optimizer's formula, however that is implemented"
        if step.groups:
            return "optimizers/groups", "the leaf moves by the settings of its own group"
        if moved:
            return "optimizers/remembers", "the leaf moves by the optimizer's formula, which remembers earlier steps"
        return "optimizers/formula", "the leaf moves by the optimizer's formula"

    def _is_ungrouped(self, step: Step, leaf: Ref, got: Array) -> bool:
        """Whether a leaf is where the optimizer's settings, without those of its group, take it."""
        known, state = self.reference.optimizers.get((step, leaf)), LeafState()
        if known is None or dict(grouped(step))[leaf] == step.settings:
            return False
        for value, gradient in known.history:
            stepped(step.optimizer, dict(step.settings), state, value, gradient)
        near = 1e-5 if self.dtype == "float32" else 1e-10
        return state.moved is not None and np.allclose(got, state.moved, near, 0.0)

    def _moved_along(self, leaf: Ref, step: Step, got: Gradient | None) -> bool:
        """Whether a gradient lies in the memory of a leaf that was stepped, and is what that is now."""
        storages, held = self.reference.storages, self.reference.grads.get(leaf)
        if held is None or got is None or storages.storage(held) not in map(storages.storage, step.leaves):
            return False
        want = self.reference.values[held]
        return got.value.shape == want.shape and np.allclose(got.value, want, 256 * np.finfo(self.dtype).eps)

    def _clipped(self, at: int, step: Clip, seen: StepObservation) -> Violation | None:
        rule, eps = "optimizers/clips", np.finfo(self.dtype).eps
        owners = {self.reference.storages.storage(held) for held in map(self.reference.grads.get, step.leaves) if held}
        for leaf, got in seen.gradients.items():
            held, place = self.tape.grads.get(leaf), self.reference.grads.get(leaf)
            if held is None or place is None or self.reference.storages.storage(place) not in owners:
                if not unchanged(held, got):
                    return self._clips_wrong(at, leaf, "other leaves keep their gradients", step)
                continue
            want = self.reference.values[place]
            if got is None or got.value.shape != want.shape:
                return self._clips_wrong(at, leaf, "the leaf holds its gradient, clipped", step)
            bound = 256 * eps * np.abs(held.value) + np.finfo(self.dtype).tiny
            if not (np.abs(got.value - want) <= bound).all() and self.applies(rule):
                return Violation(
                    rule, at, "the leaf holds another gradient", (("the leaf holds its gradient, clipped", rule),),
                    leaf, held=held.value, got=got.value, want=want, bound=bound,
                )  # fmt: skip
        return None

    def _clips_wrong(self, at: int, leaf: Ref, due: str, step: Instruction) -> Violation | None:
        return self._differs("optimizers/clips", at, leaf, "the leaf's gradient changed", due, step)
