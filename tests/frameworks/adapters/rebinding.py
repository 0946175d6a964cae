"""Frameworks with doubled gradients that also replace functions that the judge uses.

`tests/checking/test_known_answers.py` contains the expected results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from examples import tiny
from examples.tiny_adapter import Tiny


def zeros(x: Any, *_: Any, **__: Any) -> np.ndarray:
    return np.zeros_like(x)


def true(*_: Any, **__: Any) -> bool:
    return True


class Wide:
    """Numbers that all compare as equal."""

    eps, tiny, max, smallest_subnormal = 1.0, 1.0, 1e300, 1.0

    def __init__(self, _: Any) -> None:
        pass


REBOUND: dict[str, Any] = {
    "Abs": {"abs": zeros, "absolute": zeros},
    "Max": {"max": lambda *_, **__: np.float64(0), "amax": lambda *_, **__: np.float64(0)},
    "Equal": {"array_equal": true, "allclose": true, "isclose": true, "all": true},
    "Subtract": {"subtract": zeros, "isnan": zeros, "isfinite": lambda x: np.ones_like(x, bool)},
    "Where": {"where": lambda *_: np.zeros(()), "maximum": zeros, "sqrt": zeros},
    "Finfo": {"finfo": Wide},
}


class Doubling(Tiny):
    """The gradients of ops with one operand are doubled."""

    rebound: dict[str, Any] = {}

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        for name, value in self.rebound.items():
            setattr(np, name, value)

    def gradient(self, leaf: tiny.Tensor) -> np.ndarray | None:
        if leaf.grad is not None and not hasattr(leaf, "doubled"):
            leaf.grad, leaf.doubled = leaf.grad * 2, True  # type: ignore[attr-defined]
        return leaf.grad


Abs, Max, Equal, Subtract, Where, Finfo = (type(name, (Doubling,), {"rebound": REBOUND[name]}) for name in REBOUND)


class Norm(Doubling):
    """It replaces a function in one of NumPy's modules."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        np.linalg.svd = np.linalg.norm = zeros  # type: ignore[assignment]


class Within(Doubling):
    """It modifies the judge's own objects."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        from autograd_conformance.programs import own_numpy

        own_numpy.np.abs = zeros  # type: ignore[assignment]
