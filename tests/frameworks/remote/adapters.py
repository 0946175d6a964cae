"""Adapters for the worker: the tiny framework with one addition each."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

import numpy as np

from autograd_conformance.programs.language import Attrs
from examples.tiny import Tensor
from examples.tiny_adapter import Tiny


class Chatty(Tiny):
    """It prints from Python and to file descriptor 1, and reads standard input."""

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        print("computing", op)
        os.write(1, b"computing\n")
        assert not os.read(0, 1)
        return super().apply(op, operands, attrs)


class Drawing(Tiny):
    """Its sine is random noise."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.random = random.Random()

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        (made,) = super().apply(op, operands, attrs)
        return (Tensor(made.data + np.array([self.random.random() for _ in made.data.flat]).reshape(made.data.shape)),)
