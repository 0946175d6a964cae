"""Faults of calls that fail or must fail."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograd_conformance.frameworks.adapter import HookRaised
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, leaf_of, walked


class RecordingOff(Fault):
    """A call that ends by an exception in a hook leaves recording off, as during a backward pass, until another call
    returns.
    """

    rule = "errors/recovers"

    def reset(self) -> None:
        super().reset()
        self.off = False

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        with torch.no_grad() if self.off else nullcontext():
            return super().apply(op, operands, attrs)

    def backward(
        self, roots: Any, cotangents: Any, retain_graph: Any, create_graph: bool = False, inputs: Any = None
    ) -> None:
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except HookRaised:
            self.off = not create_graph
            raise
        self.off = False


def witness_RecordingOff(a: Any) -> Any:
    x = leaf_of(a, 2.0)
    y = applied(a, "exp", x)

    def raises(gradient: Any) -> None:
        raise HookRaised

    handle = a.hook(y, raises)
    told = walked(a, y)
    a.remove(handle)
    return [told, a.requires_grad(applied(a, "sin", x))]


class EmptyRoot(Fault):
    """A root without elements gets an implicit cotangent, since it has at most one element."""

    rule = "errors/non-scalar-root"

    def backward(
        self, roots: Any, cotangents: Any, retain_graph: Any, create_graph: bool = False, inputs: Any = None
    ) -> None:
        given = [
            np.zeros(tuple(r.shape), self.dtype(r)) if c is None and r.numel() == 0 else c
            for r, c in zip(roots, cotangents, strict=True)
        ]
        super().backward(roots, given, retain_graph, create_graph, inputs)


def witness_EmptyRoot(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    return walked(a, applied(a, "narrow", x, dim=0, start=0, length=0))
