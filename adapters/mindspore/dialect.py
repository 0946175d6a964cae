"""Templates with which programs are printed as MindSpore code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograd_conformance.frameworks.running.templates import OPERATORS
from autograd_conformance.printing.dialect import Template
from autograd_conformance.printing.functional import functional

Names = Sequence[str]
Attributes = Mapping[str, Any]


def _of_classes(function: str) -> Template:
    """Makes a template of a classification loss; MindSpore wants 32-bit class numbers."""

    def code(x: Names, attrs: Attributes) -> str:
        return f"{function}({x[0]}, Tensor({attrs['target']}, ms.int32), reduction={attrs['reduction']!r})"

    return code


def _conv(rank: int, bias: str = "") -> Template:
    """Makes a template of a convolution over `rank` dimensions with explicit padding."""

    def code(x: Names, attrs: Attributes) -> str:
        given = ", ".join(f"{name}={attrs[name]}" for name in ("stride", "padding", "dilation", "groups"))
        return f"ops.conv{rank}d({x[0]}, {x[1]}{bias.format(*x)}, pad_mode='pad', {given})"

    return code


def _over(function: str, keeps: str) -> Template:
    """Makes a template of a reduction; no dimensions mean all of them. `keeps` is the option that keeps the reduced
    dimensions.
    """

    def code(x: Names, attrs: Attributes) -> str:
        return f"{function}({x[0]}, {attrs['dim'] or None}, {keeps}={attrs['keepdim']})"

    return code


def _over_all(function: str) -> Template:
    """Makes a template of a reduction by a function that wants all dimensions listed."""

    def code(x: Names, attrs: Attributes) -> str:
        dims = attrs["dim"] or f"tuple(range({x[0]}.ndim))"
        return f"{function}({x[0]}, {dims}, {attrs['keepdim']})"

    return code


OPS: Mapping[str, Template] = {
    **OPERATORS,
    "reciprocal": "mint.reciprocal({0})",
    "square": "ops.square({0})",
    "sqrt": "mint.sqrt({0})",
    "rsqrt": "mint.rsqrt({0})",
    "abs": "mint.abs({0})",
    "clip": "mint.clamp({0}, {min}, {max})",
    "exp": "mint.exp({0})",
    "exp2": "ops.exp2({0})",
    "expm1": "mint.expm1({0})",
    "log": "mint.log({0})",
    "log2": "ops.log2({0})",
    "log10": "ops.log10({0})",
    "log1p": "mint.log1p({0})",
    "sigmoid": "mint.sigmoid({0})",
    "sin": "mint.sin({0})",
    "cos": "mint.cos({0})",
    "tan": "mint.tan({0})",
    "asin": "ops.asin({0})",
    "acos": "ops.acos({0})",
    "atan": "ops.atan({0})",
    "sinh": "mint.sinh({0})",
    "cosh": "mint.cosh({0})",
    "asinh": "ops.asinh({0})",
    "acosh": "ops.acosh({0})",
    "atanh": "mint.atanh({0})",
    "sinc": "mint.sinc({0})",
    "deg2rad": "ops.deg2rad({0})",
    "erf": "mint.erf({0})",
    "erfc": "mint.erfc({0})",
    "erfinv": "mint.erfinv({0})",
    "sign": "mint.sign({0})",
    "floor": "mint.floor({0})",
    "ceil": "mint.ceil({0})",
    "round": "mint.round({0})",
    "frac": "ops.frac({0})",
    "astype_float32": "{0}.astype(ms.float32)",
    "atan2": "ops.atan2({0}, {1})",
    "hypot": "ops.hypot({0}, {1})",
    "logaddexp": "mnp.logaddexp({0}, {1})",
    "logaddexp2": "mnp.logaddexp2({0}, {1})",
    "xlogy": "mint.xlogy({0}, {1})",
    "add_scaled": "mint.add({0}, {1}, alpha={alpha})",
    "subtract_scaled": "mint.sub({0}, {1}, alpha={alpha})",
    "where": "mint.where(Tensor({mask}), {0}, {1})",
    "addcmul": "ops.addcmul({0}, {1}, {2}, {value})",
    "addcdiv": "ops.addcdiv({0}, {1}, {2}, {value})",
    "relu": "mint.nn.functional.relu({0})",
    "relu6": "ops.relu6({0})",
    "leaky_relu": "ops.leaky_relu({0}, {slope})",
    "celu": "ops.celu({0}, {alpha})",
    "gelu": "ops.gelu({0}, 'none')",
    "gelu_tanh": "ops.gelu({0}, 'tanh')",
    "silu": "mint.nn.functional.silu({0})",
    "softplus": "ops.softplus({0}, {beta})",
    "logsigmoid": "ops.logsigmoid({0})",
    "softsign": "ops.softsign({0})",
    "softshrink": "ops.softshrink({0}, {lambd})",
    "hardshrink": "ops.hardshrink({0}, {lambd})",
    "hardtanh": "ops.hardtanh({0})",
    "hardsigmoid": "ops.hardsigmoid({0})",
    "hardswish": "mint.nn.functional.hardswish({0})",
    "threshold": "ops.threshold({0}, {threshold}, {value})",
    "glu": "ops.glu({0}, {dim})",
    "sum": _over("mint.sum", "keepdim"),
    "mean": _over("mint.mean", "keepdim"),
    "prod": "mint.prod({0})",
    "prod_dim": "mint.prod({0}, {dim}, {keepdim})",
    "logsumexp": _over_all("ops.logsumexp"),
    "var": "mnp.var({0}, {dim}, ddof={correction}, keepdims={keepdim})",
    "std": "ops.std({0}, {dim}, {correction}, {keepdim})",
    "max": "mint.max({0})",
    "min": "mint.min({0})",
    "amax": _over("ops.amax", "keepdims"),
    "amin": _over("ops.amin", "keepdims"),
    "max_dim": "mint.max({0}, {dim}, {keepdim})[0]",
    "min_dim": "mint.min({0}, {dim}, {keepdim})[0]",
    "aminmax": "ops.aminmax({0}, axis={dim}, keepdims={keepdim})",
    "median": "ops.median({0}.flatten())[0]",
    "median_dim": "ops.median({0}, {dim}, {keepdim})[0]",
    "topk": "ops.topk({0}, {k}, {dim}, {largest})[0]",
    "sort": "ops.sort({0}, {dim}, {descending})[0]",
    "diff": "mint.diff({0}, {n}, {dim})",
    "reshape": "mint.reshape({0}, {shape})",
    "permute_dims": "mint.permute({0}, {dims})",
    "matrix_transpose": "{0}.mT",
    "transpose": "mint.transpose({0}, {dim0}, {dim1})",
    "moveaxis": "ops.movedim({0}, {source}, {destination})",
    "expand_dims": "mint.unsqueeze({0}, {dim})",
    "squeeze": "mint.squeeze({0}, {dim})",
    "flatten": "mint.flatten({0}, {start_dim}, {end_dim})",
    "clone": "{0}.copy()",
    "broadcast_to": "mint.broadcast_to({0}, {shape})",
    "tile": "mnp.tile({0}, {dims})",
    "repeat": "ops.repeat_interleave({0}, {repeats}, {dim})",
    "repeat_uneven": "ops.repeat_interleave({0}, Tensor({repeats}), {dim})",
    "pad_border": "ops.pad({0}, {pad}, mode={mode})",
    "concat": "mint.cat([{0}, {1}], {dim})",
    "concat_three": "mint.cat([{0}, {1}, {2}], {dim})",
    "block_diag": "ops.block_diag({0}, {1})",
    "split": "ops.split({0}, list({sizes}), {dim})",
    "chunk": "mint.chunk({0}, {chunks}, {dim})",
    "tensor_split": "ops.tensor_split({0}, {sections}, {dim})",
    "narrow": "mint.narrow({0}, {dim}, {start}, {length})",
    "take_along_axis": "mnp.take_along_axis({0}, Tensor({index}), {dim})",
    "gather": "mint.gather({0}, {dim}, Tensor({index}))",
    "take_flat": "mnp.take({0}, Tensor({index}))",
    "index": "{0}[Tensor({index})]",
    "embedding": "{0}[Tensor({index})]",
    "masked_select": "mint.masked_select({0}, Tensor({mask}))",
    "scatter_add": "ops.tensor_scatter_elements({0}, Tensor({index}), {1}, {dim}, 'add')",
    "index_fill": "ops.index_fill({0}, {dim}, Tensor({index}, ms.int32), {value})",
    "select_scatter": "ops.select_scatter({0}, {1}, 0, {index})",
    "masked_fill": "ops.masked_fill({0}, Tensor({mask}), {value})",
    "triu": "mint.triu({0}, {diagonal})",
    "diagonal": "ops.diagonal({0}, {offset}, -2, -1)",
    "trace": "ops.trace({0})",
    "diagonal_scatter": "ops.diagonal_scatter({0}, {1})",
    "matmul": "{0} @ {1}",
    "dot": "ops.tensor_dot({0}, {1}, 1)",
    "bmm": "ops.bmm({0}, {1})",
    "vecdot": "ops.vecdot({0}, {1}, axis={dim})",
    "outer": "ops.outer({0}, {1})",
    "inner": "ops.inner({0}, {1})",
    "tensordot": "ops.tensor_dot({0}, {1}, {dims})",
    "cross": "mint.cross({0}, {1}, {dim})",
    "linear": "mint.nn.functional.linear({0}, {1})",
    "linear_bias": "mint.nn.functional.linear({0}, {1}, {2})",
    "multi_dot": "mnp.multi_dot([{0}, {1}, {2}])",
    "baddbmm": "ops.baddbmm({0}, {1}, {2}, beta={beta}, alpha={alpha})",
    "log_softmax": "ops.log_softmax({0}, {dim})",
    "nll_loss": _of_classes("ops.nll_loss"),
    "mse_loss": "ops.mse_loss({0}, {1}, reduction={reduction})",
    "l1_loss": "ops.l1_loss({0}, {1}, reduction={reduction})",
    "huber_loss": "ops.huber_loss({0}, {1}, delta={delta}, reduction={reduction})",
    "smooth_l1_loss": "mint.nn.functional.smooth_l1_loss({0}, {1}, beta={beta}, reduction={reduction})",
    "poisson_nll_loss": "nn.PoissonNLLLoss(reduction={reduction})({0}, {1})",
    "gaussian_nll_loss": "ops.gaussian_nll_loss({0}, {1}, {2}, reduction={reduction})",
    "group_norm": "mint.nn.functional.group_norm({0}, {num_groups}, eps={eps})",
    "group_norm_affine": "mint.nn.functional.group_norm({0}, {num_groups}, {1}, {2}, {eps})",
    "conv1d": _conv(1),
    "conv2d": _conv(2),
    "conv2d_bias": _conv(2, ", bias={2}"),
    "matrix_norm": "ops.matrix_norm({0})",
}
"""Template of the code for each op, by the suite's name of the op: a function of MindSpore that has a CPU kernel (half
of `mint` has none), for all attributes and shapes. Left out: `ops.logit`, whose gradient crashes the process, and
`ops.rot90`, which crashes it; `ops.tanh`, `ops.softmax` and `ops.mish`, whose errors exceed rounding; `mint.lerp`,
whose gradient has another shape; `ops.scatter`, which sometimes returns wrong values; `ops.mm` and `ops.addmm`, which
do so for empty tensors; `ops.digamma`, `ops.maximum`, `ops.flip`, `ops.stack`, `ops.cumsum` and `ops.tril`, which
refuse empty or 0-d tensors; `ops.det` and `ops.inverse`, which refuse matrices of one row.
"""

DIALECT = functional(
    prelude="import mindspore as ms\nimport mindspore.numpy as mnp\nfrom mindspore import Tensor, mint, nn, ops",
    tensor="Tensor({data}, ms.{dtype})",
    empty="mint.zeros({shape}, dtype=ms.{dtype})",
    ops=OPS,
    sequences=frozenset({"chunk", "split", "tensor_split"}),
    detach="ops.stop_gradient({source})",
    vjp="ms.vjp({function}, {inputs})[1]({cotangents})",
    ones="ops.ones_like({root})",
    error="(RuntimeError, TypeError, ValueError)",
)
