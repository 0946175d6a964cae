"""Adapters that end or hang the process of a check, that are slow, and that raise one error for everything."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

import numpy as np

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind
from examples import tiny
from examples.tiny_adapter import Tiny


class LeavesAtExp(Tiny):
    """The exponential ends the process, after a message."""

    name = "leaves at exp"

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op == "exp":
            print("Index 2 out of bounds", file=sys.stderr, flush=True)
            os._exit(1)
        return super().apply(op, operands, attrs)


class HangsAtExp(Tiny):
    """The exponential does not return."""

    name = "hangs at exp"

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        while op == "exp":
            time.sleep(1)
        return super().apply(op, operands, attrs)


class LeavesWhileProbed(Tiny):
    """The process ends with the first tensor."""

    name = "leaves while probed"

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        os._exit(3)


class SlowAtExp(Tiny):
    """The exponential takes long."""

    name = "slow at exp"

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op == "exp":
            time.sleep(1.25)
        return super().apply(op, operands, attrs)


class SaysOneThing(Tiny):
    """The same error is raised for a root that does not require grad and for a legal backward from an exponential."""

    name = "says one thing"
    packages = (__name__,)
    insists = ()
    dialect = None  # type: ignore[assignment]
    capabilities = Tiny.capabilities - {Capability.NON_SCALAR_CHECK, Capability.COTANGENT_CHECK}

    def backward(
        self, roots: Sequence[tiny.Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        if any(not root.requires_grad or getattr(root, "is_exp", False) for root in roots):
            raise ValueError("the node is not in the graph")
        super().backward(roots, cotangents, retain_graph)

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        found = super().apply(op, operands, attrs)
        found[0].is_exp = op == "exp"  # type: ignore[attr-defined]
        return found

    def classify(self, error: BaseException) -> Kind:
        return Kind.UNKNOWN if isinstance(error, ValueError) else super().classify(error)


class SaysOneThingRightly(SaysOneThing):
    """The error is raised only where one has to be."""

    name = "says one thing rightly"

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        return Tiny.apply(self, op, operands, attrs)
