"""Templates with which programs are printed as TensorFlow code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograd_conformance.frameworks.running.templates import OPERATORS, narrow, over, select
from autograd_conformance.printing.dialect import Dialect, Template
from autograd_conformance.printing.functional import functional

Names = Sequence[str]
Attributes = Mapping[str, Any]

REDUCED = {"mean": "tf.reduce_mean({})", "sum": "tf.reduce_sum({})", "none": "{}"}


def _loss(code: str) -> Template:
    """Makes a template of a loss that is computed for each sample and then reduced."""

    def reduced(x: Names, attrs: Attributes) -> str:
        return REDUCED[attrs["reduction"]].format(code.format(*x))

    return reduced


def _normalized(axes: str, scale: str = "None", offset: str = "None") -> Template:
    """Makes a template that normalises an operand by the operand's mean and variance over some dimensions."""

    def code(x: Names, attrs: Attributes) -> str:
        over_them = axes.format(*x, behind=tuple(range(-len(attrs.get("normalized_shape", ())), 0)))
        given = f"{offset.format(*x)}, {scale.format(*x)}, {attrs['eps']}"
        return f"tf.nn.batch_normalization({x[0]}, *tf.nn.moments({x[0]}, {over_them}, keepdims=True), {given})"

    return code


def _sort(x: Names, attrs: Attributes) -> str:
    direction = "DESCENDING" if attrs["descending"] else "ASCENDING"
    return f"tf.sort({x[0]}, {attrs['dim']}, {direction!r})"


OPS: Mapping[str, Template] = {
    **OPERATORS,
    "reciprocal": "tf.math.reciprocal({0})",
    "square": "tf.square({0})",
    "sqrt": "tf.sqrt({0})",
    "rsqrt": "tf.math.rsqrt({0})",
    "abs": "tf.abs({0})",
    "clip": "tnp.clip({0}, {min}, {max})",
    "exp": "tf.exp({0})",
    "exp2": "tnp.exp2({0})",
    "expm1": "tf.math.expm1({0})",
    "log": "tf.math.log({0})",
    "log2": "tnp.log2({0})",
    "log10": "tnp.log10({0})",
    "log1p": "tf.math.log1p({0})",
    "sigmoid": "tf.sigmoid({0})",
    "sin": "tf.sin({0})",
    "cos": "tf.cos({0})",
    "tan": "tf.tan({0})",
    "asin": "tf.asin({0})",
    "acos": "tf.acos({0})",
    "atan": "tf.atan({0})",
    "sinh": "tf.sinh({0})",
    "cosh": "tf.cosh({0})",
    "tanh": "tf.tanh({0})",
    "asinh": "tf.asinh({0})",
    "acosh": "tf.acosh({0})",
    "atanh": "tf.atanh({0})",
    "sinc": "tnp.sinc({0})",
    "deg2rad": "tnp.deg2rad({0})",
    "erf": "tf.math.erf({0})",
    "erfc": "tf.math.erfc({0})",
    "erfinv": "tf.math.erfinv({0})",
    "lgamma": "tf.math.lgamma({0})",
    "digamma": "tf.math.digamma({0})",
    "sign": "tf.sign({0})",
    "floor": "tf.floor({0})",
    "ceil": "tf.math.ceil({0})",
    "round": "tf.round({0})",
    "astype_float32": "tf.cast({0}, tf.float32)",
    "astype_float64": "tf.cast({0}, tf.float64)",
    "atan2": "tf.atan2({0}, {1})",
    "hypot": "tnp.hypot({0}, {1})",
    "logaddexp": "tnp.logaddexp({0}, {1})",
    "logaddexp2": "tnp.logaddexp2({0}, {1})",
    "maximum": "tf.maximum({0}, {1})",
    "minimum": "tf.minimum({0}, {1})",
    "xlogy": "tf.math.xlogy({0}, {1})",
    "xlog1py": "tf.math.xlog1py({0}, {1})",
    "where": "tf.where({mask}, {0}, {1})",
    "relu": "tf.nn.relu({0})",
    "relu6": "tf.nn.relu6({0})",
    "leaky_relu": "tf.nn.leaky_relu({0}, {slope})",
    "selu": "tf.nn.selu({0})",
    "gelu": "tf.nn.gelu({0})",
    "gelu_tanh": "tf.nn.gelu({0}, approximate=True)",
    "silu": "tf.nn.silu({0})",
    "logsigmoid": "tf.math.log_sigmoid({0})",
    "softsign": "tf.nn.softsign({0})",
    "sum": over("tf.reduce_sum"),
    "mean": over("tf.reduce_mean"),
    "prod": "tf.reduce_prod({0})",
    "prod_dim": "tf.reduce_prod({0}, {dim}, {keepdim})",
    "logsumexp": over("tf.reduce_logsumexp"),
    "max": "tf.reduce_max({0})",
    "min": "tf.reduce_min({0})",
    "amax": over("tf.reduce_max"),
    "amin": over("tf.reduce_min"),
    "max_dim": "tf.reduce_max({0}, {dim}, {keepdim})",
    "min_dim": "tf.reduce_min({0}, {dim}, {keepdim})",
    "sort": _sort,
    "cumulative_sum": "tf.cumsum({0}, {dim})",
    "cumulative_prod": "tf.math.cumprod({0}, {dim})",
    "logcumsumexp": "tf.math.cumulative_logsumexp({0}, {dim})",
    "diff": "tnp.diff({0}, {n}, {dim})",
    "reshape": "tf.reshape({0}, {shape})",
    "permute_dims": "tf.transpose({0}, {dims})",
    "matrix_transpose": "tf.linalg.matrix_transpose({0})",
    "transpose": "tnp.swapaxes({0}, {dim0}, {dim1})",
    "moveaxis": "tnp.moveaxis({0}, {source}, {destination})",
    "expand_dims": "tf.expand_dims({0}, {dim})",
    "squeeze": "tf.squeeze({0}, {dim})",
    "clone": "tf.identity({0})",
    "flip": "tf.reverse({0}, {dims})",
    "roll": "tnp.roll({0}, {shifts}, {dims})",
    "rot90": "tnp.rot90({0}, {k}, {dims})",
    "broadcast_to": "tf.broadcast_to({0}, {shape})",
    "tile": "tnp.tile({0}, {dims})",
    "repeat": "tf.repeat({0}, {repeats}, {dim})",
    "repeat_uneven": "tf.repeat({0}, {repeats}, {dim})",
    "concat": "tf.concat([{0}, {1}], {dim})",
    "concat_three": "tf.concat([{0}, {1}, {2}], {dim})",
    "stack": "tf.stack([{0}, {1}], {dim})",
    "stack_three": "tf.stack([{0}, {1}, {2}], {dim})",
    "split": "tf.split({0}, {sizes}, {dim})",
    "unstack": "tf.unstack({0}, axis={dim})",
    "select": select,
    "narrow": narrow,
    "take": "tf.gather({0}, {index}, axis={dim})",
    "take_along_axis": "tnp.take_along_axis({0}, np.array({index}), {dim})",
    "take_flat": "tnp.take({0}, {index})",
    "index": "tf.gather({0}, {index})",
    "embedding": "tf.nn.embedding_lookup({0}, {index})",
    "masked_fill": "tf.where({mask}, tf.constant({value}, {0}.dtype), {0})",
    "tril": "tnp.tril({0}, {diagonal})",
    "triu": "tnp.triu({0}, {diagonal})",
    "diagonal": "tf.linalg.diag_part({0}, k={offset})",
    "diag_embed": "tf.linalg.diag({0}, k={offset})",
    "trace": "tf.linalg.trace({0})",
    "diagonal_scatter": "tf.linalg.set_diag({0}, {1})",
    "matmul": "tnp.matmul({0}, {1})",
    "mm": "tf.matmul({0}, {1})",
    "mv": "tf.linalg.matvec({0}, {1})",
    "dot": "tnp.dot({0}, {1})",
    "bmm": "{0} @ {1}",
    "outer": "tnp.outer({0}, {1})",
    "inner": "tnp.inner({0}, {1})",
    "tensordot": "tf.tensordot({0}, {1}, {dims})",
    "einsum": "tf.einsum({equation}, {0}, {1})",
    "einsum_three": "tf.einsum({equation}, {0}, {1}, {2})",
    "kron": "tnp.kron({0}, {1})",
    "cross": "tnp.cross({0}, {1}, axis={dim})",
    "softmax": "tf.nn.softmax({0}, {dim})",
    "log_softmax": "tf.nn.log_softmax({0}, {dim})",
    "mse_loss": _loss("tf.math.squared_difference({0}, {1})"),
    "bce_with_logits": _loss("tf.nn.sigmoid_cross_entropy_with_logits(labels={1}, logits={0})"),
    "poisson_nll_loss": _loss("tf.nn.log_poisson_loss(targets={1}, log_input={0})"),
    "layer_norm": _normalized("{behind}"),
    "layer_norm_affine": _normalized("{behind}", "{1}", "{2}"),
    "batch_norm": _normalized("[0, *range(2, {0}.shape.rank)]"),
    "instance_norm": _normalized("[*range(2, {0}.shape.rank)]"),
    "normalize": "tf.math.l2_normalize({0}, {dim})",
    "det": "tf.linalg.det({0})",
    "slogdet": "tf.linalg.slogdet({0})",
    "inv": "tf.linalg.inv({0})",
    "solve_triangular": "tf.linalg.triangular_solve({0}, {1}, lower=not {upper})",
    "cholesky": "tf.linalg.cholesky(({0} + tf.linalg.matrix_transpose({0})) / 2)",
    "eigvalsh": "tf.linalg.eigvalsh(({0} + tf.linalg.matrix_transpose({0})) / 2)",
    "matrix_exp": "tf.linalg.expm({0} / 4)",
    "matrix_norm": "tf.norm({0}, axis=(-2, -1))",
}
"""Template of the code for each op, by the suite's name of the op: a function of TensorFlow or of its NumPy API, for
all attributes and shapes. Left out: convolutions, whose derivative refuses dilations on the CPU; `tf.boolean_mask` of a
number; `tnp.var` over several dimensions; `tf.nn.softmax_cross_entropy_with_logits`, whose labels must add up to one.
"""

PRELUDE = """\
import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp


def gradients(function, values, cotangents):
    with tf.GradientTape() as tape:
        tape.watch(values)
        results = function(*values)
    found = tape.gradient(results, values, cotangents, unconnected_gradients="zero")
    return [tf.convert_to_tensor(each) for each in found]  # of a gather it is tf.IndexedSlices
"""
"""Imports and definitions with which each printed program begins: a function that differentiates another one on a tape.
Nested calls nest the tapes.
"""


def dialect(vjp: str, prelude: str = PRELUDE) -> Dialect:
    """Returns the templates with which programs are printed as TensorFlow code; `vjp` is the template of the call of
    `gradients`.
    """
    return functional(
        prelude=prelude,
        tensor="tf.constant({data}, tf.{dtype})",
        empty="tf.zeros({shape}, tf.{dtype})",
        ops=OPS,
        sequences=frozenset({"split", "unstack"}),
        detach="tf.stop_gradient({source})",
        vjp=vjp,
        ones="tf.ones_like({root})",
        together="[{values}]",
        error="(tf.errors.OpError, LookupError, TypeError, ValueError)",
    )
