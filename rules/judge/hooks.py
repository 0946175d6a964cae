"""What hooks were called with, how often, and in which order."""

from __future__ import annotations

import numpy as np
from autograd_conformance.programs.language import Backward, BackwardCall, Hook, Ref
from autograd_conformance.programs.observations import HookCall, StepObservation
from autograd_conformance.reference.bounds import close, gradient_bound
from autograd_conformance.rules.judge.gradients import HUGE, Holdings
from autograd_conformance.rules.judge.violation import Violation
from autograd_conformance.rules.tape.graph import Expectation


class Watching(Holdings):
    """The checks of hooks."""

    def _hooks(self, at: int, call: BackwardCall, expectation: Expectation, seen: StepObservation) -> Violation | None:
        """What the hooks saw of a call that returned."""
        reference, traversal = self.reference, expectation.traversal
        if not reference.hooks and not reference.accumulated_hooks and not seen.fired:
            return None
        due = dict(reference.hook_calls(call))
        surely = {handle for handle, _ in self.tape.hooks_on(traversal.must_fire - reference.rebased)}
        maybe = {handle for handle, _ in self.tape.hooks_on(traversal.may_fire | traversal.must_fire)}
        after: set[Ref] = set()
        if isinstance(call, Backward):
            reached = traversal.must_reach | traversal.may_fire
            maybe |= {handle for edge in reached for handle, _ in reference.accumulated_hooks.get(edge, ())}
            after = {
                handle
                for leaf in traversal.leaves
                for handle, _ in reference.accumulated_hooks.get(reference.edge(leaf), ())
            }
        counts: dict[Ref, int] = {}
        for fired in seen.fired:
            counts[fired.hook] = counts.get(fired.hook, 0) + 1
        for handle in counts:
            if handle not in surely | maybe | after:
                rule = "hooks/removed" if self._is_removed(handle) else "hooks/called"
                return self._hook(rule, at, handle, "the hook was called", "the hook is not called", call)
            if counts[handle] > 1:
                times = f"the hook was called {counts[handle]} times"
                return self._hook("hooks/called", at, handle, times, "the hook is called once", call)
        for handle in sorted(surely):
            if handle not in counts and due.get(handle) is not None and self._matters(call, handle, due[handle]):
                return self._hook("hooks/called", at, handle, "the hook was not called", "the hook is called", call)
        contributed = self.reference.pullback(call)
        for handle in sorted(after):
            value = contributed.get(reference.edge(self.program[handle.at].target))  # type: ignore[union-attr]
            if handle not in counts and value is not None and self._matters(call, handle, value):
                text = "the hook was not called"
                return self._hook("hooks/accumulated", at, handle, text, "the hook is called", call)
        return self._what_they_saw(at, call, seen, due, surely, after) or self._order(at, call, seen, surely)

    def _matters(self, call: BackwardCall, handle: Ref, value: np.ndarray) -> bool:
        """A gradient that is zero throughout may stay undefined."""
        return bool(value.any()) and bool(np.abs(value).max() > 1e-12)

    def _is_removed(self, handle: Ref) -> bool:
        on = (*self.reference.hooks.values(), *self.reference.accumulated_hooks.values())
        return all(handle != other for entries in on for other, _ in entries)

    def _what_they_saw(
        self,
        at: int,
        call: BackwardCall,
        seen: StepObservation,
        due: dict[Ref, np.ndarray],
        surely: set[Ref],
        after: set[Ref],
    ) -> Violation | None:
        for fired in seen.fired:
            step = self.program[fired.hook.at]
            assert isinstance(step, Hook)
            want = due.get(fired.hook)
            if fired.hook in after:
                gradient = seen.gradients.get(step.target)
                if not _same(fired.value, None if gradient is None else gradient.value):
                    text = "the hook saw another gradient"
                    return self._hook("hooks/accumulated", at, fired.hook, text, "what the leaf holds", call)
            elif fired.hook in surely and want is not None and not self._agrees(call, fired, step, want):
                if not self.applies("hooks/called"):
                    continue
                return Violation(
                    "hooks/called", at, "the hook was called with another gradient",
                    (("the hook is called with the value's whole gradient", "hooks/called"),), step.target,
                    got=fired.value, want=want,
                )  # fmt: skip
        return None

    def _agrees(self, call: BackwardCall, fired: HookCall, step: Hook, want: np.ndarray) -> bool:
        if fired.value is None:
            return not self._matters(call, fired.hook, want)
        if fired.value.shape != want.shape:
            return False
        if close(fired.value, want, self.dtype) or not np.abs(want).max() < HUGE:
            return True
        bound = gradient_bound(self.reference, call, self.reference.edge(step.target), self.dtype, fired.hook)
        return bool((np.abs(fired.value - want) <= bound).all())

    def _order(self, at: int, call: BackwardCall, seen: StepObservation, surely: set[Ref]) -> Violation | None:
        """Hooks of one value are called in the order in which they were registered."""
        place = {fired.hook: n for n, fired in enumerate(seen.fired)}
        for entries in self.reference.hooks.values():
            order = [place[handle] for handle, _ in entries if handle in place and handle in surely]
            if order != sorted(order):
                handle = entries[0][0]
                text = "the hooks of one value were called in another order"
                return self._hook("hooks/order", at, handle, text, "in the order of their registration", call)
        return None

    def _hook(self, rule: str, at: int, handle: Ref, seen: str, due: str, call: BackwardCall) -> Violation | None:
        step = self.program[handle.at]
        assert isinstance(step, Hook)
        return self._differs(rule, at, step.target, seen, due, call)


def _same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return one is other  # a gradient of zeros may stay undefined
    return np.array_equal(one, other, equal_nan=True)
