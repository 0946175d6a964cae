"""Templates with which programs are printed as PyTensor code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograd_conformance.frameworks.running.templates import OPERATORS, indices, narrow, over, select
from autograd_conformance.printing.dialect import Template
from autograd_conformance.printing.functional import functional

Names = Sequence[str]
Attributes = Mapping[str, Any]


def _at(update: str) -> Template:
    """Makes a template of an update of a part of an array along one dimension, such as `x[:, index].set(y)`."""

    def code(x: Names, attrs: Attributes) -> str:
        part = indices(attrs["dim"], f"np.array({attrs['index']})")
        return f"{x[0]}[{part}].{update.format(*x, **attrs)}"

    return code


def _split(x: Names, attrs: Attributes) -> str:
    sizes = attrs["sizes"]
    return f"pt.split({x[0]}, {list(sizes)}, n_splits={len(sizes)}, axis={attrs['dim']})"


def _flatten(x: Names, attrs: Attributes) -> str:
    start, end = attrs["start_dim"], attrs["end_dim"]
    joined = f"{end - start + 1}" if end >= 0 else f"{x[0]}.ndim - {start - end - 1}"
    return f"pt.join_dims({x[0]}, {start}, {joined})"


def _pad(x: Names, attrs: Attributes) -> str:
    """Writes the widths from the first dimension on; the attribute has them from the last one on."""
    flat = attrs["pad"]
    pairs = [(flat[k], flat[k + 1]) for k in range(0, len(flat), 2)][::-1]
    return (
        f"pt.pad({x[0]}, [(0, 0)] * ({x[0]}.ndim - {len(pairs)}) + {pairs}, "
        f"mode='constant', constant_values={attrs['value']})"
    )


OPS: Mapping[str, Template] = {
    **OPERATORS,
    "reciprocal": "pt.reciprocal({0})",
    "square": "pt.square({0})",
    "sqrt": "pt.sqrt({0})",
    "abs": "pt.abs({0})",
    "clip": "pt.clip({0}, {min}, {max})",
    "exp": "pt.exp({0})",
    "exp2": "pt.exp2({0})",
    "expm1": "pt.expm1({0})",
    "log": "pt.log({0})",
    "log2": "pt.log2({0})",
    "log10": "pt.log10({0})",
    "log1p": "pt.log1p({0})",
    "sigmoid": "pt.sigmoid({0})",
    "logit": "pt.special.logit({0})",
    "sin": "pt.sin({0})",
    "cos": "pt.cos({0})",
    "tan": "pt.tan({0})",
    "asin": "pt.arcsin({0})",
    "acos": "pt.arccos({0})",
    "atan": "pt.arctan({0})",
    "sinh": "pt.sinh({0})",
    "cosh": "pt.cosh({0})",
    "tanh": "pt.tanh({0})",
    "asinh": "pt.arcsinh({0})",
    "acosh": "pt.arccosh({0})",
    "atanh": "pt.arctanh({0})",
    "deg2rad": "pt.deg2rad({0})",
    "erf": "pt.erf({0})",
    "erfc": "pt.erfc({0})",
    "erfinv": "pt.erfinv({0})",
    "lgamma": "pt.gammaln({0})",
    "digamma": "pt.digamma({0})",
    "sign": "pt.sign({0})",
    "floor": "pt.floor({0})",
    "ceil": "pt.ceil({0})",
    "round": "pt.round({0})",
    "astype_float32": "{0}.astype('float32')",
    "astype_float64": "{0}.astype('float64')",
    "atan2": "pt.arctan2({0}, {1})",
    "logaddexp": "pt.logaddexp({0}, {1})",
    "maximum": "pt.maximum({0}, {1})",
    "minimum": "pt.minimum({0}, {1})",
    "xlogy": "pt.special.xlogy({0}, {1})",
    "xlog1py": "pt.special.xlog1py({0}, {1})",
    "where": "pt.where(np.array({mask}), {0}, {1})",
    "softplus": "pt.softplus({0})",
    "sum": over("pt.sum"),
    "mean": over("pt.mean"),
    "prod": "pt.prod({0})",
    "prod_dim": "pt.prod({0}, axis={dim}, keepdims={keepdim})",
    "logsumexp": over("pt.logsumexp"),
    "var": "pt.var({0}, axis={dim}, ddof={correction}, keepdims={keepdim})",
    "std": "pt.std({0}, axis={dim}, ddof={correction}, keepdims={keepdim})",
    "max": "pt.max({0})",
    "min": "pt.min({0})",
    "amax": over("pt.max"),
    "amin": over("pt.min"),
    "max_dim": "pt.max({0}, axis={dim}, keepdims={keepdim})",
    "min_dim": "pt.min({0}, axis={dim}, keepdims={keepdim})",
    "sort": "pt.sort({0}, axis={dim})",
    "vector_norm": over("pt.linalg.norm", ", ord={ord}"),
    "vector_norm_inf": over("pt.linalg.norm", ", ord=np.inf"),
    "cumulative_sum": "pt.cumsum({0}, axis={dim})",
    "cumulative_prod": "pt.cumprod({0}, axis={dim})",
    "diff": "pt.diff({0}, n={n}, axis={dim})",
    "reshape": "pt.reshape({0}, {shape})",
    "permute_dims": "pt.transpose({0}, {dims})",
    "matrix_transpose": "pt.matrix_transpose({0})",
    "transpose": "pt.swapaxes({0}, {dim0}, {dim1})",
    "moveaxis": "pt.moveaxis({0}, {source}, {destination})",
    "expand_dims": "pt.expand_dims({0}, {dim})",
    "squeeze": "pt.squeeze({0}, {dim})",
    "flatten": _flatten,
    "unflatten": "pt.split_dims({0}, {sizes}, {dim})",
    "clone": "pt.tensor_copy({0})",
    "flip": "pt.flip({0}, {dims})",
    "roll": "pt.roll({0}, {shifts}, {dims})",
    "broadcast_to": "pt.broadcast_to({0}, {shape})",
    "tile": "pt.tile({0}, {dims})",
    "repeat": "pt.repeat({0}, {repeats}, axis={dim})",
    "repeat_uneven": "pt.repeat({0}, np.array({repeats}), axis={dim})",
    "pad": _pad,
    "concat": "pt.concatenate([{0}, {1}], axis={dim})",
    "concat_three": "pt.concatenate([{0}, {1}, {2}], axis={dim})",
    "stack": "pt.stack([{0}, {1}], axis={dim})",
    "stack_three": "pt.stack([{0}, {1}, {2}], axis={dim})",
    "block_diag": "pt.linalg.block_diag({0}, {1})",
    "split": _split,
    "select": select,
    "narrow": narrow,
    "take": "pt.take({0}, np.array({index}), axis={dim})",
    "take_along_axis": "pt.take_along_axis({0}, np.array({index}), axis={dim})",
    "take_flat": "pt.take({0}, np.array({index}))",
    "index": "{0}[np.array({index})]",
    "embedding": "{0}[np.array({index})]",
    "masked_select": "{0}[np.array({mask})]",
    "index_add": _at("inc({1})"),
    "index_copy": _at("set({1})"),
    "index_fill": _at("set({value})"),
    "select_scatter": "{0}[{index}].set({1})",
    "masked_fill": "pt.where(np.array({mask}), {value}, {0})",
    "tril": "pt.tril({0}, {diagonal})",
    "triu": "pt.triu({0}, {diagonal})",
    "diagonal": "pt.diagonal({0}, {offset}, -2, -1)",
    "trace": "pt.trace({0})",
    "matmul": "{0} @ {1}",
    "mm": "pt.dot({0}, {1})",
    "mv": "pt.dot({0}, {1})",
    "dot": "pt.dot({0}, {1})",
    "bmm": "pt.matmul({0}, {1})",
    "vecdot": "pt.vecdot({0}, {1})",
    "outer": "pt.outer({0}, {1})",
    "tensordot": "pt.tensordot({0}, {1}, axes={dims})",
    "einsum": "pt.einsum({equation}, {0}, {1})",
    "einsum_three": "pt.einsum({equation}, {0}, {1}, {2})",
    "kron": "pt.linalg.kron({0}, {1})",
    "multi_dot": "pt.linalg.matrix_dot({0}, {1}, {2})",
    "softmax": "pt.special.softmax({0}, axis={dim})",
    "log_softmax": "pt.special.log_softmax({0}, axis={dim})",
    "det": "pt.linalg.det({0})",
    "slogdet": "pt.linalg.slogdet({0})",
    "inv": "pt.linalg.inv({0})",
    "solve": "pt.linalg.solve({0}, {1})",
    "solve_triangular": "pt.linalg.solve_triangular({0}, {1}, lower=not {upper})",
    "cholesky": "pt.linalg.cholesky(({0} + {0}.mT) / 2)",
    "eigvalsh": "pt.linalg.eigvalsh(({0} + {0}.mT) / 2)",
    "matrix_power": "pt.linalg.matrix_power({0}, {n})",
    "matrix_exp": "pt.linalg.expm({0} / 4)",
    "matrix_norm": "pt.linalg.norm({0}, ord='fro', axis=(-2, -1))",
}
"""Template of the code for each op, by the suite's name of the op: a function of PyTensor, for all attributes and
shapes except those that the adapter's limits exclude. Left out: `pt.pad` in modes other than "constant"; in the mode of
the adapter, the gradient of "edge" raises.
"""

PRELUDE = """\
import os

os.environ["PYTENSOR_FLAGS"] = "linker=py,optimizer=None"

import numpy as np
import pytensor
import pytensor.tensor as pt


def leaf(array):
    return pytensor.shared(array, shape=array.shape)


def vjp(function, values, cotangents):
    inputs = [value.type() for value in values]
    results = function(*inputs)
    results = results if isinstance(results, (list, tuple)) else [results]
    cost = sum((result * cotangent).sum() for result, cotangent in zip(results, cotangents))
    gradients = pytensor.gradient.grad(cost, inputs, disconnected_inputs="ignore")
    return pytensor.graph.replace.clone_replace(gradients, dict(zip(inputs, values)))"""
"""The lines before every program. They set the mode of all functions before PyTensor is imported, because it cannot be
changed later, and ops such as `einsum` compile their inner functions in it. `leaf` makes a shared variable whose type
has the array's shape, without which nothing broadcasts, and `vjp` differentiates the sum of a function's results, each
weighted by its cotangent.
"""

DIALECT = functional(
    prelude=PRELUDE,
    tensor="leaf(np.array({data}, np.{dtype}))",
    empty="leaf(np.zeros({shape}, np.{dtype}))",
    ops=OPS,
    sequences=frozenset({"split"}),
    detach="pytensor.gradient.disconnected_grad({source})",
    vjp="vjp({function}, [{inputs}], [{cotangents}])",
    ones="pt.ones_like({root})",
    together="[{values}]",
    shape="{value}.eval().shape",
    in_full="{value}.eval()",
)
"""Templates with which programs are printed as PyTensor code."""
