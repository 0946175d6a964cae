"""Templates with which programs are printed as MLX code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograd_conformance.frameworks.running.templates import OPERATORS, indices, narrow, over, select, split
from autograd_conformance.ops.limits import Limit, Limits
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


def _pad(x: Names, attrs: Attributes) -> str:
    widths = [attrs["pad"][k : k + 2] for k in reversed(range(0, len(attrs["pad"]), 2))]
    return f"mx.pad({x[0]}, [(0, 0)] * ({x[0]}.ndim - {len(widths)}) + {widths}, constant_values={attrs['value']})"


def _pad_border(x: Names, attrs: Attributes) -> str:
    mode = {"reflect": "reflect", "replicate": "edge"}[attrs["mode"]]
    return f"mx.pad({x[0]}, [(0, 0)] * ({x[0]}.ndim - 1) + [{attrs['pad']}], mode={mode!r})"


def _attention(x: Names, attrs: Attributes) -> str:
    """The code of attention with one head, which MLX has in front of the positions."""
    heads = ", ".join(f"{name}[:, None]" for name in x)
    mask = ", mask='causal'" if attrs["is_causal"] else ""
    return f"mx.fast.scaled_dot_product_attention({heads}, scale={x[0]}.shape[-1] ** -0.5{mask})[:, 0]"


def _pairs(numbers: str) -> str:
    """The code of complex numbers as pairs of real ones."""
    return f"(lambda z: mx.stack([mx.real(z), mx.imag(z)], -1))({numbers})"


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
    "nan_to_num": "mx.nan_to_num({0})",
    "remainder_scalar": "mx.remainder({0}, {scalar})",
    "trunc": "mx.trunc({0})",
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
    "softplus": "nn.softplus({0})",
    "prelu": "nn.prelu({0}, {1})",
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
    "aminmax": "mx.minmax({0}, axis={dim}, keepdims={keepdim})",
    "median": "mx.median({0})",
    "vector_norm": over("mx.linalg.norm", ", ord={ord}"),
    "vector_norm_inf": over("mx.linalg.norm", ", ord=float('inf')"),
    "sort": "mx.sort({0}, axis={dim})",
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
    "moveaxis": "mx.moveaxis({0}, {source}, {destination})",
    "expand_dims": "mx.expand_dims({0}, {dim})",
    "squeeze": "mx.squeeze({0}, {dim})",
    "flatten": "mx.flatten({0}, {start_dim}, {end_dim})",
    "unflatten": "mx.unflatten({0}, {dim}, {sizes})",
    "as_strided": "mx.as_strided({0}, {size}, {stride}, {offset})",
    "pad": _pad,
    "pad_border": _pad_border,
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
    "take": "mx.take({0}, mx.array({index}), axis={dim})",
    "gather": "mx.take_along_axis({0}, mx.array({index}), axis={dim})",
    "take_along_axis": "mx.take_along_axis({0}, mx.array({index}), axis={dim})",
    "take_flat": "mx.take({0}, mx.array({index}))",
    "index": "{0}[mx.array({index})]",
    "embedding": "{0}[mx.array({index})]",
    "index_add": _index_add,
    "index_put": "{0}.at[mx.array({index})].add({1})",
    "scatter": "mx.put_along_axis({0}, mx.array({index}), {1}, axis={dim})",
    "slice_scatter": "mx.slice_update({0}, {1}, mx.array([{start}]), (0,))",
    "masked_fill": "mx.where(mx.array({mask}), {value}, {0})",
    "tril": "mx.tril({0}, {diagonal})",
    "triu": "mx.triu({0}, {diagonal})",
    "diagonal": "mx.diagonal({0}, {offset}, -2, -1)",
    "diag_embed": "mx.diag({0}, {offset})",
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
    "kron": "mx.kron({0}, {1})",
    "cross": "mx.linalg.cross({0}, {1}, axis={dim})",
    "addmm": "mx.addmm({0}, {1}, {2}, alpha={alpha}, beta={beta})",
    "addmv": "mx.addmm({0}, {1}, {2}, alpha={alpha}, beta={beta})",
    "baddbmm": "mx.addmm({0}, {1}, {2}, alpha={alpha}, beta={beta})",
    "softmax": "mx.softmax({0}, axis={dim})",
    "scaled_dot_product_attention": _attention,
    "layer_norm": "mx.fast.layer_norm({0}, None, None, {eps})",
    "layer_norm_affine": "mx.fast.layer_norm({0}, {1}, {2}, {eps})",
    "rms_norm": "mx.fast.rms_norm({0}, None, {eps})",
    "rms_norm_affine": "mx.fast.rms_norm({0}, {1}, {eps})",
    "cross_entropy": _of_classes("nn.losses.cross_entropy", ", label_smoothing={label_smoothing}"),
    "nll_loss": _of_classes("nn.losses.nll_loss"),
    "mse_loss": "nn.losses.mse_loss({0}, {1}, reduction={reduction})",
    "l1_loss": "nn.losses.l1_loss({0}, {1}, reduction={reduction})",
    "huber_loss": "nn.losses.huber_loss({0}, {1}, delta={delta}, reduction={reduction})",
    "smooth_l1_loss": "nn.losses.smooth_l1_loss({0}, {1}, beta={beta}, reduction={reduction})",
    "kl_div_log": "nn.losses.kl_div_loss({0}, {1}, reduction={reduction})",
    "margin_ranking_loss": "nn.losses.margin_ranking_loss({0}, {1}, mx.array({target}), margin=0.5, "
    "reduction={reduction})",
    "binary_cross_entropy": "nn.losses.binary_cross_entropy({0}, {1}, with_logits=False, reduction={reduction})",
    "bce_with_logits": "nn.losses.binary_cross_entropy({0}, {1}, reduction={reduction})",
    "gaussian_nll_loss": "nn.losses.gaussian_nll_loss({0}, {1}, {2}, reduction={reduction})",
    "cosine_similarity": "nn.losses.cosine_similarity_loss({0}, {1}, axis={dim})",
    "det": "mx.linalg.det({0})",
    "slogdet": "mx.linalg.slogdet({0})",
    "matrix_norm": "mx.linalg.norm({0}, axis=(-2, -1))",
    "rfft": _pairs("mx.fft.rfft({0})"),
    "fft": _pairs("mx.fft.fft({0}[..., 0] + 1j * {0}[..., 1])"),
    "irfft": "mx.fft.irfft({0}[..., 0] + 1j * {0}[..., 1], n={n})",
}
"""Template of the code for each op, by the suite's name of the op: a function of MLX that has a derivative, for all
attributes and shapes but those of `LIMITS`. Left out: `nn.log_softmax` and `nn.softmin`, which crash the process over a
dimension of size one.
"""

LAST = Limit({"normalized_shape": ((1,), (2,), (3,))})

SINGLE = Limit({"dim": ((0,), (1,), (2,), (3,), (-1,))})

LIMITS: Limits = {
    "select": Limit(empty=False),
    "take": Limit(empty=False),
    "kron": Limit(empty=False),
    "softplus": Limit({"beta": (1,)}),
    "vector_norm": SINGLE,
    "vector_norm_inf": SINGLE,
    "kl_div_log": Limit({"reduction": ("sum",)}, dimensions=(1, 2, 3, 4)),
    "prelu": Limit(dimensions=(1, 2)),
    "sort": Limit({"descending": (False,)}),
    "moveaxis": Limit({"source": (0, -1), "destination": (0, -1)}),
    "pad": Limit({"pad": ((1, 0), (0, 2), (0, 0, 1, 0))}),
    "pad_border": Limit({"mode": ("reflect", "replicate")}),
    "diag_embed": Limit(dimensions=(1,)),
    "scaled_dot_product_attention": Limit(dimensions=(3,)),
    "layer_norm": LAST,
    "layer_norm_affine": LAST,
    "rms_norm": LAST,
    "rms_norm_affine": LAST,
}
"""The attributes and dimensions that MLX's functions have. Programs index into no array without elements, because the
gradient of that crashes the process, and multiply none in `mx.kron`.
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
