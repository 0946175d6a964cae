"""Templates with which programs are printed as PaddlePaddle code."""

from __future__ import annotations

from collections.abc import Mapping

from autograd_conformance.frameworks.running.templates import OPERATORS, narrow, over, select
from autograd_conformance.printing.dialect import Dialect, Template


def _over(function: str, more: str = "") -> Template:
    """Makes a template of a reduction; no dimensions mean all of them."""
    return over(function, more, keeps="keepdim")


_NEW = "paddle.zeros({0}.shape[1:2], {0}.dtype), paddle.ones({0}.shape[1:2], {0}.dtype)"
"""Code of a new running mean and variance, which `F.batch_norm` requires even if it normalises by the batch's own."""
_CONVOLUTION = "stride={stride}, padding={padding}, dilation={dilation}, groups={groups}"
_TRANSPOSED = "stride={stride}, padding={padding}, output_padding={output_padding}, groups={groups}"
_SPREAD = ", unbiased=bool({correction})"

OPS: Mapping[str, Template] = {
    **OPERATORS,
    "reciprocal": "paddle.reciprocal({0})",
    "square": "paddle.square({0})",
    "sqrt": "paddle.sqrt({0})",
    "rsqrt": "paddle.rsqrt({0})",
    "abs": "paddle.abs({0})",
    "clip": "paddle.clip({0}, {min}, {max})",
    "exp": "paddle.exp({0})",
    "expm1": "paddle.expm1({0})",
    "log": "paddle.log({0})",
    "log2": "paddle.log2({0})",
    "log10": "paddle.log10({0})",
    "log1p": "paddle.log1p({0})",
    "sigmoid": "F.sigmoid({0})",
    "logit": "paddle.logit({0})",
    "sin": "paddle.sin({0})",
    "cos": "paddle.cos({0})",
    "tan": "paddle.tan({0})",
    "asin": "paddle.asin({0})",
    "acos": "paddle.acos({0})",
    "atan": "paddle.atan({0})",
    "sinh": "paddle.sinh({0})",
    "cosh": "paddle.cosh({0})",
    "tanh": "paddle.tanh({0})",
    "asinh": "paddle.asinh({0})",
    "acosh": "paddle.acosh({0})",
    "atanh": "paddle.atanh({0})",
    "sinc": "paddle.sinc({0})",
    "deg2rad": "paddle.deg2rad({0})",
    "erf": "paddle.erf({0})",
    "erfinv": "paddle.erfinv({0})",
    "lgamma": "paddle.lgamma({0})",
    "digamma": "paddle.digamma({0})",
    "sign": "paddle.sign({0})",
    "floor": "paddle.floor({0})",
    "ceil": "paddle.ceil({0})",
    "round": "paddle.round({0})",
    "frac": "paddle.frac({0})",
    "astype_float32": "paddle.cast({0}, 'float32')",
    "astype_float64": "paddle.cast({0}, 'float64')",
    # of two operands and more
    "atan2": "paddle.atan2({0}, {1})",
    "hypot": "paddle.hypot({0}, {1})",
    "logaddexp": "paddle.logaddexp({0}, {1})",
    "maximum": "paddle.maximum({0}, {1})",
    "minimum": "paddle.minimum({0}, {1})",
    "fmax": "paddle.fmax({0}, {1})",
    "fmin": "paddle.fmin({0}, {1})",
    "copysign": "paddle.copysign({0}, {1})",
    "add_scaled": "paddle.add({0}, {1}, alpha={alpha})",
    "subtract_scaled": "paddle.subtract({0}, {1}, alpha={alpha})",
    "lerp_scalar": "paddle.lerp({0}, {1}, {weight})",
    "lerp": "paddle.lerp({0}, {1}, {2})",
    "where": "paddle.where(paddle.to_tensor({mask}), {0}, {1})",
    # activations
    "relu": "F.relu({0})",
    "relu6": "F.relu6({0})",
    "leaky_relu": "F.leaky_relu({0}, {slope})",
    "elu": "F.elu({0}, {alpha})",
    "celu": "F.celu({0}, {alpha})",
    "selu": "F.selu({0})",
    "gelu": "F.gelu({0})",
    "gelu_tanh": "F.gelu({0}, approximate=True)",
    "silu": "F.silu({0})",
    "mish": "F.mish({0})",
    "softplus": "F.softplus({0}, {beta})",
    "logsigmoid": "F.log_sigmoid({0})",
    "softsign": "F.softsign({0})",
    "tanhshrink": "F.tanhshrink({0})",
    "softshrink": "F.softshrink({0}, {lambd})",
    "hardshrink": "F.hardshrink({0}, {lambd})",
    "hardtanh": "F.hardtanh({0})",
    "hardsigmoid": "F.hardsigmoid({0}, slope=1 / 6)",
    "hardswish": "F.hardswish({0})",
    "threshold": "F.thresholded_relu({0}, {threshold}, {value})",
    "glu": "F.glu({0}, {dim})",
    "softmax": "F.softmax({0}, {dim})",
    "log_softmax": "F.log_softmax({0}, {dim})",
    # reductions
    "sum": _over("paddle.sum"),
    "mean": _over("paddle.mean"),
    "prod": "paddle.prod({0})",
    "prod_dim": "paddle.prod({0}, {dim}, keepdim={keepdim})",
    "logsumexp": _over("paddle.logsumexp"),
    "var": _over("paddle.var", _SPREAD),
    "std": _over("paddle.std", _SPREAD),
    "max": "paddle.max({0})",
    "min": "paddle.min({0})",
    "amax": _over("paddle.amax"),
    "amin": _over("paddle.amin"),
    "max_dim": "paddle.max({0}, {dim}, keepdim={keepdim})",
    "min_dim": "paddle.min({0}, {dim}, keepdim={keepdim})",
    "median": "paddle.median(paddle.flatten({0}), 0, mode='min')[0]",
    "median_dim": "paddle.median({0}, {dim}, keepdim={keepdim}, mode='min')[0]",
    "kthvalue": "paddle.kthvalue({0}, {k}, {dim}, {keepdim})[0]",
    "topk": "paddle.topk({0}, {k}, {dim}, {largest})[0]",
    "sort": "paddle.sort({0}, {dim}, {descending})",
    "vector_norm": _over("paddle.linalg.vector_norm", ", p={ord}"),
    "vector_norm_inf": _over("paddle.linalg.vector_norm", ", p=float('inf')"),
    "cumulative_sum": "paddle.cumsum({0}, {dim})",
    "cumulative_prod": "paddle.cumprod({0}, {dim})",
    "logcumsumexp": "paddle.logcumsumexp({0}, {dim})",
    "cummax": "paddle.cummax({0}, {dim})[0]",
    "cummin": "paddle.cummin({0}, {dim})[0]",
    "diff": "paddle.diff({0}, {n}, {dim})",
    # shapes and elements
    "reshape": "paddle.reshape({0}, {shape})",
    "permute_dims": "paddle.transpose({0}, {dims})",
    "matrix_transpose": "paddle.matrix_transpose({0})",
    "transpose": "paddle.transpose({0}, {dim0}, {dim1})",
    "moveaxis": "paddle.moveaxis({0}, {source}, {destination})",
    "expand_dims": "paddle.unsqueeze({0}, {dim})",
    "squeeze": "paddle.squeeze({0}, {dim})",
    "flatten": "paddle.flatten({0}, {start_dim}, {end_dim})",
    "unflatten": "paddle.unflatten({0}, {dim}, {sizes})",
    "clone": "paddle.clone({0})",
    "flip": "paddle.flip({0}, {dims})",
    "roll": "paddle.roll({0}, {shifts}, {dims})",
    "rot90": "paddle.rot90({0}, {k}, {dims})",
    "broadcast_to": "paddle.broadcast_to({0}, {shape})",
    "tile": "paddle.tile({0}, {dims})",
    "repeat": "paddle.repeat_interleave({0}, {repeats}, {dim})",
    "repeat_uneven": "paddle.repeat_interleave({0}, paddle.to_tensor({repeats}), {dim})",
    "unfold": "paddle.unfold({0}, {dimension}, {size}, {step})",
    "concat": "paddle.concat([{0}, {1}], {dim})",
    "concat_three": "paddle.concat([{0}, {1}, {2}], {dim})",
    "stack": "paddle.stack([{0}, {1}], {dim})",
    "stack_three": "paddle.stack([{0}, {1}, {2}], {dim})",
    "block_diag": "paddle.block_diag([{0}, {1}])",
    "split": "paddle.split({0}, {sizes}, {dim})",
    "tensor_split": "paddle.tensor_split({0}, {sections}, {dim})",
    "unstack": "paddle.unbind({0}, {dim})",
    "select": select,
    "narrow": narrow,
    "take": "paddle.index_select({0}, paddle.to_tensor({index}), {dim})",
    "take_along_axis": "paddle.take_along_axis({0}, paddle.to_tensor({index}), {dim}, broadcast=True)",
    "gather": "paddle.take_along_axis({0}, paddle.to_tensor({index}), {dim}, broadcast=False)",
    "take_flat": "paddle.take({0}, paddle.to_tensor({index}))",
    "index": "{0}[paddle.to_tensor({index})]",
    "embedding": "F.embedding(paddle.to_tensor({index}), {0})",
    "masked_select": "{0}[paddle.to_tensor({mask})]",
    "scatter": "paddle.put_along_axis({0}, paddle.to_tensor({index}), {1}, {dim}, broadcast=False)",
    "scatter_add": "paddle.put_along_axis({0}, paddle.to_tensor({index}), {1}, {dim}, reduce='add', broadcast=False)",
    "index_add": "paddle.index_add({0}, paddle.to_tensor({index}), {dim}, {1})",
    "index_fill": "paddle.index_fill({0}, paddle.to_tensor({index}), {dim}, {value})",
    "select_scatter": "paddle.select_scatter({0}, {1}, 0, {index})",
    "masked_fill": "paddle.masked_fill({0}, paddle.to_tensor({mask}), {value})",
    "tril": "paddle.tril({0}, {diagonal})",
    "triu": "paddle.triu({0}, {diagonal})",
    "diagonal": "paddle.diagonal({0}, {offset}, -2, -1)",
    "diag_embed": "paddle.diag_embed({0}, {offset})",
    "trace": "paddle.trace({0})",
    "diagonal_scatter": "paddle.diagonal_scatter({0}, {1})",
    # products
    "matmul": "{0} @ {1}",
    "mm": "paddle.mm({0}, {1})",
    "mv": "paddle.mv({0}, {1})",
    "dot": "paddle.dot({0}, {1})",
    "bmm": "paddle.bmm({0}, {1})",
    "vecdot": "paddle.linalg.vecdot({0}, {1}, axis={dim})",
    "outer": "paddle.outer({0}, {1})",
    "tensordot": "paddle.tensordot({0}, {1}, {dims})",
    "einsum": "paddle.einsum({equation}, {0}, {1})",
    "einsum_three": "paddle.einsum({equation}, {0}, {1}, {2})",
    "kron": "paddle.kron({0}, {1})",
    "linear_bias": "F.linear({0}, {1}.T, {2})",
    "multi_dot": "paddle.linalg.multi_dot([{0}, {1}, {2}])",
    "addmm": "paddle.addmm({0}, {1}, {2}, beta={beta}, alpha={alpha})",
    "baddbmm": "paddle.baddbmm({0}, {1}, {2}, beta={beta}, alpha={alpha})",
    # losses
    "mse_loss": "F.mse_loss({0}, {1}, {reduction})",
    "l1_loss": "F.l1_loss({0}, {1}, {reduction})",
    "huber_loss": "F.smooth_l1_loss({0}, {1}, {reduction}, {delta})",
    "smooth_l1_loss": "F.smooth_l1_loss({0}, {1}, {reduction}, {beta}, is_huber=False)",
    "kl_div": "F.kl_div({0}, {1}, {reduction})",
    "kl_div_log": "F.kl_div({0}, {1}, {reduction}, log_target=True)",
    "binary_cross_entropy": "F.binary_cross_entropy({0}, {1}, reduction={reduction})",
    "bce_with_logits": "F.binary_cross_entropy_with_logits({0}, {1}, reduction={reduction})",
    "poisson_nll_loss": "F.poisson_nll_loss({0}, {1}, reduction={reduction})",
    "gaussian_nll_loss": "F.gaussian_nll_loss({0}, {1}, {2}, reduction={reduction})",
    "soft_margin_loss": "F.soft_margin_loss({0}, paddle.to_tensor({target}, {0}.dtype), {reduction})",
    "cosine_similarity": "F.cosine_similarity({0}, {1}, {dim})",
    "dist": "paddle.dist({0}, {1}, {p})",
    # normalisation and convolution
    "batch_norm": f"F.batch_norm({{0}}, {_NEW}, training=True, epsilon={{eps}})",
    "batch_norm_running": "F.batch_norm({0}, paddle.to_tensor({mean}, {0}.dtype), paddle.to_tensor({var}, {0}.dtype), "
    "epsilon={eps})",
    "group_norm": "F.group_norm({0}, {num_groups}, {eps})",
    "group_norm_affine": "F.group_norm({0}, {num_groups}, {eps}, {1}, {2})",
    "instance_norm": "F.instance_norm({0}, eps={eps})",
    "normalize": "F.normalize({0}, axis={dim})",
    "conv1d": f"F.conv1d({{0}}, {{1}}, {_CONVOLUTION})",
    "conv1d_bias": f"F.conv1d({{0}}, {{1}}, {{2}}, {_CONVOLUTION})",
    "conv2d": f"F.conv2d({{0}}, {{1}}, {_CONVOLUTION})",
    "conv2d_bias": f"F.conv2d({{0}}, {{1}}, {{2}}, {_CONVOLUTION})",
    "conv_transpose1d": f"F.conv1d_transpose({{0}}, {{1}}, {_TRANSPOSED})",
    # matrices
    "det": "paddle.linalg.det({0})",
    "slogdet": "paddle.linalg.slogdet({0})",
    "inv": "paddle.linalg.inv({0})",
    "solve_triangular": "paddle.linalg.triangular_solve({0}, {1}, upper={upper})",
    "cholesky": "paddle.linalg.cholesky(({0} + {0}.mT) / 2)",
    "eigvalsh": "paddle.linalg.eigvalsh(({0} + {0}.mT) / 2)",
    "matrix_power": "paddle.linalg.matrix_power({0}, {n})",
    "matrix_exp": "paddle.linalg.matrix_exp({0} / 4)",
    "matrix_norm": "paddle.linalg.matrix_norm({0})",
}
"""Template of the code for each op that PaddlePaddle has, by the suite's name of the op, for all attributes and shapes.
Left out: `paddle.linalg.solve`, `paddle.cross` and `F.prelu`, whose derivatives crash the process if an operand is
constant; `F.batch_norm` with a weight, which gets no gradient if the bias is constant; `F.layer_norm`, which needs two
dimensions and a small `epsilon`; pooling, which needs a batch; `F.pad`, which does not crop; `F.cross_entropy` and
`F.nll_loss`, whose results keep other dimensions.
"""

PRELUDE = """\
import paddle
import paddle.nn.functional as F


def sgd(leaves, lr, momentum=0.0, nesterov=False, weight_decay=None):
    if momentum:
        return paddle.optimizer.Momentum(lr, momentum, leaves, nesterov, weight_decay)
    return paddle.optimizer.SGD(lr, leaves, weight_decay)


def adagrad(leaves, lr, weight_decay=None, initial_accumulator_value=0.0, eps=1e-10):
    start = {"initial_accumulator_value": initial_accumulator_value}
    return paddle.optimizer.Adagrad(lr, eps, leaves, weight_decay, **start)
"""
"""Imports with which each printed program begins, and optimizers that translate the names of settings."""

OPTIMIZERS = {
    "sgd": ("lr", "momentum", "nesterov", "weight_decay"),
    "adagrad": ("lr", "weight_decay", "initial_accumulator_value", "eps"),
}
"""Optimizers whose documented formula is that of `ops.optimizers`, each with its settings. Left out: `Adam` and
`AdamW`, documented to add `epsilon` to a root that is not corrected for bias, and `RMSProp`, documented to add it under
the root.
"""

DIALECT = Dialect(
    prelude=PRELUDE,
    tensor="paddle.to_tensor({data}, '{dtype}'{flags})",
    empty="paddle.to_tensor(paddle.zeros({shape}, '{dtype}'){flags})",
    differentiable=", stop_gradient=False",
    ops=OPS,
    sequences=frozenset({"split", "tensor_split", "unstack", "slogdet"}),
    detach="{source}.detach()",
    backward="{root}.backward({arguments})",
    backward_many="paddle.autograd.backward([{roots}], [{cotangents}]{arguments})",
    retain="retain_graph={value}",
    held="{leaf}.grad",
    assign="{leaf}.grad = {value}",
    step="{optimizer}([{leaves}]{settings}).step()",
    optimizer="{optimizer}([{leaves}]{settings})",
    step_again="{name}.step()",
    clear="{name}.clear_grad(set_to_zero=not {set_to_none})",
    clips={
        "norm": "paddle.nn.utils.clip_grad_norm_([{leaves}], {bound})",
        "value": "paddle.nn.utils.clip_grad_value_([{leaves}], {bound})",
    },
    clear_to_none="{leaf}.clear_gradient(False)",
    clear_to_zeros="{leaf}.clear_gradient(True)",
    gradient="{leaf}.grad",
    memory="{value}.data_ptr() - {value}.offset",
    create="create_graph={value}",
    grad="paddle.grad({roots}, {inputs}{arguments})",
    cotangents="grad_outputs={cotangents}",
    unused="allow_unused={value}",
    retain_grad="{target}.retain_grads()",
    hook="{target}.register_hook({function})",
    effects={
        "observe": 'lambda grad: print("hook on {target}:", grad)',
        "scale": "lambda grad: grad * {factor}",
        "replace": "lambda grad: paddle.full_like(grad, {factor})",
        "raise": "lambda grad: 1 / 0",
        "misshape": "lambda grad: paddle.ones([*grad.shape, 2], grad.dtype)",
    },
    remove_hook="{handle}.remove()",
    modes={"no_grad": "paddle.no_grad()", "enable_grad": "paddle.enable_grad()"},
)
"""Templates with which programs are printed as PaddlePaddle code."""
