"""Templates with which programs are printed as MLX code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograd_conformance.frameworks.running.templates import OPERATORS, indices, narrow, over, select, split
from autograd_conformance.printing.dialect import Template
from autograd_conformance.printing.functional import functional

Names = Sequence[str]
Attributes = Mapping[str, Any]


def _of_classes(function: str, options: str = "") -> Template:
    """Makes a template of a classification loss: the classes are along the first dimension for one sample, and along
    the second for a batch.
    """

    def code(x: Names, attrs: Attributes) -> str:
        target, axis = attrs["target"], 0 if isinstance(attrs["target"], int) else 1
        given = options.format(**attrs)
        return f"{function}({x[0]}, mx.array({target}), axis={axis}{given}, reduction={attrs['reduction']!r})"

    return code


def _index_add(x: Names, attrs: Attributes) -> str:
    part = indices(attrs["dim"], f"mx.array({attrs['index']})")
    return f"{x[0]}.at[{part}].add({x[1]})"


OPS: Mapping[str, Template] = {
    **OPERATORS,
    "reciprocal": "mx.reciprocal({0})",
    "square": "mx.square({0})",
    "sqrt": "mx.sqrt({0})",
    "rsqrt": "mx.rsqrt({0})",
    "abs": "mx.abs({0})",
    "clip": "mx.clip({0}, {min}, {max})",
    "exp": "mx.exp({0})",
    "expm1": "mx.expm1({0})",
    "log": "mx.log({0})",
    "log2": "mx.log2({0})",
    "log10": "mx.log10({0})",
    "log1p": "mx.log1p({0})",
    "sigmoid": "mx.sigmoid({0})",
    "sin": "mx.sin({0})",
    "cos": "mx.cos({0})",
    "tan": "mx.tan({0})",
    "asin": "mx.arcsin({0})",
    "acos": "mx.arccos({0})",
    "atan": "mx.arctan({0})",
    "sinh": "mx.sinh({0})",
    "cosh": "mx.cosh({0})",
    "tanh": "mx.tanh({0})",
    "asinh": "mx.arcsinh({0})",
    "acosh": "mx.arccosh({0})",
    "atanh": "mx.arctanh({0})",
    "deg2rad": "mx.radians({0})",
    "erf": "mx.erf({0})",
    "erfinv": "mx.erfinv({0})",
    "sign": "mx.sign({0})",
    "floor": "mx.floor({0})",
    "ceil": "mx.ceil({0})",
    "round": "mx.round({0})",
    "astype_float32": "{0}.astype(mx.float32)",
    "atan2": "mx.arctan2({0}, {1})",
    "logaddexp": "mx.logaddexp({0}, {1})",
    "maximum": "mx.maximum({0}, {1})",
    "minimum": "mx.minimum({0}, {1})",
    "where": "mx.where(mx.array({mask}), {0}, {1})",
    "relu": "nn.relu({0})",
    "relu6": "nn.relu6({0})",
    "leaky_relu": "nn.leaky_relu({0}, {slope})",
    "elu": "nn.elu({0}, {alpha})",
    "celu": "nn.celu({0}, {alpha})",
    "selu": "nn.selu({0})",
    "gelu": "nn.gelu({0})",
    "gelu_tanh": "nn.gelu_approx({0})",
    "silu": "nn.silu({0})",
    "mish": "nn.mish({0})",
    "logsigmoid": "nn.log_sigmoid({0})",
    "softsign": "nn.softsign({0})",
    "softshrink": "nn.softshrink({0}, {lambd})",
    "hardshrink": "nn.hard_shrink({0}, {lambd})",
    "hardtanh": "nn.hard_tanh({0})",
    "hardswish": "nn.hardswish({0})",
    "glu": "nn.glu({0}, axis={dim})",
    "sum": over("mx.sum"),
    "mean": over("mx.mean"),
    "prod": "mx.prod({0})",
    "prod_dim": "mx.prod({0}, axis={dim}, keepdims={keepdim})",
    "logsumexp": over("mx.logsumexp"),
    "var": "mx.var({0}, axis={dim}, ddof={correction}, keepdims={keepdim})",
    "std": "mx.std({0}, axis={dim}, ddof={correction}, keepdims={keepdim})",
    "max": "mx.max({0})",
    "min": "mx.min({0})",
    "amax": over("mx.max"),
    "amin": over("mx.min"),
    "max_dim": "mx.max({0}, axis={dim}, keepdims={keepdim})",
    "min_dim": "mx.min({0}, axis={dim}, keepdims={keepdim})",
    "cumulative_sum": "mx.cumsum({0}, axis={dim})",
    "cumulative_prod": "mx.cumprod({0}, axis={dim})",
    "logcumsumexp": "mx.logcumsumexp({0}, axis={dim})",
    "cummax": "mx.cummax({0}, axis={dim})",
    "cummin": "mx.cummin({0}, axis={dim})",
    "diff": "mx.diff({0}, n={n}, axis={dim})",
    "reshape": "mx.reshape({0}, {shape})",
    "permute_dims": "mx.transpose({0}, {dims})",
    "matrix_transpose": "mx.matrix_transpose({0})",
    "transpose": "mx.swapaxes({0}, {dim0}, {dim1})",
    "expand_dims": "mx.expand_dims({0}, {dim})",
    "squeeze": "mx.squeeze({0}, {dim})",
    "flatten": "mx.flatten({0}, {start_dim}, {end_dim})",
    "unflatten": "mx.unflatten({0}, {dim}, {sizes})",
    "flip": "mx.flip({0}, {dims})",
    "roll": "mx.roll({0}, {shifts}, {dims})",
    "broadcast_to": "mx.broadcast_to({0}, {shape})",
    "tile": "mx.tile({0}, {dims})",
    "repeat": "mx.repeat({0}, {repeats}, axis={dim})",
    "concat": "mx.concatenate([{0}, {1}], axis={dim})",
    "concat_three": "mx.concatenate([{0}, {1}, {2}], axis={dim})",
    "stack": "mx.stack([{0}, {1}], axis={dim})",
    "stack_three": "mx.stack([{0}, {1}, {2}], axis={dim})",
    "split": split("mx.split"),
    "unstack": "mx.unstack({0}, axis={dim})",
    "select": select,
    "narrow": narrow,
    "take_along_axis": "mx.take_along_axis({0}, mx.array({index}), axis={dim})",
    "take_flat": "mx.take({0}, mx.array({index}))",
    "index": "{0}[mx.array({index})]",
    "embedding": "{0}[mx.array({index})]",
    "index_add": _index_add,
    "masked_fill": "mx.where(mx.array({mask}), {value}, {0})",
    "tril": "mx.tril({0}, {diagonal})",
    "triu": "mx.triu({0}, {diagonal})",
    "diagonal": "mx.diagonal({0}, {offset}, -2, -1)",
    "trace": "mx.trace({0})",
    "matmul": "{0} @ {1}",
    "mm": "mx.matmul({0}, {1})",
    "mv": "mx.matmul({0}, {1})",
    "dot": "mx.inner({0}, {1})",
    "bmm": "mx.matmul({0}, {1})",
    "vecdot": "mx.vecdot({0}, {1}, axis={dim})",
    "outer": "mx.outer({0}, {1})",
    "inner": "mx.inner({0}, {1})",
    "tensordot": "mx.tensordot({0}, {1}, axes={dims})",
    "einsum": "mx.einsum({equation}, {0}, {1})",
    "einsum_three": "mx.einsum({equation}, {0}, {1}, {2})",
    "cross": "mx.linalg.cross({0}, {1}, axis={dim})",
    "addmm": "mx.addmm({0}, {1}, {2}, alpha={alpha}, beta={beta})",
    "softmax": "mx.softmax({0}, axis={dim})",
    "cross_entropy": _of_classes("nn.losses.cross_entropy", ", label_smoothing={label_smoothing}"),
    "nll_loss": _of_classes("nn.losses.nll_loss"),
    "mse_loss": "nn.losses.mse_loss({0}, {1}, reduction={reduction})",
    "l1_loss": "nn.losses.l1_loss({0}, {1}, reduction={reduction})",
    "huber_loss": "nn.losses.huber_loss({0}, {1}, delta={delta}, reduction={reduction})",
    "smooth_l1_loss": "nn.losses.smooth_l1_loss({0}, {1}, beta={beta}, reduction={reduction})",
    "binary_cross_entropy": "nn.losses.binary_cross_entropy({0}, {1}, with_logits=False, reduction={reduction})",
    "bce_with_logits": "nn.losses.binary_cross_entropy({0}, {1}, reduction={reduction})",
    "gaussian_nll_loss": "nn.losses.gaussian_nll_loss({0}, {1}, {2}, reduction={reduction})",
    "cosine_similarity": "nn.losses.cosine_similarity_loss({0}, {1}, axis={dim})",
    "det": "mx.linalg.det({0})",
    "slogdet": "mx.linalg.slogdet({0})",
    "matrix_norm": "mx.linalg.norm({0}, axis=(-2, -1))",
}
"""Template of the code for each op, by the suite's name of the op: a function of MLX that has a derivative, for all
attributes and shapes. Left out: `mx.kron` of empty arrays; `mx.take` from an empty array, whose derivative crashes the
process; `nn.log_softmax` and `nn.softmin`, which crash the process over a dimension of size one.
"""

DIALECT = functional(
    prelude="import mlx.core as mx\nimport mlx.nn as nn",
    tensor="mx.array({data}, mx.{dtype})",
    empty="mx.zeros({shape}, mx.{dtype})",
    ops=OPS,
    sequences=frozenset({"split", "unstack"}),
    detach="mx.stop_gradient({source})",
    vjp="mx.vjp({function}, [{inputs}], [{cotangents}])[1]",
    ones="mx.ones_like({root})",
    together="[{values}]",
    error="(RuntimeError, ValueError)",
)
