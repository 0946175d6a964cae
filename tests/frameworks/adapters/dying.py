"""An adapter whose framework crashes or hangs in some ops."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence

import numpy as np

from autograd_conformance.programs.language import Attrs
from examples.tiny import Tensor
from examples.tiny_adapter import Tiny
from tests.frameworks.adapters.wrong import WrongSine


class Dying(Tiny):
    """`exp` dies of SIGSEGV, `negative` exits without a message, and `mm` hangs."""

    name = "dying"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        match op:
            case "exp":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "negative":
                os._exit(0)
            case "mm":
                time.sleep(1e6)
        return super().apply(op, operands, attrs)


class DiesInExp(Tiny):
    """`exp` dies of SIGSEGV."""

    name = "dies in exp"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op == "exp":
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().apply(op, operands, attrs)


class Explains(Tiny):
    """`exp` says why and exits, as C libraries do."""

    name = "explains"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op == "exp":
            print("dimensions 2 and 3 do not match", file=sys.stderr, flush=True)
            os._exit(1)
        return super().apply(op, operands, attrs)


class DyingLater(WrongSine):
    """The derivative of `sin` is `sin`. A leaf that finite differences have changed crashes the process."""

    name = "dying later"

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.last = np.zeros(0)

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        if data.shape == self.last.shape and 0 < np.abs(data - self.last).max(initial=0) < 1e-4:
            os.kill(os.getpid(), signal.SIGSEGV)
        self.last = data
        return super().leaf(data, requires_grad)
