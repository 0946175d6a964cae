"""In-place methods of ops: rows made from the rows of `OPS`.

The reference function, the domains and the saved values are those of the op. The other operands must broadcast to the
target's shape, and the code is a statement.
"""

from __future__ import annotations

import re
from dataclasses import replace

from autograd_conformance.ops.rows.row import POOL, Op
from autograd_conformance.ops.rows.shapes import broadcast, broadcasting
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Shape

SAME_NAME = (
    "abs", "reciprocal", "square", "sqrt", "rsqrt", "clip", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
    "sigmoid", "logit", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sinc", "deg2rad", "erf",
    "erfc", "erfinv", "lgamma", "digamma", "sign", "floor", "ceil", "round", "frac", "atan2", "hypot", "xlogy",
    "copysign", "lerp", "addcmul", "addcdiv", "cumulative_sum", "cumulative_prod", "tril", "triu", "scatter",
    "scatter_add", "index_add", "index_copy", "index_fill", "masked_fill", "addmm", "addmv", "addr", "baddbmm",
    "trunc", "mvlgamma", "remainder_scalar", "fmod_scalar", "nan_to_num", "ldexp",
    "masked_scatter", "scatter_reduce",
)  # fmt: skip
"""Ops written ``torch.name({0}, ...)``; in place they are methods: ``{0}.name_(...)``.

PyTorch refuses to differentiate `asinh_`, `acosh_` and `atanh_`: "the derivative for 'inplace version of asinh' is not
implemented". They are left out.
"""

OTHER_CODE = {
    "neg_": ("negative", "{0}.neg_()"),
    "add_": ("add", "{0}.add_({1})"),
    "add_scalar_": ("add_scalar", "{0}.add_({scalar})"),
    "add_scaled_": ("add_scaled", "{0}.add_({1}, alpha={alpha})"),
    "sub_": ("subtract", "{0}.sub_({1})"),
    "sub_scalar_": ("subtract_scalar", "{0}.sub_({scalar})"),
    "sub_scaled_": ("subtract_scaled", "{0}.sub_({1}, alpha={alpha})"),
    "mul_": ("multiply", "{0}.mul_({1})"),
    "mul_scalar_": ("multiply_scalar", "{0}.mul_({scalar})"),
    "div_": ("divide", "{0}.div_({1})"),
    "div_scalar_": ("divide_scalar", "{0}.div_({scalar})"),
    "pow_": ("pow", "{0}.pow_({1})"),
    "pow_scalar_": ("pow_scalar", "{0}.pow_({exponent})"),
    "pow_integer_": ("pow_integer", "{0}.pow_({exponent})"),
    "lerp_scalar_": ("lerp_scalar", "{0}.lerp_({1}, {weight})"),
    "polygamma_": ("polygamma", "{0}.polygamma_({n})"),
    "i0_": ("i0", "{0}.i0_()"),
    "clamp_min_": ("maximum", "{0}.clamp_min_({1})"),
    "clamp_max_": ("minimum", "{0}.clamp_max_({1})"),
    "relu_": ("relu", "{0}.relu_()"),
    "relu6_": ("relu6", "F.relu6({0}, inplace=True)"),
    "leaky_relu_": ("leaky_relu", "F.leaky_relu_({0}, negative_slope={slope})"),
    "elu_": ("elu", "F.elu_({0}, alpha={alpha})"),
    "celu_": ("celu", "F.celu_({0}, alpha={alpha})"),
    "selu_": ("selu", "F.selu_({0})"),
    "silu_": ("silu", "F.silu({0}, inplace=True)"),
    "mish_": ("mish", "F.mish({0}, inplace=True)"),
    "hardtanh_": ("hardtanh", "F.hardtanh_({0})"),
    "hardsigmoid_": ("hardsigmoid", "F.hardsigmoid({0}, inplace=True)"),
    "hardswish_": ("hardswish", "F.hardswish({0}, inplace=True)"),
    "threshold_": ("threshold", "F.threshold_({0}, {threshold}, {value})"),
}
"""In-place ops whose code cannot be derived from the code of the op, each with the name of the op and the code."""

_CALL = re.compile(r"torch\.(\w+)\(\{0\}(?:, )?(.*)\)")


def narrower(first: Shape) -> list[tuple[Shape, ...]]:
    """Returns the shapes of one further operand that broadcasts to the first one's shape; the same shape comes
    first.
    """
    return [(first,), *((s,) for s in POOL if s != first and broadcast(first, s) == first)]


def _in_place(op: Op, name: str, torch: str) -> Op:
    rest = narrower if op.rest is broadcasting else op.rest
    return replace(op, name=name, torch=torch, rest=rest, family="writes")


def _method(op: Op) -> Op:
    call = _CALL.fullmatch(op.torch)
    assert call is not None, f"{op.name} is not written as a function: {op.torch}"
    return _in_place(op, f"{call[1]}_", f"{{0}}.{call[1]}_({call[2]})")


INPLACE: dict[str, Op] = {
    row.name: row
    for row in (
        *(_method(OPS[name]) for name in SAME_NAME),
        *(_in_place(OPS[op], name, torch) for name, (op, torch) in OTHER_CODE.items()),
    )
}
