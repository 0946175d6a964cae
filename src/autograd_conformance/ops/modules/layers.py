"""Layers that act on one input: linear, convolution, normalisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

from autograd_conformance.ops.modules.module import (
    Call,
    Given,
    Module,
    Named,
    Settings,
    Size,
    Sizes,
    made,
    module,
    unless,
)
from autograd_conformance.ops.rows.domains import ANY, POSITIVE
from autograd_conformance.programs.own_numpy import np

EPS = 1e-5
"""The number that PyTorch's normalisations add to a variance."""


def _linear(j, x, weight, *shift, bias):
    out = j.np.matmul(x, weight.T)
    return out + shift[0] if bias else out


def _linear_parameters(settings: Settings, sizes: Sizes) -> Named:
    weight = ("weight", (sizes["outputs"], sizes["inputs"]))
    return (weight, ("bias", (sizes["outputs"],))) if settings["bias"] else (weight,)


def _linear_call(given: Given, settings: Settings) -> Call:
    return Call(
        made("Linear", Size("weight", 1), Size("weight", 0), bias=unless(True, settings["bias"])), (given["x"],)
    )


# -- convolution: a sum over the kernel's taps, each of which reads a strided slice of the padded input


def _convolve(j, x, weight, *shift, stride, padding, bias):
    rank = weight.ndim - 2
    alone = x.ndim == rank + 1
    x = x[None] if alone else x
    x = j.np.pad(x, ((0, 0), (0, 0), *((padding, padding),) * rank))
    lengths = [(n - k) // stride + 1 for n, k in zip(x.shape[2:], weight.shape[2:], strict=True)]
    total: Any = 0.0
    for tap in product(*map(range, weight.shape[2:])):
        stops = tuple(at + (n - 1) * stride + 1 for at, n in zip(tap, lengths, strict=True))
        window = j.lax.slice(x, (0, 0, *tap), (*x.shape[:2], *stops), (1, 1, *(stride,) * rank))
        factors = j.lax.slice(weight, (0, 0, *tap), (*weight.shape[:2], *(at + 1 for at in tap)))
        total = total + j.np.einsum("nc...,oc->no...", window, j.np.reshape(factors, weight.shape[:2]))
    total = total + j.np.reshape(shift[0], (1, -1, *(1,) * rank)) if bias else total
    return total[0] if alone else total


def _convolution(rank: int) -> Module:
    def parameters(settings: Settings, sizes: Sizes) -> Named:
        weight = ("weight", (sizes["outputs"], sizes["inputs"], *(sizes["kernel"],) * rank))
        return (weight, ("bias", (sizes["outputs"],))) if settings["bias"] else (weight,)

    def call(given: Given, settings: Settings) -> Call:
        layer = made(
            f"Conv{rank}d", Size("weight", 1), Size("weight", 0), Size("weight", 2, onwards=True),
            stride=unless(1, settings["stride"]), padding=unless(0, settings["padding"]),
            bias=unless(True, settings["bias"]),
        )  # fmt: skip
        return Call(layer, (given["x"],))

    # One backward op serves input and kernel: both are saved, whichever requires grad.
    sizes = ("inputs", "outputs", "kernel")
    whole = (("stride", 1), ("padding", 0), ("bias", True))
    return module(f"nn_conv{rank}d", call, _convolve, parameters, sizes, whole, unsaved=(2,), also_saves=(0, 1))


# -- normalisation


def _by_channel(j, values, x):
    return j.np.reshape(values, (1, -1, *(1,) * (x.ndim - 2)))


def _centred(j, x, axes):
    centred = x - j.np.mean(x, axis=axes, keepdims=True)
    return centred / j.np.sqrt(j.np.mean(centred * centred, axis=axes, keepdims=True) + EPS)


def _batch(j, x, *scales, dimensions, affine):
    out = _centred(j, x, (0, *range(2, x.ndim)))
    return out * _by_channel(j, scales[0], x) + _by_channel(j, scales[1], x) if affine else out


def _batch_running(j, x, mean, var, *scales, dimensions, affine):
    out = (x - _by_channel(j, mean, x)) / _by_channel(j, j.np.sqrt(var + EPS), x)
    return out * _by_channel(j, scales[0], x) + _by_channel(j, scales[1], x) if affine else out


def _spreads(x: np.ndarray, *scales: np.ndarray) -> bool:
    """Whether the values of every channel vary enough (variance at least 0.01) for a normalisation to be smooth."""
    return x.size > 0 and bool(np.var(x, axis=(0, *range(2, x.ndim))).min() >= 0.01)


def _scales(settings: Settings, shape: tuple[int, ...]) -> Named:
    return (("weight", shape), ("bias", shape)) if settings["affine"] else ()


def _batch_norm(name: str, running: bool, reference: Callable[..., Any], **fields: Any) -> Module:
    def parameters(settings: Settings, sizes: Sizes) -> Named:
        shape = (sizes["features"],)
        statistics: Named = (("running_mean", shape), ("running_var", shape)) if running else ()
        return (*statistics, *_scales(settings, shape))

    def call(given: Given, settings: Settings) -> Call:
        layer = made(
            f"BatchNorm{int(settings['dimensions'])}d", Size("x", 1), affine=unless(True, settings["affine"]),
            track_running_stats=None if running else "False",
        )  # fmt: skip
        return Call(replace(layer, evaluates=running), (given["x"],))

    whole = (("dimensions", 1), ("affine", True))
    return module(name, call, reference, parameters, ("features",), whole, **fields)


def _layer(j, x, *scales, normalized_shape, affine):
    out = _centred(j, x, tuple(range(x.ndim - len(normalized_shape), x.ndim)))
    return out * scales[0] + scales[1] if affine else out


def _layer_parameters(settings: Settings, sizes: Sizes) -> Named:
    return _scales(settings, settings["normalized_shape"])


def _rows_spread(x: np.ndarray, *scales: np.ndarray) -> bool:
    """Whether the values of every row vary enough (variance at least 0.01) for a normalisation over the row, or over
    several rows, to be smooth.
    """
    return x.size > 0 and bool(np.var(x, axis=-1).min() >= 0.01)


def _layer_call(given: Given, settings: Settings) -> Call:
    affine = unless(True, settings["affine"])
    return Call(made("LayerNorm", settings["normalized_shape"], elementwise_affine=affine), (given["x"],))


LAYERS = (
    module(
        "nn_linear",
        _linear_call,
        _linear,
        _linear_parameters,
        ("inputs", "outputs"),
        (("bias", True),),
        unsaved=(2,),
    ),
    _convolution(1),
    _convolution(2),
    _batch_norm("nn_batch_norm", False, _batch, apart=_spreads, unsaved=(2,), also_saves=(0, 1)),
    _batch_norm(
        "nn_batch_norm_eval",
        True,
        _batch_running,
        domains=(ANY, ANY, POSITIVE, ANY),
        unsaved=(4,),
        also_saves=(0, 1, 2, 3),
    ),
    module(
        "nn_layer_norm",
        _layer_call,
        _layer,
        _layer_parameters,
        (),
        (("normalized_shape", (2,)), ("affine", True)),
        apart=_rows_spread,
        unsaved=(2,),
        also_saves=(0, 1, 2),
    ),
)
