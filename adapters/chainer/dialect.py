"""Templates with which programs are printed as Chainer code: Chainer's own ops, called as its documentation shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograd_conformance.frameworks.running.templates import OPERATORS, indices, narrow, over, select, split
from autograd_conformance.printing.dialect import Dialect, Template

REDUCED = {"mean": "F.mean({})", "sum": "F.sum({})", "none": "{}"}


def _loss(code: str) -> Template:
    """Makes a template of a loss that is computed for each element and then reduced."""

    def reduced(x: Sequence[str], attrs: Mapping[str, Any]) -> str:
        return REDUCED[attrs["reduction"]].format(code.format(*x, **attrs))

    return reduced


def _take(x: Sequence[str], attrs: Mapping[str, Any]) -> str:
    return f"{x[0]}[{indices(attrs['dim'], str(list(attrs['index'])))}]"


def _index_add(x: Sequence[str], attrs: Mapping[str, Any]) -> str:
    where = [*["slice(None)"] * attrs["dim"], str(list(attrs["index"]))]
    return f"F.scatter_add({x[0]}, ({', '.join(where)},), {x[1]})"


_CONVOLUTION = "stride={stride}, pad={padding}, dilate={dilation}, groups={groups}"

OPS: Mapping[str, Template] = {
    # elementwise
    **OPERATORS,
    "square": "F.square({0})",
    "sqrt": "F.sqrt({0})",
    "rsqrt": "F.rsqrt({0})",
    "abs": "F.absolute({0})",
    "clip": "F.clip({0}, {min}, {max})",
    "exp": "F.exp({0})",
    "expm1": "F.expm1({0})",
    "log": "F.log({0})",
    "log2": "F.log2({0})",
    "log10": "F.log10({0})",
    "log1p": "F.log1p({0})",
    "sigmoid": "F.sigmoid({0})",
    "sin": "F.sin({0})",
    "cos": "F.cos({0})",
    "tan": "F.tan({0})",
    "asin": "F.arcsin({0})",
    "acos": "F.arccos({0})",
    "atan": "F.arctan({0})",
    "sinh": "F.sinh({0})",
    "cosh": "F.cosh({0})",
    "tanh": "F.tanh({0})",
    "atanh": "F.arctanh({0})",
    "erf": "F.erf({0})",
    "erfc": "F.erfc({0})",
    "sign": "F.sign({0})",
    "floor": "F.floor({0})",
    "ceil": "F.ceil({0})",
    "astype_float32": "F.cast({0}, np.float32)",
    "astype_float64": "F.cast({0}, np.float64)",
    "clone": "F.identity({0})",
    # of two operands and more
    "atan2": "F.arctan2({0}, {1})",
    "maximum": "F.maximum({0}, {1})",
    "minimum": "F.minimum({0}, {1})",
    "where": "F.where(np.array({mask}), {0}, {1})",
    # activations
    "relu": "F.relu({0})",
    "relu6": "F.relu6({0})",
    "leaky_relu": "F.leaky_relu({0}, {slope})",
    "elu": "F.elu({0}, {alpha})",
    "selu": "F.selu({0})",
    "softplus": "F.softplus({0}, {beta})",
    "softmax": "F.softmax({0}, {dim})",
    "log_softmax": "F.log_softmax({0}, {dim})",
    # reductions
    "sum": over("F.sum"),
    "mean": over("F.mean"),
    "prod": "F.prod({0})",
    "prod_dim": "F.prod({0}, {dim}, keepdims={keepdim})",
    "max": "F.max({0})",
    "min": "F.min({0})",
    "amax": over("F.max"),
    "amin": over("F.min"),
    "max_dim": "F.max({0}, {dim}, keepdims={keepdim})",
    "min_dim": "F.min({0}, {dim}, keepdims={keepdim})",
    "cumulative_sum": "F.cumsum({0}, {dim})",
    "cumulative_prod": "F.cumprod({0}, {dim})",
    # shapes and elements
    "reshape": "F.reshape({0}, {shape})",
    "permute_dims": "F.transpose({0}, {dims})",
    "matrix_transpose": "F.swapaxes({0}, -1, -2)",
    "transpose": "F.swapaxes({0}, {dim0}, {dim1})",
    "moveaxis": "F.moveaxis({0}, {source}, {destination})",
    "expand_dims": "F.expand_dims({0}, {dim})",
    "squeeze": "F.squeeze({0}, {dim})",
    "broadcast_to": "F.broadcast_to({0}, {shape})",
    "tile": "F.tile({0}, {dims})",
    "repeat": "F.repeat({0}, {repeats}, {dim})",
    "repeat_uneven": "F.repeat({0}, {repeats}, {dim})",
    "concat": "F.concat([{0}, {1}], {dim})",
    "concat_three": "F.concat([{0}, {1}, {2}], {dim})",
    "stack": "F.stack([{0}, {1}], {dim})",
    "stack_three": "F.stack([{0}, {1}, {2}], {dim})",
    "split": split("F.split_axis"),
    "unstack": "F.separate({0}, {dim})",
    "select": select,
    "narrow": narrow,
    "take": _take,
    "index": "{0}[np.array({index})]",
    "embedding": "F.embed_id(np.array({index}), {0})",
    "masked_select": "{0}[np.array({mask})]",
    "masked_fill": "F.where(np.array({mask}), np.array({value}, {0}.dtype), {0})",
    "index_add": _index_add,
    "diagonal": "F.diagonal({0}, {offset}, -2, -1)",
    # products and losses
    "matmul": "F.matmul({0}, {1})",
    "mm": "F.matmul({0}, {1})",
    "mv": "F.matmul({0}, {1})",
    "dot": "F.matmul({0}, {1})",
    "bmm": "F.matmul({0}, {1})",
    "tensordot": "F.tensordot({0}, {1}, {dims})",
    "einsum": "F.einsum({equation}, {0}, {1})",
    "einsum_three": "F.einsum({equation}, {0}, {1}, {2})",
    "mse_loss": _loss("F.squared_error({0}, {1})"),
    "l1_loss": _loss("F.absolute_error({0}, {1})"),
    "huber_loss": _loss("F.huber_loss({0}, {1}, {delta}, reduce='no')"),
    # layers
    "batch_norm_affine": "F.batch_normalization({0}, {1}, {2}, eps={eps})",
    "batch_norm_running_affine": "F.fixed_batch_normalization({0}, {1}, {2}, np.array({mean}, {0}.dtype), "
    "np.array({var}, {0}.dtype), eps={eps})",
    "group_norm_affine": "F.group_normalization({0}, {num_groups}, {1}, {2}, eps={eps})",
    "normalize": "F.normalize({0}, 0.0, {dim})",
    "conv1d": f"F.convolution_1d({{0}}, {{1}}, {_CONVOLUTION})",
    "conv1d_bias": f"F.convolution_1d({{0}}, {{1}}, {{2}}, {_CONVOLUTION})",
    "conv2d": f"F.convolution_2d({{0}}, {{1}}, {_CONVOLUTION})",
    "conv2d_bias": f"F.convolution_2d({{0}}, {{1}}, {{2}}, {_CONVOLUTION})",
}
"""Template of the code for each op that Chainer has, by the suite's name of the op. An op is left out if Chainer lacks
some of its attributes (`logsumexp` keeps no dimensions, `pad` does not crop) or some of its shapes (`linear` and
poolings need a batch, `det`, `inv` and `cholesky` take none), or if the op needs SciPy (`erfinv`, `lgamma`, `digamma`).
"""

PRELUDE = """\
import chainer
import chainer.functions as F
import numpy as np


def backward(root, cotangent=None, **options):
    if cotangent is None:
        root.backward(**options)
    else:
        chainer.backward([root], [cotangent], **options)


def optimizer(name, parameters, momentum=0.0, nesterov=False, **settings):
    if name == "SGD" and momentum:
        name, settings["momentum"] = "NesterovAG" if nesterov else "MomentumSGD", momentum
    if name == "AdaGrad":
        settings = {"eps": 1e-10, **settings}
    link = chainer.Link()
    with link.init_scope():
        for k, parameter in enumerate(parameters):
            setattr(link, f"parameter{k}", parameter)
    return getattr(chainer.optimizers, name)(**settings).setup(link)
"""
"""Imports and definitions with which each printed program begins: a function for both ways to call backward, and an
optimizer of a link that owns the parameters.
"""

DIALECT = Dialect(
    prelude=PRELUDE,
    tensor="chainer.{flags}(np.array({data}, np.{dtype}))",
    empty="chainer.{flags}(np.zeros({shape}, np.{dtype}))",
    differentiable="Parameter",
    constant="as_variable",
    ops=OPS,
    sequences=frozenset({"split", "unstack"}),
    detach="chainer.as_variable({source}.array)",
    backward="backward({root}, {arguments})",
    backward_many="",
    retain="",
    create="enable_double_backprop={value}",
    clear_to_none="{leaf}.cleargrad()",
    clear_to_zeros="",
    gradient="{leaf}.grad",
    held="{leaf}.grad_var",
    assign="{leaf}.grad_var = {value}",
    optimizers={"sgd": "SGD", "rmsprop": "RMSprop", "adagrad": "AdaGrad"},
    optimizer='optimizer("{optimizer}", [{leaves}]{settings})',
    step='optimizer("{optimizer}", [{leaves}]{settings}).update()',
    step_again="{name}.update()",
    modes={"no_grad": "chainer.no_backprop_mode()", "enable_grad": "chainer.force_backprop_mode()"},
    in_full="{value}.array.tolist()",
)
"""Templates with which programs are printed as Chainer code."""
