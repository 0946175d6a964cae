"""The table of JAX's primitives as NumPy expressions, from which `reference.staging.numpy_source` composes functions.

Each entry maps the names of a primitive's operands, its parameters and its equation to a Python expression over `np`,
`special` and the helpers below. JAX itself runs primitives that are not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograd_conformance.programs.own_numpy import np

Expression = Callable[[Sequence[str], Any, Any], str]


def _call(function: str) -> Expression:
    return lambda args, params, eqn: f"{function}({', '.join(args)})"


def _infix(operator: str) -> Expression:
    return lambda args, params, eqn: f"({args[0]} {operator} {args[1]})"


def _reduce(ufunc: str) -> Expression:
    return lambda args, params, eqn: f"np.{ufunc}.reduce({args[0]}, axis={tuple(params['axes'])})"


def _cumulative(function: str) -> Expression:
    return lambda args, params, eqn: f"cumulative({function}, {args[0]}, {params['axis']}, {params['reverse']})"


def _method(name: str, operand: str, argument: object) -> str:
    """Returns the code of a call of an array's method, which avoids the overhead of NumPy's function of the same name.
    Scalars have no methods, so they use the function.
    """
    return f"np.{name}({operand}, {argument})" if operand.startswith("(") else f"{operand}.{name}({argument})"


def _reshaped(args: Sequence[str], params: Any, eqn: Any) -> str:
    return _method("reshape", args[0], tuple(eqn.outvars[0].aval.shape))


def _transposed(args: Sequence[str], params: Any, eqn: Any) -> str:
    return _method("transpose", args[0], tuple(params["permutation"]))


def _broadcast(args: Sequence[str], params: Any, eqn: Any) -> str:
    shape, dims = tuple(params["shape"]), params["broadcast_dimensions"]
    inner = [1] * len(shape)
    for axis, dim in enumerate(dims):
        inner[dim] = eqn.invars[0].aval.shape[axis]
    if args[0].startswith("("):
        return f"np.full({shape}, {args[0]})"
    if not dims:
        return f"spread({args[0]}, {shape})"
    reshaped = _method("reshape", args[0], tuple(inner))
    return reshaped if tuple(inner) == shape else f"spread({reshaped}, {shape})"


def _slice(args: Sequence[str], params: Any, eqn: Any) -> str:
    strides = params["strides"] or (1,) * len(params["start_indices"])
    cuts = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return f"{args[0]}[{', '.join(f'{a}:{b}:{s}' for a, b, s in cuts)}]"


def _split(args: Sequence[str], params: Any, eqn: Any) -> str:
    ends = np.cumsum(params["sizes"]).tolist()
    cuts = zip([0, *ends], ends, strict=False)
    return "(" + "".join(f"{args[0]}[{':, ' * params['axis']}{a}:{b}], " for a, b in cuts) + ")"


def _dot(args: Sequence[str], params: Any, eqn: Any) -> str:
    (left, right), (left_batch, right_batch) = params["dimension_numbers"]
    ranks = [v.aval.ndim for v in eqn.invars]
    if not left_batch and tuple(left) == (ranks[0] - 1,) and tuple(right) == (0,) and ranks[1] <= 2:
        return f"np.dot({args[0]}, {args[1]})"
    if not left_batch and ranks == [2, 2] and len(left) == 1:
        return f"np.dot({args[0]}{'.T' * (left[0] == 0)}, {args[1]}{'.T' * (right[0] == 1)})"
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    a = [next(letters) for _ in range(ranks[0])]
    b = [next(letters) for _ in range(ranks[1])]
    for i, j in [*zip(left, right, strict=True), *zip(left_batch, right_batch, strict=True)]:
        b[j] = a[i]
    batch = [a[i] for i in left_batch]
    free = [c for i, c in enumerate(a) if i not in (*left, *left_batch)]
    free += [c for j, c in enumerate(b) if j not in (*right, *right_batch)]
    return f"np.einsum('{''.join(a)},{''.join(b)}->{''.join(batch + free)}', {args[0]}, {args[1]})"


def _select(args: Sequence[str], params: Any, eqn: Any) -> str:
    if len(args) == 3:
        return f"np.where({args[0]}, {args[2]}, {args[1]})"
    return f"np.choose({args[0]}, ({', '.join(args[1:])}))"


def cumulative(function: Any, x: Any, axis: int, reverse: bool) -> Any:
    """Applies a cumulative function, such as `np.add.accumulate`, along `axis`, from its end if `reverse` is set."""
    return np.flip(function(np.flip(x, axis), axis=axis), axis) if reverse else function(x, axis=axis)


def pad(x: Any, value: Any, config: Sequence[tuple[int, int, int]]) -> Any:
    """Pads an array as `lax.pad` does: low, high (which may be negative) and interior padding per dimension."""
    shape, places, kept = [], [], []
    for n, (low, high, interior) in zip(x.shape, config, strict=True):
        before, size = max(0, low), n + max(0, n - 1) * interior
        shape.append(before + size + max(0, high))
        places.append(slice(before, before + size, interior + 1))
        kept.append(slice(max(0, -low), shape[-1] - max(0, -high)))
    out = np.empty(shape, x.dtype)
    out.fill(value)
    out[tuple(places)] = x
    return out[tuple(kept)]


def spread(x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcasts an array into newly allocated memory, which is faster than `np.broadcast_to` for a few elements."""
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


def logcumsumexp(x: Any, axis: int) -> Any:
    """Computes the running log of the sum of exponentials along `axis`."""
    return np.logaddexp.accumulate(x, axis=axis)


def scan(
    body: Callable[..., tuple[Any, ...]],
    consts: tuple[Any, ...],
    carry: tuple[Any, ...],
    xs: tuple[Any, ...],
    length: int,
    reverse: bool,
    stacked: Sequence[tuple[tuple[int, ...], str]],
) -> tuple[Any, ...]:
    """Runs `body` as `lax.scan` does; returns the last carry, and the other results of each step, stacked in arrays of
    the given shapes and dtypes.
    """
    outs = [np.empty(shape, dtype) for shape, dtype in stacked]
    carries = len(carry)
    for t in reversed(range(length)) if reverse else range(length):
        made = body(*consts, *carry, *[x[t] for x in xs])
        carry = made[:carries]
        for out, y in zip(outs, made[carries:], strict=True):
            out[t] = y
    return (*carry, *outs)


HELPERS = {"cumulative": cumulative, "pad": pad, "spread": spread, "logcumsumexp": logcumsumexp, "scan": scan}

_NUMPY = {
    "neg": "negative", "exp": "exp", "exp2": "exp2", "log": "log", "log1p": "log1p", "expm1": "expm1", "sqrt": "sqrt",
    "cbrt": "cbrt", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "abs": "abs", "sign": "sign", "floor": "floor", "ceil": "ceil", "square": "square", "is_finite": "isfinite",
    "not": "logical_not", "max": "maximum", "min": "minimum", "atan2": "arctan2", "pow": "power", "rem": "fmod",
}  # fmt: skip
_SPECIAL = {
    "logistic": "expit", "erf": "erf", "erfc": "erfc", "erf_inv": "erfinv", "lgamma": "gammaln", "digamma": "digamma",
    "polygamma": "polygamma", "zeta": "zeta",
}  # fmt: skip
_OPERATORS = {
    "add": "+", "add_any": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_REDUCTIONS = {
    "reduce_sum": "add", "reduce_max": "maximum", "reduce_min": "minimum", "reduce_prod": "multiply",
    "reduce_and": "logical_and", "reduce_or": "logical_or",
}  # fmt: skip
_CUMULATIVE = {
    "cumsum": "np.add.accumulate", "cumprod": "np.multiply.accumulate", "cummax": "np.maximum.accumulate",
    "cummin": "np.minimum.accumulate", "cumlogsumexp": "logcumsumexp",
}  # fmt: skip

PRIMITIVES: dict[str, Expression] = {
    **{name: _call(f"np.{function}") for name, function in _NUMPY.items()},
    **{name: _call(f"special.{function}") for name, function in _SPECIAL.items()},
    **{name: _infix(operator) for name, operator in _OPERATORS.items()},
    **{name: _reduce(ufunc) for name, ufunc in _REDUCTIONS.items()},
    **{name: _cumulative(function) for name, function in _CUMULATIVE.items()},
    **dict.fromkeys(("reshape", "squeeze", "expand_dims"), _reshaped),
    "broadcast_in_dim": _broadcast,
    "slice": _slice,
    "dot_general": _dot,
    "select_n": _select,
    "rsqrt": lambda args, params, eqn: f"(1.0 / np.sqrt({args[0]}))",
    "integer_pow": lambda args, params, eqn: f"({args[0]} ** {float(params['y'])})",
    "clamp": lambda args, params, eqn: f"np.minimum(np.maximum({args[1]}, {args[0]}), {args[2]})",
    "transpose": _transposed,
    "rev": lambda args, params, eqn: f"np.flip({args[0]}, {tuple(params['dimensions'])})",
    "concatenate": lambda args, params, eqn: f"np.concatenate(({', '.join(args)},), axis={params['dimension']})",
    "pad": lambda args, params, eqn: f"pad({args[0]}, {args[1]}, {tuple(params['padding_config'])})",
    "split": _split,
    "stack": lambda args, params, eqn: f"np.stack(({', '.join(args)},), axis={params['axis']})",
    "unstack": lambda args, params, eqn: f"np.moveaxis({args[0]}, {params['axis']}, 0)",
    "argmax": lambda args, params, eqn: f"np.argmax({args[0]}, axis={params['axes'][0]})",
    "argmin": lambda args, params, eqn: f"np.argmin({args[0]}, axis={params['axes'][0]})",
    "convert_element_type": lambda args, params, eqn: f"np.asarray({args[0]}, dtype='{np.dtype(params['new_dtype'])}')",
    **dict.fromkeys(("copy", "copy_p", "stop_gradient"), lambda args, params, eqn: args[0]),
}
