"""The functions of MLX."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from autograd_conformance.adapters.mlx.adapter import Mlx
from evaluation.pages.functions.function import Notes
from evaluation.pages.functions.library import Library
from evaluation.pages.functions.trial import Outcome


def differentiate(function: Callable[..., Any], operands: Sequence[mx.array]) -> Outcome:
    """Differentiate a function with `mx.vjp`."""

    def floats(*operands: mx.array) -> list[mx.array]:
        return [x for x in arrays(function(*operands)) if mx.issubdtype(x.dtype, mx.inexact)]

    results = floats(*operands)
    if not results:
        return Outcome.NO_FLOATS
    cotangents = [(mx.arange(x.size).reshape(x.shape) / 4 + 0.5).astype(x.dtype) for x in results]
    _, gradients = mx.vjp(floats, list(operands), cotangents)
    return Outcome.DERIVATIVE if any(mx.any(x != 0).item() for x in gradients) else Outcome.ZERO


def arrays(results: Any) -> Iterator[mx.array]:
    """The arrays of a function's results; `TypeError` for what is no array, and for no results."""
    match results:
        case mx.array():
            yield results
        case [_, *_]:
            for each in results:
                yield from arrays(each)
        case _:
            raise TypeError("no array")


def library() -> Library:
    """MLX's modules of functions."""
    return Library(
        "mlx",
        {
            "mx": mx, "mx.linalg": mx.linalg, "mx.fft": mx.fft, "mx.fast": mx.fast, "nn": nn, "nn.losses": nn.losses,
        },
        Mlx,
        mx.array,
        differentiate,
        Notes.of("mlx"),
    )  # fmt: skip
