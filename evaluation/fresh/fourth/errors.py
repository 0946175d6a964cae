"""Faults of refusals and of the state after an error."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograd_conformance.frameworks.adapter import HookRaised
from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, leaf_of, outcome, total


class OnlyFirstRootChecked(Fault):
    """Of several roots without cotangents, only the first must have one element; the others get ones."""

    rule = "errors/non-scalar-root"

    def _filled(self, roots: Sequence[Tensor], given: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
        return [
            np.ones(tuple(r.shape), self.dtype(r)) if k and c is None and r.numel() != 1 else c
            for k, (r, c) in enumerate(zip(roots, given, strict=True))
        ]

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[np.ndarray | None], *call: Any, **options: Any
    ) -> None:
        super().backward(roots, self._filled(roots, cotangents), *call, **options)

    def grad(
        self,
        roots: Sequence[Tensor],
        inputs: Sequence[Tensor],
        cotangents: Sequence[np.ndarray | None],
        *call: Any,
    ) -> Sequence[Tensor | None]:
        return super().grad(roots, inputs, self._filled(roots, cotangents), *call)


def witness_OnlyFirstRootChecked(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    return outcome(a, lambda: a.backward([total(a, x), applied(a, "sin", x)], [None, None], None))


class RaisingHookLeavesMode(Fault):
    """A call that ends by an exception in a hook does not switch recording on again; the next grad mode block does."""

    rule = "errors/recovers"

    def reset(self) -> None:
        super().reset()
        self.off = False

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if not self.off:
            return super().apply(op, operands, attrs)
        with torch.no_grad():
            return super().apply(op, operands, attrs)

    def mode(self, name: str) -> AbstractContextManager[Any]:
        self.off = False
        return super().mode(name)

    def backward(self, *call: Any, **options: Any) -> None:
        try:
            super().backward(*call, **options)
        except HookRaised:
            self.off = True
            raise

    def grad(self, *call: Any) -> Sequence[Tensor | None]:
        try:
            return super().grad(*call)
        except HookRaised:
            self.off = True
            raise


def witness_RaisingHookLeavesMode(a: Any) -> Any:
    def raises(_: Any) -> None:
        raise HookRaised

    x = leaf_of(a, [1.0, 2.0])
    a.hook(x, raises)
    first = outcome(a, lambda: a.backward([total(a, x)], [None], None))
    return first, a.requires_grad(applied(a, "sin", x))
