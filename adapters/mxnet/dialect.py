"""Templates with which programs are printed as MXNet code: `mxnet.np` and `mxnet.npx`, and `mxnet.nd` for ops that only
it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograd_conformance.frameworks.running.templates import OPERATORS, narrow, over, select, split
from autograd_conformance.printing.dialect import Dialect, Template


def _spread(function: str) -> Template:
    return over(function, ", ddof={correction}")


def _convolution(dimensions: int, bias: bool = False) -> Template:
    """Makes a template of a convolution with the same stride, padding and dilation in each dimension."""

    def code(x: Sequence[str], attrs: Mapping[str, Any]) -> str:
        each = {name: (attrs[key],) * dimensions for name, key in _CONVOLUTION.items()}
        given = ", ".join(f"{name}={value}" for name, value in each.items())
        return (
            f"npx.convolution({', '.join(x)}, kernel={x[1]}.shape[2:], {given}, num_group={attrs['groups']}, "
            f"num_filter={x[1]}.shape[0], no_bias={not bias})"
        )

    return code


_CONVOLUTION = {"stride": "stride", "pad": "padding", "dilate": "dilation"}

OPS: Mapping[str, Template] = {
    # elementwise
    **OPERATORS,
    "reciprocal": "np.reciprocal({0})",
    "square": "np.square({0})",
    "sqrt": "np.sqrt({0})",
    "rsqrt": "nd(mx.nd.rsqrt, {0})",
    "abs": "np.abs({0})",
    "clip": "np.clip({0}, {min}, {max})",
    "exp": "np.exp({0})",
    "expm1": "np.expm1({0})",
    "log": "np.log({0})",
    "log2": "np.log2({0})",
    "log10": "np.log10({0})",
    "log1p": "np.log1p({0})",
    "sigmoid": "npx.sigmoid({0})",
    "sin": "np.sin({0})",
    "cos": "np.cos({0})",
    "tan": "np.tan({0})",
    "asin": "np.arcsin({0})",
    "acos": "np.arccos({0})",
    "atan": "np.arctan({0})",
    "sinh": "np.sinh({0})",
    "cosh": "np.cosh({0})",
    "tanh": "np.tanh({0})",
    "asinh": "np.arcsinh({0})",
    "acosh": "np.arccosh({0})",
    "atanh": "np.arctanh({0})",
    "erf": "npx.erf({0})",
    "erfinv": "npx.erfinv({0})",
    "lgamma": "npx.gammaln({0})",
    "sign": "np.sign({0})",
    "floor": "np.floor({0})",
    "ceil": "np.ceil({0})",
    "round": "np.rint({0})",
    "astype_float32": "{0}.astype('float32')",
    "astype_float64": "{0}.astype('float64')",
    # of two operands
    "atan2": "np.arctan2({0}, {1})",
    "hypot": "np.hypot({0}, {1})",
    "maximum": "np.maximum({0}, {1})",
    "minimum": "np.minimum({0}, {1})",
    "copysign": "np.copysign({0}, {1})",
    # activations
    "relu": "npx.relu({0})",
    "softsign": "npx.activation({0}, act_type='softsign')",
    "softmax": "npx.softmax({0}, axis={dim})",
    "log_softmax": "npx.log_softmax({0}, axis={dim})",
    "softmin": "nd(mx.nd.softmin, {0}, axis={dim})",
    # reductions
    "sum": over("np.sum"),
    "mean": over("np.mean"),
    "prod": "np.prod({0})",
    "prod_dim": "np.prod({0}, axis={dim}, keepdims={keepdim})",
    "var": _spread("np.var"),
    "std": _spread("np.std"),
    "max": "np.max({0})",
    "min": "np.min({0})",
    "amax": over("np.max"),
    "amin": over("np.min"),
    "max_dim": "np.max({0}, axis={dim}, keepdims={keepdim})",
    "min_dim": "np.min({0}, axis={dim}, keepdims={keepdim})",
    "topk": "npx.topk({0}, k={k}, axis={dim}, ret_typ='value', is_ascend=not {largest})",
    "sort": "nd(mx.nd.sort, {0}, axis={dim}, is_ascend=not {descending})",
    "cumulative_sum": "np.cumsum({0}, axis={dim})",
    # shapes and elements
    "reshape": "np.reshape({0}, {shape})",
    "permute_dims": "np.transpose({0}, {dims})",
    "matrix_transpose": "np.swapaxes({0}, -1, -2)",
    "transpose": "np.swapaxes({0}, {dim0}, {dim1})",
    "moveaxis": "np.moveaxis({0}, {source}, {destination})",
    "expand_dims": "np.expand_dims({0}, {dim})",
    "squeeze": "np.squeeze({0}, {dim})",
    "clone": "np.copy({0})",
    "flip": "np.flip({0}, {dims})",
    "roll": "np.roll({0}, {shifts}, {dims})",
    "rot90": "np.rot90({0}, {k}, {dims})",
    "broadcast_to": "np.broadcast_to({0}, {shape})",
    "tile": "np.tile({0}, {dims})",
    "repeat": "np.repeat({0}, {repeats}, {dim})",
    "concat": "np.concatenate([{0}, {1}], {dim})",
    "concat_three": "np.concatenate([{0}, {1}, {2}], {dim})",
    "stack": "np.stack([{0}, {1}], {dim})",
    "stack_three": "np.stack([{0}, {1}, {2}], {dim})",
    "split": split("np.split"),
    "tensor_split": "np.array_split({0}, {sections}, axis={dim})",
    "select": select,
    "narrow": narrow,
    "take": "np.take({0}, np.array({index}, dtype='int64'), axis={dim})",
    "take_flat": "np.take({0}, np.array({index}, dtype='int64'))",
    "index": "{0}[np.array({index}, dtype='int64')]",
    "embedding": "npx.embedding(np.array({index}, dtype='int64'), {0}, *{0}.shape)",
    "masked_select": "{0}[np.array({mask}, dtype='bool')]",
    "masked_fill": "np.where(np.array({mask}, dtype='bool'), {value}, {0})",
    "tril": "np.tril({0}, {diagonal})",
    "diagonal": "np.diagonal({0}, {offset}, -2, -1)",
    "diag_embed": "nd(mx.nd.linalg.makediag, {0}, offset={offset})",
    "trace": "np.trace({0})",
    # products
    "matmul": "np.matmul({0}, {1})",
    "mm": "np.dot({0}, {1})",
    "mv": "np.dot({0}, {1})",
    "dot": "np.dot({0}, {1})",
    "bmm": "npx.batch_dot({0}, {1})",
    "tensordot": "np.tensordot({0}, {1}, {dims})",
    "einsum": "np.einsum({equation}, {0}, {1})",
    "einsum_three": "np.einsum({equation}, {0}, {1}, {2})",
    "linear_bias": "npx.fully_connected({0}, {1}, {2}, num_hidden={1}.shape[0], flatten=False)",
    # layers
    "conv1d": _convolution(1),
    "conv1d_bias": _convolution(1, bias=True),
    "conv2d": _convolution(2),
    "conv2d_bias": _convolution(2, bias=True),
    # matrices
    "inv": "np.linalg.inv({0})",
    "solve": "np.linalg.solve({0}, {1})",
    "cholesky": "np.linalg.cholesky(({0} + np.swapaxes({0}, -1, -2)) / 2)",
    "eigvalsh": "np.linalg.eigvalsh(({0} + np.swapaxes({0}, -1, -2)) / 2)",
}
"""Template of the code for each op that MXNet has, by the suite's name of the op, for all attributes and shapes. Left
out because they crash, corrupt memory or read uninitialised memory: `np.where` of two arrays, whose derivative crashes
the process if one is empty; `np.linalg.det` and `slogdet`, whose derivatives corrupt the heap when gradients
accumulate; `np.inner`, `np.linalg.norm`, `nd.linalg.gemm` and `trsm`, whose derivatives then add to uninitialised
memory; `np.outer`, whose derivative reads uninitialised memory for empty operands; `npx.batch_norm`, whose derivative
crashes the process after a call freed the graph; `np.diff`, whose derivative leaves memory uninitialised if its result
is empty. Left out because they do not fit: `npx.leaky_relu` in all its forms, which takes no number and computes in
float32; `nd.hard_sigmoid`, whose slope is a float32; `nd.InstanceNorm`, which exists in float32 only; `nd.GroupNorm`,
which needs a weight for each group; `npx.layer_norm`, which needs one dimension; `npx.pooling`, which needs a batch;
`npx.deconvolution`, which oneDNN sometimes refuses; `np.deg2rad`, which calls a missing function; and functions that
`np` passes on to NumPy, such as `np.take_along_axis`, which have no derivative.
"""

NOT_EMPTY = (
    "add", "subtract", "multiply", "divide", "pow", "atan2", "hypot", "maximum", "minimum", "copysign", "mm", "mv",
    "tensordot", "repeat", "sum", "mean", "prod_dim",
)  # fmt: skip
"""Ops that programs never apply to empty operands. The results vary from run to run, so that no entry of known
differences can describe them: if one operand is empty, the derivative leaves another operand's gradient uninitialised.
The derivative of `np.repeat`, and sums and products that keep an empty dimension, fail asynchronously, and the next
wait raises the error."""

PRELUDE = """\
import mxnet as mx
from mxnet import autograd, np, npx

npx.set_np()
autograd.set_recording(True)
autograd.set_training(True)


def leaf(array):
    array.attach_grad("add")
    return array


def clear(leaf):
    if leaf.grad is not None:
        leaf.grad[()] = 0


def nd(function, *arrays, **options):
    return function(*(array.as_nd_ndarray() for array in arrays), **options).as_np_ndarray()


def optimizer(leaves, lr, weight_decay=0.0, nesterov=False, **settings):
    kind = mx.optimizer.NAG if nesterov else mx.optimizer.SGD
    updater = mx.optimizer.get_updater(kind(learning_rate=lr, wd=weight_decay, **settings))

    def step():
        with autograd.pause():
            for k, leaf in enumerate(leaves):
                updater(k, leaf.grad, leaf)

    return step
"""
"""Imports and definitions with which each printed program begins. All of the program is recorded, as under
`autograd.record()`. Leaves accumulate gradients, and are cleared as by gluon's `Parameter.zero_grad`, which does
nothing for a leaf without a gradient. An optimizer updates the leaves one after the other.
"""

DIALECT = Dialect(
    prelude=PRELUDE,
    tensor="{flags}(np.array({data}, dtype='{dtype}'))",
    empty="{flags}(np.zeros({shape}, dtype='{dtype}'))",
    differentiable="leaf",
    ops=OPS,
    sequences=frozenset({"split", "tensor_split"}),
    detach="{source}.detach()",
    backward="{root}.backward({arguments})",
    backward_many="autograd.backward([{roots}], [{cotangents}]{arguments})",
    retain="retain_graph={value}",
    clear_to_none="",
    clear_to_zeros="clear({leaf})",
    gradient="{leaf}.grad",
    step="optimizer([{leaves}]{settings})()",
    optimizer="optimizer([{leaves}]{settings})",
    step_again="{name}()",
    modes={"no_grad": "autograd.pause(train_mode=True)", "enable_grad": "autograd.record()"},
    in_full="{value}.tolist()",
)
"""Templates with which programs are printed as MXNet code."""
