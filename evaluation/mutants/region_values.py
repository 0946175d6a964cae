"""Mutants whose fault is in the inputs and results of regions: their memory, history and hooks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch

from autograd_conformance.frameworks.adapter import HookFunction
from autograd_conformance.frameworks.pytorch.modes.layers import Function
from evaluation.mutants.mutant import gated
from evaluation.mutants.regions import PlainRegions, Tensors, shares


class SwapsResults(PlainRegions):
    """A region returns two results of the same shape and dtype in each other's place."""

    killed_by = ("gradients/forward", "gradients/requires-grad", "modes/no-grad-result")

    def change_results(self, made: Tensors, inputs: Tensors) -> Tensors:
        found = list(made)
        for k, (one, other) in enumerate(pairwise(made)):
            if one.shape == other.shape and one.dtype == other.dtype:
                found[k], found[k + 1] = other, one
                break
        return found


class LosesAliases(PlainRegions):
    """A region returns a copy instead of a view of an input."""

    killed_by = ("views/shares", "writes/aliases")

    def change_results(self, made: Tensors, inputs: Tensors) -> Tensors:
        return [y.clone() if any(shares(y, x) for x in inputs) else y for y in made]


class PartsResults(PlainRegions):
    """Of several results that share memory, a region returns all but the first as copies."""

    killed_by = ("views/shares", "writes/aliases")

    def change_results(self, made: Tensors, inputs: Tensors) -> Tensors:
        return [y.clone() if any(shares(y, before) for before in made[:k]) else y for k, y in enumerate(made)]


class DetachesLaterViews(PlainRegions):
    """Of several results that share memory, a region returns all but the first without history."""

    killed_by = ("gradients/requires-grad", "views/history", "views/shares", "accumulation/first")

    def change_results(self, made: Tensors, inputs: Tensors) -> Tensors:
        return [y.detach() if any(shares(y, before) for before in made[:k]) else y for k, y in enumerate(made)]


class LeavesViewsBehind(PlainRegions):
    """Autograd does not know that a result is a view of another result: a write to one does not enter the other's
    history.
    """

    killed_by = (
        "writes/aliases",
        "views/history",
        "writes/error-or-recorded",
        "gradients/requires-grad",
        "writes/requires-grad",
    )

    def change_results(self, made: Tensors, inputs: Tensors) -> Tensors:
        views = [any(shares(y, before) for before in made[:k]) for k, y in enumerate(made)]
        return [_Apart.apply(y) if view else y for y, view in zip(made, views, strict=True)]  # type: ignore[no-untyped-call]


class _Apart(torch.autograd.Function):
    """The same memory, which autograd takes for separate memory."""

    @staticmethod
    def forward(context: Any, value: torch.Tensor) -> torch.Tensor:
        return value.detach()

    @staticmethod
    def backward(context: Any, cotangent: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return cotangent


class GivesInputsOut(PlainRegions):
    """A region returns a view of an input instead of a copy that equals it."""

    killed_by = ("views/own-memory", "writes/nothing-else")

    def change_results(self, made: Tensors, inputs: Tensors) -> Tensors:
        found = []
        for y in made:
            same = (x for x in inputs if x.shape == y.shape and x.dtype == y.dtype and torch.equal(x, y))
            x = next((x for x in same if not shares(x, y) and x.requires_grad == y.requires_grad), None)
            found.append(y if x is None else x.view_as(x))
        return found


class CutsInputsGivenOut(PlainRegions):
    """A region returns a result that is the whole of an input without history."""

    killed_by = ("gradients/requires-grad", "gradients/graph")

    def change_results(self, made: Tensors, inputs: Tensors) -> Tensors:
        return [y.detach() if any(shares(y, x) and y.shape == x.shape for x in inputs) else y for y in made]


class LastResultAlone(PlainRegions):
    """Of a region's results that require grad, only the last one propagates gradients."""

    killed_by = ("gradients/graph", "gradients/op", "accumulation/first")

    def change_results(self, made: Tensors, inputs: Tensors) -> Tensors:
        last = max((k for k, y in enumerate(made) if y.requires_grad), default=0)
        return [y if k == last or y._is_view() else gated(y, torch.zeros_like) for k, y in enumerate(made)]


class TiesInputs(PlainRegions):
    """Every result of a region depends on all inputs of the region: inputs that it does not use get zeros instead of
    None.
    """

    killed_by = ("accumulation/unreached", "functional/unused-none")

    def change_results(self, made: Tensors, inputs: Tensors) -> Tensors:
        ties = sum(0 * x.sum() for x in inputs if x.requires_grad)
        return [y if y._is_view() or not y.requires_grad or y.is_leaf else y + ties for y in made]


class DropsHooks(PlainRegions):
    """A hook on one of several results of a region is never called."""

    killed_by = ("hooks/called",)

    def reset(self) -> None:
        super().reset()
        self.among: list[torch.Tensor] = []

    def change_results(self, made: Tensors, inputs: Tensors) -> Tensors:
        self.among += made if len(made) > 1 else ()
        return made

    def hook(self, value: torch.Tensor, function: HookFunction) -> Any:
        handle = super().hook(value, function)
        if any(value is each for each in self.among):
            handle.remove()
        return handle


class HooksAreTooLate(PlainRegions):
    """A hook on a value that was an input of a region is never called if it is registered after the region ran."""

    killed_by = ("hooks/called",)

    def reset(self) -> None:
        super().reset()
        self.used: list[torch.Tensor] = []

    def change_inputs(self, inputs: Tensors) -> Tensors:
        self.used += inputs
        return inputs

    def hook(self, value: torch.Tensor, function: HookFunction) -> Any:
        handle = super().hook(value, function)
        if any(value is each for each in self.used):
            handle.remove()
        return handle


class ForgetsRetaining(DropsHooks):
    """One of several results of a region does not retain its gradient though retain_grad was called."""

    killed_by = ("hooks/retained",)

    def hook(self, value: torch.Tensor, function: HookFunction) -> Any:
        return PlainRegions.hook(self, value, function)

    def retain_grad(self, value: torch.Tensor) -> None:
        if not any(value is each for each in self.among):
            super().retain_grad(value)


# -- inputs ------------------------------------------------------------------------------------------------------------


class FirstOfTwins(PlainRegions):
    """Of several inputs that share memory, only the first gets a gradient; the others get zeros."""

    killed_by = ("views/shares", "accumulation/adds", "accumulation/first", "gradients/fan-out", "gradients/graph")

    def change_inputs(self, inputs: Tensors) -> Tensors:
        twins = [any(shares(x, before) for before in inputs[:k]) for k, x in enumerate(inputs)]
        return [gated(x, torch.zeros_like) if twin else x for x, twin in zip(inputs, twins, strict=True)]


class TakesNumbers(PlainRegions):
    """A region takes a 0-d input for a Python number: the input gets no gradient."""

    killed_by = ("gradients/form", "gradients/graph", "gradients/requires-grad", "accumulation/first", "gradients/op")

    def change_inputs(self, inputs: Tensors) -> Tensors:
        return [x if x.dim() else x.detach().clone() for x in inputs]


class NumbersGetAMean(PlainRegions):
    """A 0-d input that is broadcast gets the mean instead of the sum of its gradient contributions."""

    killed_by = ("gradients/form", "gradients/graph", "gradients/op")

    def change_inputs(self, inputs: Tensors) -> Tensors:
        most = max((x.numel() for x in inputs), default=1)
        return [gated(x, lambda ct: ct / max(1, most)) if not x.dim() and most > 1 else x for x in inputs]


class SkipsEmpties(PlainRegions):
    """A region with an empty input is not recorded."""

    killed_by = ("gradients/requires-grad", "gradients/form")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        with torch.set_grad_enabled(torch.is_grad_enabled() and all(x.numel() for x in inputs)):
            return super().called(function, inputs)


class LosesWrites(PlainRegions):
    """Writes of a region to its inputs are lost."""

    killed_by = ("writes/value", "writes/aliases")

    def change_inputs(self, inputs: Tensors) -> Tensors:
        return [x.clone() for x in inputs]


class WritesTwice(PlainRegions):
    """A region that writes to its inputs runs twice, so that it writes twice."""

    killed_by = ("writes/value",)

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        before = [x._version for x in inputs]
        made = super().called(function, inputs)
        written = [x._version for x in inputs] != before
        return super().called(function, inputs) if written else made


class WritesApart(PlainRegions):
    """A region treats inputs that share memory as separate: a write to one does not change the other inside
    the region.
    """

    killed_by = ("views/shares", "writes/aliases", "gradients/forward")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        if not any(shares(x, before) for k, x in enumerate(inputs) for before in inputs[:k]):
            return super().called(function, inputs)
        apart = [x.clone() for x in inputs]
        versions = [x._version for x in apart]
        made = super().called(function, apart)
        for outer, inner, version in zip(inputs, apart, versions, strict=True):
            if inner._version != version:
                outer.copy_(inner)
        return made
