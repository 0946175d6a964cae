"""Templates with which programs are printed as MyGrad code: MyGrad's own ops, called as its documentation shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograd_conformance.frameworks.running.templates import OPERATORS
from autograd_conformance.printing.dialect import Dialect, Template


def _indexed(inner: Callable[[Mapping[str, Any]], str], after: str = "") -> Template:
    """Makes a template that indexes along the dimension that the attributes name; the ellipsis keeps a 0-d result a
    view.
    """

    def code(args: Sequence[str], attrs: Mapping[str, Any]) -> str:
        return f"{args[0]}[{':, ' * attrs['dim']}{inner(attrs)}{after}]"

    return code


OPS: dict[str, Template] = {
    # elementwise
    **OPERATORS,
    "reciprocal": "mg.reciprocal({0})",
    "square": "mg.square({0})",
    "sqrt": "mg.sqrt({0})",
    "abs": "mg.abs({0})",
    "clip": "mg.clip({0}, {min}, {max})",
    "exp": "mg.exp({0})",
    "exp2": "mg.exp2({0})",
    "expm1": "mg.expm1({0})",
    "log": "mg.log({0})",
    "log2": "mg.log2({0})",
    "log10": "mg.log10({0})",
    "log1p": "mg.log1p({0})",
    "sigmoid": "mg.nnet.sigmoid({0})",
    "sin": "mg.sin({0})",
    "cos": "mg.cos({0})",
    "tan": "mg.tan({0})",
    "asin": "mg.arcsin({0})",
    "acos": "mg.arccos({0})",
    "atan": "mg.arctan({0})",
    "sinh": "mg.sinh({0})",
    "cosh": "mg.cosh({0})",
    "tanh": "mg.tanh({0})",
    "asinh": "mg.arcsinh({0})",
    "acosh": "mg.arccosh({0})",
    "atanh": "mg.arctanh({0})",
    "sinc": "mg.sinc({0})",
    "clone": "+{0}",
    # of two operands and more
    "atan2": "mg.arctan2({0}, {1})",
    "logaddexp": "mg.logaddexp({0}, {1})",
    "logaddexp2": "mg.logaddexp2({0}, {1})",
    "maximum": "mg.maximum({0}, {1})",
    "minimum": "mg.minimum({0}, {1})",
    "where": "mg.where({mask}, {0}, {1})",
    # activations
    "relu": "mg.nnet.relu({0})",
    "leaky_relu": "mg.nnet.leaky_relu({0}, {slope})",
    "elu": "mg.nnet.elu({0}, {alpha})",
    "selu": "mg.nnet.selu({0})",
    "softsign": "mg.nnet.soft_sign({0})",
    "hardtanh": "mg.nnet.hard_tanh({0})",
    "glu": "mg.nnet.glu({0}, {dim})",
    "softmax": "mg.nnet.softmax({0}, {dim})",
    "log_softmax": "mg.nnet.logsoftmax({0}, {dim})",
    # reductions
    "sum": "mg.sum({0}, {dim}, keepdims={keepdim})",
    "mean": "mg.mean({0}, {dim}, keepdims={keepdim})",
    "prod": "mg.prod({0})",
    "prod_dim": "mg.prod({0}, {dim}, keepdims={keepdim})",
    "var": "mg.var({0}, {dim}, ddof={correction}, keepdims={keepdim})",
    "std": "mg.std({0}, {dim}, ddof={correction}, keepdims={keepdim})",
    "max": "mg.max({0})",
    "min": "mg.min({0})",
    "amax": "mg.amax({0}, {dim}, keepdims={keepdim})",
    "amin": "mg.amin({0}, {dim}, keepdims={keepdim})",
    "max_dim": "mg.max({0}, {dim}, keepdims={keepdim})",
    "min_dim": "mg.min({0}, {dim}, keepdims={keepdim})",
    "cumulative_sum": "mg.cumsum({0}, {dim})",
    "cumulative_prod": "mg.cumprod({0}, {dim})",
    # shapes and elements
    "reshape": "mg.reshape({0}, {shape})",
    "permute_dims": "mg.transpose({0}, {dims})",
    "matrix_transpose": "mg.swapaxes({0}, -1, -2)",
    "transpose": "mg.swapaxes({0}, {dim0}, {dim1})",
    "moveaxis": "mg.moveaxis({0}, {source}, {destination})",
    "expand_dims": "mg.expand_dims({0}, {dim})",
    "squeeze": "mg.squeeze({0}, {dim})",
    "broadcast_to": "mg.broadcast_to({0}, {shape})",
    "roll": "mg.roll({0}, {shifts}, {dims})",
    "repeat": "mg.repeat({0}, {repeats}, {dim})",
    "repeat_uneven": "mg.repeat({0}, {repeats}, {dim})",
    "concat": "mg.concatenate([{0}, {1}], {dim})",
    "concat_three": "mg.concatenate([{0}, {1}, {2}], {dim})",
    "stack": "mg.stack([{0}, {1}], {dim})",
    "stack_three": "mg.stack([{0}, {1}, {2}], {dim})",
    "unstack": "list({0})",
    "select": _indexed(lambda attrs: str(attrs["index"]), ", ..."),
    "narrow": _indexed(lambda attrs: f"{attrs['start']}:{attrs['start'] + attrs['length']}"),
    "take": _indexed(lambda attrs: str(list(attrs["index"]))),
    "index": "{0}[np.array({index})]",
    "embedding": "{0}[np.array({index})]",
    "masked_select": "{0}[np.array({mask})]",
    # products and layers
    "matmul": "{0} @ {1}",
    "mm": "{0} @ {1}",
    "mv": "{0} @ {1}",
    "dot": "{0} @ {1}",
    "bmm": "{0} @ {1}",
    "einsum": "mg.einsum({equation}, {0}, {1})",
    "einsum_broadcast": "mg.einsum({equation}, {0}, {1})",
    "einsum_three": "mg.einsum({equation}, {0}, {1}, {2})",
    "multi_dot": "mg.multi_matmul([{0}, {1}, {2}])",
    "batch_norm": "mg.nnet.batchnorm({0}, eps={eps})",
    "batch_norm_affine": "mg.nnet.batchnorm({0}, gamma={1}, beta={2}, eps={eps})",
}
"""Template of the code for each op that MyGrad has, by the suite's name of the op. An op is left out if MyGrad lacks
some of its attributes: its convolutions have no groups, and its losses no reduction.
"""


def _into(function: str, more: str = "") -> str:
    """Makes the template of a function that writes its result into its first operand."""
    return f"{function}({{0}}, {more}out={{0}})"


WRITES: dict[str, Template] = {
    # a function of NumPy's kind, with the argument `out`
    **{
        f"{name}_": _into(str(OPS[name]).partition("(")[0])
        for name in (
            "reciprocal", "square", "sqrt", "abs", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin",
            "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
        )
    },
    "neg_": _into("mg.negative"),
    "clamp_": _into("mg.clip", "{min}, {max}, "),
    "atan2_": _into("mg.arctan2", "{1}, "),
    "clamp_min_": _into("mg.maximum", "{1}, "),
    "clamp_max_": _into("mg.minimum", "{1}, "),
    # augmented assignments
    "add_": "{0} += {1}",
    "add_scalar_": "{0} += {scalar}",
    "sub_": "{0} -= {1}",
    "sub_scalar_": "{0} -= {scalar}",
    "mul_": "{0} *= {1}",
    "mul_scalar_": "{0} *= {scalar}",
    "div_": "{0} /= {1}",
    "div_scalar_": "{0} /= {scalar}",
    "pow_": "{0} **= {1}",
    "pow_scalar_": "{0} **= {exponent}",
    "pow_integer_": "{0} **= {exponent}",
    # assignments to elements
    "copy_": "{0}[...] = {1}",
    "fill_tensor_": "{0}[...] = {1}",
    "fill_": "{0}[...] = {value}",
    "zero_": "{0}[...] = 0",
    "set_index_": "{0}[{index}] = {1}",
    "set_index_fill_": "{0}[{index}] = {value}",
    "set_slice_": "{0}[{start}:{stop}:{step}] = {1}",
    "set_slice_fill_": "{0}[{start}:{stop}:{step}] = {value}",
    "set_columns_": "{0}[..., {start}:{stop}] = {1}",
    "set_steps_": "{0}[..., {start}:{stop}:{step}] = {1}",
    "set_elements_": "{0}[np.array({mask})] = {1}",
    "set_points_": "{0}[np.array({rows}), np.array({columns})] = {1}",
    "set_mask_": "{0}[np.array({mask})] = {1}",
    "set_mask_fill_": "{0}[np.array({mask})] = {value}",
    "set_rows_": "{0}[np.array({index})] = {1}",
    "add_index_": "{0}[{index}] += {1}",
    "mul_index_": "{0}[{index}] *= {1}",
}  # fmt: skip
"""Template of the code for each in-place op that MyGrad has, by the suite's name of the op."""

DIALECT = Dialect(
    prelude="import mygrad as mg\nimport numpy as np",
    tensor="mg.tensor({data}, dtype=np.{dtype}{flags})",
    empty="mg.zeros({shape}, dtype=np.{dtype}{flags})",
    differentiable="",
    constant=", constant=True",
    ops=OPS,
    sequences=frozenset({"unstack"}),
    writes=WRITES,
    detach="mg.astensor({source}, constant=True)",
    backward="{root}.backward({arguments})",
    backward_many="",
    retain="",
    clear_to_none="{leaf}.null_grad()",
    clear_to_zeros="",
    gradient="{leaf}.grad",
    memory="id(x.base if (x := np.asarray({value})).base is not None else x)",
)
"""Templates with which programs are printed as MyGrad code."""
