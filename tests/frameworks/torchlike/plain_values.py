"""The small autograd of `plain`, in which every tensor may hold a gradient: its class takes an array alone."""

from __future__ import annotations

import numpy as np

from tests.frameworks.torchlike import plain


class Tensor(plain.Tensor):
    """A leaf."""

    def __init__(self, data: np.ndarray) -> None:
        super().__init__(data, True)
