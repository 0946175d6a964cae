"""The ops of the catalogue that NumPy has, or SciPy in `special`, as templates of code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograd_conformance.frameworks.running.templates import (
    OPERATORS,
    complex_functions,
    indices,
    narrow,
    over,
    select,
    split,
)
from autograd_conformance.printing.dialect import Template


def _take(x: Sequence[str], attrs: Mapping[str, Any]) -> str:
    return f"{x[0]}[{indices(attrs['dim'], str(list(attrs['index'])))}]"


def _sort(x: Sequence[str], attrs: Mapping[str, Any]) -> str:
    rising = f"np.sort({x[0]}, axis={attrs['dim']})"
    return f"{rising}[{indices(attrs['dim'], '::-1')}]" if attrs["descending"] else rising


def _pairs(numbers: str) -> str:
    """The code of complex numbers as pairs of real ones."""
    return f"(lambda z: np.stack([np.real(z), np.imag(z)], -1))({numbers})"


TABLE: Mapping[str, Template] = {
    **OPERATORS,
    "reciprocal": "np.reciprocal({0})",
    "square": "np.square({0})",
    "sqrt": "np.sqrt({0})",
    "abs": "np.abs({0})",
    "clip": "np.clip({0}, {min}, {max})",
    "exp": "np.exp({0})",
    "exp2": "np.exp2({0})",
    "expm1": "np.expm1({0})",
    "log": "np.log({0})",
    "log2": "np.log2({0})",
    "log10": "np.log10({0})",
    "log1p": "np.log1p({0})",
    "sigmoid": "special.expit({0})",
    "logit": "special.logit({0})",
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
    "sinc": "np.sinc({0})",
    "deg2rad": "np.deg2rad({0})",
    "erf": "special.erf({0})",
    "erfc": "special.erfc({0})",
    "erfinv": "special.erfinv({0})",
    "lgamma": "special.gammaln({0})",
    "digamma": "special.digamma({0})",
    "sign": "np.sign({0})",
    "floor": "np.floor({0})",
    "ceil": "np.ceil({0})",
    "round": "np.round({0})",
    "astype_float32": "{0}.astype(np.float32)",
    "astype_float64": "{0}.astype(np.float64)",
    "atan2": "np.arctan2({0}, {1})",
    "hypot": "np.hypot({0}, {1})",
    "logaddexp": "np.logaddexp({0}, {1})",
    "logaddexp2": "np.logaddexp2({0}, {1})",
    "maximum": "np.maximum({0}, {1})",
    "minimum": "np.minimum({0}, {1})",
    "fmax": "np.fmax({0}, {1})",
    "fmin": "np.fmin({0}, {1})",
    "where": "np.where({mask}, {0}, {1})",
    "sum": over("np.sum"),
    "mean": over("np.mean"),
    "prod": "np.prod({0})",
    "prod_dim": "np.prod({0}, axis={dim}, keepdims={keepdim})",
    "var": "np.var({0}, axis={dim}, ddof={correction}, keepdims={keepdim})",
    "std": "np.std({0}, axis={dim}, ddof={correction}, keepdims={keepdim})",
    "max": "np.max({0})",
    "min": "np.min({0})",
    "amax": over("np.amax"),
    "amin": over("np.amin"),
    "max_dim": "np.max({0}, axis={dim}, keepdims={keepdim})",
    "min_dim": "np.min({0}, axis={dim}, keepdims={keepdim})",
    "cumulative_sum": "np.cumsum({0}, axis={dim})",
    "diff": "np.diff({0}, n={n}, axis={dim})",
    "reshape": "np.reshape({0}, {shape})",
    "permute_dims": "np.transpose({0}, {dims})",
    "matrix_transpose": "np.swapaxes({0}, -1, -2)",
    "transpose": "np.swapaxes({0}, {dim0}, {dim1})",
    "moveaxis": "np.moveaxis({0}, {source}, {destination})",
    "expand_dims": "np.expand_dims({0}, {dim})",
    "squeeze": "np.squeeze({0}, {dim})",
    "roll": "np.roll({0}, {shifts}, {dims})",
    "broadcast_to": "np.broadcast_to({0}, {shape})",
    "tile": "np.tile({0}, {dims})",
    "repeat": "np.repeat({0}, {repeats}, axis={dim})",
    "concat": "np.concatenate(({0}, {1}), axis={dim})",
    "concat_three": "np.concatenate(({0}, {1}, {2}), axis={dim})",
    "stack": "np.stack(({0}, {1}), axis={dim})",
    "stack_three": "np.stack(({0}, {1}, {2}), axis={dim})",
    "split": split("np.split"),
    "tensor_split": "np.array_split({0}, {sections}, axis={dim})",
    "select": select,
    "narrow": narrow,
    "take": _take,
    "index": "{0}[np.array({index})]",
    "embedding": "{0}[np.array({index})]",
    "masked_select": "{0}[np.array({mask})]",
    "masked_fill": "np.where({mask}, {value}, {0})",
    "tril": "np.tril({0}, {diagonal})",
    "triu": "np.triu({0}, {diagonal})",
    "trace": "np.trace({0})",
    "matmul": "{0} @ {1}",
    "mm": "np.dot({0}, {1})",
    "mv": "np.dot({0}, {1})",
    "dot": "np.dot({0}, {1})",
    "bmm": "np.matmul({0}, {1})",
    "outer": "np.outer({0}, {1})",
    "inner": "np.inner({0}, {1})",
    "tensordot": "np.tensordot({0}, {1}, axes={dims})",
    "einsum": "np.einsum({equation}, {0}, {1})",
    "einsum_three": "np.einsum({equation}, {0}, {1}, {2})",
    "kron": "np.kron({0}, {1})",
    "cross": "np.cross({0}, {1}, axis={dim})",
    "det": "np.linalg.det({0})",
    "slogdet": "np.linalg.slogdet({0})",
    **complex_functions("np", "({x}[..., 0] + 1j * {x}[..., 1])", _pairs),
    "inv": "np.linalg.inv({0})",
    "solve": "np.linalg.solve({0}, {1})",
    "cholesky": "np.linalg.cholesky(({0} + np.swapaxes({0}, -1, -2)) / 2)",
    "matrix_norm": "np.linalg.norm({0}, axis=(-2, -1))",
}
"""Template of the code for each op, by the suite's name of the op. `np` is the framework's NumPy, and `special` its
functions of SciPy."""

FURTHER: Mapping[str, Template] = {
    "diagonal": "np.diagonal({0}, {offset}, -2, -1)",
    "flip": "np.flip({0}, {dims})",
    "rot90": "np.rot90({0}, {k}, {dims})",
    "sort": _sort,
    "cumulative_prod": "np.cumprod({0}, axis={dim})",
    "copysign": "np.copysign({0}, {1})",
    "take_along_axis": "np.take_along_axis({0}, np.array({index}), axis={dim})",
    "vector_norm": over("np.linalg.vector_norm", ", ord={ord}"),
    "vecdot": "np.linalg.vecdot({0}, {1}, axis={dim})",
    "matrix_power": "np.linalg.matrix_power({0}, {n})",
    "eigvalsh": "np.linalg.eigvalsh(({0} + np.swapaxes({0}, -1, -2)) / 2)",
    "logsumexp": over("special.logsumexp"),
    "xlogy": "special.xlogy({0}, {1})",
    "xlog1py": "special.xlog1py({0}, {1})",
    "softmax": "special.softmax({0}, axis={dim})",
    "log_softmax": "special.log_softmax({0}, axis={dim})",
}
"""The same for ops whose functions some NumPy-like frameworks do not differentiate, or only for some attributes."""


SEQUENCES = frozenset({"split", "tensor_split"})
"""Ops whose code returns a sequence, even for one result."""
