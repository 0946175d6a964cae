"""Templates with which programs are printed as JAX code."""

from __future__ import annotations

from collections.abc import Mapping

from autograd_conformance.adapters.jax import windows
from autograd_conformance.adapters.jax.windows import Attributes, Names
from autograd_conformance.frameworks.running.templates import OPERATORS, complex_functions, indices, over, select, split
from autograd_conformance.ops.limits import Limit, Limits
from autograd_conformance.printing.dialect import Dialect, Template
from autograd_conformance.printing.functional import functional


def _at(update: str) -> Template:
    """Makes a template of an update of a part of an array along one dimension, such as `x.at[:, index].set(y)`."""

    def code(x: Names, attrs: Attributes) -> str:
        part = indices(attrs["dim"], f"np.array({attrs['index']})")
        return f"{x[0]}.at[{part}].{update.format(*x, **attrs)}"

    return code


def _narrow(x: Names, attrs: Attributes) -> str:
    start, dim = attrs["start"], attrs["dim"]
    return f"jax.lax.slice_in_dim({x[0]}, {start}, {start + attrs['length']}, axis={dim})"


def _flatten(x: Names, attrs: Attributes) -> str:
    stop = "" if attrs["end_dim"] == -1 else f", {attrs['end_dim'] + 1}"
    return f"jax.lax.collapse({x[0]}, {attrs['start_dim']}{stop})"


def _attention(x: Names, attrs: Attributes) -> str:
    """The code of attention with one head, which JAX has before the features."""
    heads = ", ".join(f"{name}[..., None, :]" for name in x)
    return f"jax.nn.dot_product_attention({heads}, is_causal={attrs['is_causal']})[..., 0, :]"


def _triangular(x: Names, attrs: Attributes) -> str:
    return f"jsp.linalg.solve_triangular({x[0]}, {x[1]}, lower={not attrs['upper']})"


def _standardize(x: Names, attrs: Attributes) -> str:
    axes = tuple(range(-len(attrs["normalized_shape"]), 0))
    return f"jax.nn.standardize({x[0]}, axis={axes}, epsilon={attrs['eps']})"


def _signs(factor: str) -> str:
    """The code of the signs of a factor's diagonal."""
    return f"jnp.sign(jnp.diagonal({factor}, 0, -2, -1))"


COMPLEX = "jax.lax.complex({x}[..., 0], {x}[..., 1])"
"""The code of the complex numbers of an operand {x}, which are pairs of real ones."""
FIRST, SECOND = (COMPLEX.replace("{x}", f"{{{k}}}") for k in range(2))


def _pairs(numbers: str) -> str:
    """The code of complex numbers as pairs of real ones."""
    return f"(lambda z: jnp.stack([z.real, z.imag], -1))({numbers})"


OPS: Mapping[str, Template] = {
    **OPERATORS,
    "reciprocal": "jnp.reciprocal({0})",
    "square": "jnp.square({0})",
    "sqrt": "jnp.sqrt({0})",
    "rsqrt": "jax.lax.rsqrt({0})",
    "abs": "jnp.abs({0})",
    "clip": "jnp.clip({0}, {min}, {max})",
    "exp": "jnp.exp({0})",
    "exp2": "jnp.exp2({0})",
    "expm1": "jnp.expm1({0})",
    "log": "jnp.log({0})",
    "log2": "jnp.log2({0})",
    "log10": "jnp.log10({0})",
    "log1p": "jnp.log1p({0})",
    "sigmoid": "jax.nn.sigmoid({0})",
    "logit": "jsp.special.logit({0})",
    "sin": "jnp.sin({0})",
    "cos": "jnp.cos({0})",
    "tan": "jnp.tan({0})",
    "asin": "jnp.arcsin({0})",
    "acos": "jnp.arccos({0})",
    "atan": "jnp.arctan({0})",
    "sinh": "jnp.sinh({0})",
    "cosh": "jnp.cosh({0})",
    "tanh": "jnp.tanh({0})",
    "asinh": "jnp.arcsinh({0})",
    "acosh": "jnp.arccosh({0})",
    "atanh": "jnp.arctanh({0})",
    "sinc": "jnp.sinc({0})",
    "deg2rad": "jnp.deg2rad({0})",
    "erf": "jsp.special.erf({0})",
    "erfc": "jsp.special.erfc({0})",
    "erfcx": "jsp.special.erfcx({0})",
    "erfinv": "jsp.special.erfinv({0})",
    "lgamma": "jsp.special.gammaln({0})",
    "digamma": "jsp.special.digamma({0})",
    "polygamma": "jsp.special.polygamma({n}, {0})",
    "mvlgamma": "jsp.special.multigammaln({0}, {p})",
    "entr": "jsp.special.entr({0})",
    "ndtr": "jsp.special.ndtr({0})",
    "log_ndtr": "jsp.special.log_ndtr({0})",
    "ndtri": "jsp.special.ndtri({0})",
    "i0": "jsp.special.i0({0})",
    "i0e": "jsp.special.i0e({0})",
    "i1": "jsp.special.i1({0})",
    "i1e": "jsp.special.i1e({0})",
    "nan_to_num": "jnp.nan_to_num({0})",
    "remainder_scalar": "jnp.remainder({0}, {scalar})",
    "fmod_scalar": "jnp.fmod({0}, {scalar})",
    "frac": "jnp.modf({0})[0]",
    "trunc": "jnp.trunc({0})",
    "sign": "jnp.sign({0})",
    "floor": "jnp.floor({0})",
    "ceil": "jnp.ceil({0})",
    "round": "jnp.round({0})",
    "astype_float32": "{0}.astype(jnp.float32)",
    "astype_float64": "{0}.astype(jnp.float64)",
    "atan2": "jnp.arctan2({0}, {1})",
    "hypot": "jnp.hypot({0}, {1})",
    "logaddexp": "jnp.logaddexp({0}, {1})",
    "logaddexp2": "jnp.logaddexp2({0}, {1})",
    "maximum": "jnp.maximum({0}, {1})",
    "minimum": "jnp.minimum({0}, {1})",
    "fmax": "jnp.fmax({0}, {1})",
    "fmin": "jnp.fmin({0}, {1})",
    "xlogy": "jsp.special.xlogy({0}, {1})",
    "xlog1py": "jsp.special.xlog1py({0}, {1})",
    "copysign": "jnp.copysign({0}, {1})",
    "where": "jnp.where(np.array({mask}), {0}, {1})",
    "relu": "jax.nn.relu({0})",
    "relu6": "jax.nn.relu6({0})",
    "leaky_relu": "jax.nn.leaky_relu({0}, {slope})",
    "elu": "jax.nn.elu({0}, {alpha})",
    "celu": "jax.nn.celu({0}, {alpha})",
    "selu": "jax.nn.selu({0})",
    "gelu": "jax.nn.gelu({0}, approximate=False)",
    "gelu_tanh": "jax.nn.gelu({0}, approximate=True)",
    "silu": "jax.nn.silu({0})",
    "softplus": "jax.nn.softplus({0})",
    "mish": "jax.nn.mish({0})",
    "logsigmoid": "jax.nn.log_sigmoid({0})",
    "softsign": "jax.nn.soft_sign({0})",
    "hardtanh": "jax.nn.hard_tanh({0})",
    "hardsigmoid": "jax.nn.hard_sigmoid({0})",
    "hardswish": "jax.nn.hard_swish({0})",
    "glu": "jax.nn.glu({0}, axis={dim})",
    "sum": over("jnp.sum"),
    "mean": over("jnp.mean"),
    "prod": "jnp.prod({0})",
    "prod_dim": "jnp.prod({0}, axis={dim}, keepdims={keepdim})",
    "logsumexp": over("jax.nn.logsumexp"),
    "var": "jnp.var({0}, axis={dim}, correction={correction}, keepdims={keepdim})",
    "std": "jnp.std({0}, axis={dim}, correction={correction}, keepdims={keepdim})",
    "max": "jnp.max({0})",
    "min": "jnp.min({0})",
    "amax": over("jnp.amax"),
    "amin": over("jnp.amin"),
    "max_dim": "jnp.max({0}, axis={dim}, keepdims={keepdim})",
    "min_dim": "jnp.min({0}, axis={dim}, keepdims={keepdim})",
    "sort": "jnp.sort({0}, axis={dim}, descending={descending})",
    "topk": "jax.lax.top_k({0}, {k}, axis={dim} % {0}.ndim)[0]",
    "vector_norm": over("jnp.linalg.vector_norm", ", ord={ord}"),
    "vector_norm_inf": over("jnp.linalg.vector_norm", ", ord=jnp.inf"),
    "nansum": over("jnp.nansum"),
    "nanmean": over("jnp.nanmean"),
    "median": "jnp.median({0})",
    "nanmedian": "jnp.nanmedian({0})",
    "quantile": "jnp.quantile({0}, {q}, axis={dim}, keepdims={keepdim})",
    "cov": "jnp.cov({0}, ddof={correction})",
    "trapezoid": "jnp.trapezoid({0}, dx={dx}, axis={dim})",
    "gradient": "jnp.gradient({0}, {spacing}, axis={dim})",
    "logcumsumexp": "jax.lax.cumlogsumexp({0}, axis={dim} % {0}.ndim)",
    "cummax": "jax.lax.cummax({0}, axis={dim} % {0}.ndim)",
    "cummin": "jax.lax.cummin({0}, axis={dim} % {0}.ndim)",
    "cumulative_sum": "jnp.cumsum({0}, axis={dim})",
    "cumulative_prod": "jnp.cumprod({0}, axis={dim})",
    "diff": "jnp.diff({0}, n={n}, axis={dim})",
    "vander": "jnp.vander({0}, {n}, increasing=True)",
    "reshape": "jnp.reshape({0}, {shape})",
    "permute_dims": "jnp.permute_dims({0}, {dims})",
    "matrix_transpose": "jnp.matrix_transpose({0})",
    "transpose": "jnp.swapaxes({0}, {dim0}, {dim1})",
    "moveaxis": "jnp.moveaxis({0}, {source}, {destination})",
    "expand_dims": "jnp.expand_dims({0}, {dim})",
    "squeeze": "jnp.squeeze({0}, {dim})",
    "flatten": _flatten,
    "clone": "jnp.copy({0})",
    "flip": "jnp.flip({0}, {dims})",
    "roll": "jnp.roll({0}, {shifts}, {dims})",
    "rot90": "jnp.rot90({0}, {k}, {dims})",
    "broadcast_to": "jnp.broadcast_to({0}, {shape})",
    "tile": "jnp.tile({0}, {dims})",
    "repeat": "jnp.repeat({0}, {repeats}, axis={dim})",
    "repeat_uneven": "jnp.repeat({0}, np.array({repeats}), axis={dim})",
    "pad": windows.pad,
    "pad_border": windows.pad_border,
    "interpolate_nearest": windows.interpolate_nearest,
    "im2col": windows.im2col,
    "concat": "jnp.concatenate(({0}, {1}), axis={dim})",
    "concat_three": "jnp.concatenate(({0}, {1}, {2}), axis={dim})",
    "stack": "jnp.stack(({0}, {1}), axis={dim})",
    "stack_three": "jnp.stack(({0}, {1}, {2}), axis={dim})",
    "block_diag": "jsp.linalg.block_diag({0}, {1})",
    "split": split("jnp.split"),
    "tensor_split": "jnp.array_split({0}, {sections}, axis={dim})",
    "unstack": "jnp.unstack({0}, axis={dim})",
    "select": select,
    "narrow": _narrow,
    "take": "jnp.take({0}, np.array({index}), axis={dim})",
    "take_along_axis": "jnp.take_along_axis({0}, np.array({index}), axis={dim})",
    "gather": "jnp.take_along_axis({0}, np.array({index}), axis={dim})",
    "take_flat": "jnp.take({0}, np.array({index}))",
    "index": "{0}[np.array({index})]",
    "embedding": "{0}[np.array({index})]",
    "masked_select": "{0}[np.array({mask})]",
    "index_add": _at("add({1})"),
    "index_copy": _at("set({1})"),
    "index_put": "{0}.at[np.array({index})].add({1})",
    "slice_scatter": "{0}.at[{start}:{stop}].set({1})",
    "scatter": "jnp.put_along_axis({0}, np.array({index}), {1}, axis={dim}, inplace=False)",
    "index_fill": _at("set({value})"),
    "select_scatter": "{0}.at[{index}].set({1})",
    "masked_fill": "jnp.where(np.array({mask}), {value}, {0})",
    "tril": "jnp.tril({0}, {diagonal})",
    "triu": "jnp.triu({0}, {diagonal})",
    "diagonal": "jnp.diagonal({0}, {offset}, -2, -1)",
    "diag_embed": "jnp.diag({0}, {offset})",
    "diagonal_scatter": "jnp.fill_diagonal({0}, {1}, inplace=False)",
    "trace": "jnp.trace({0})",
    "matmul": "{0} @ {1}",
    "mm": "jnp.dot({0}, {1})",
    "mv": "jnp.dot({0}, {1})",
    "dot": "jnp.dot({0}, {1})",
    "bmm": "jnp.matmul({0}, {1})",
    "vecdot": "jnp.vecdot({0}, {1}, axis={dim})",
    "outer": "jnp.outer({0}, {1})",
    "inner": "jnp.inner({0}, {1})",
    "tensordot": "jnp.tensordot({0}, {1}, axes={dims})",
    "einsum": "jnp.einsum({equation}, {0}, {1})",
    "einsum_broadcast": "jnp.einsum({equation}, {0}, {1})",
    "einsum_three": "jnp.einsum({equation}, {0}, {1}, {2})",
    "kron": "jnp.kron({0}, {1})",
    "cross": "jnp.cross({0}, {1}, axis={dim})",
    "multi_dot": "jnp.linalg.multi_dot([{0}, {1}, {2}])",
    "scaled_dot_product_attention": _attention,
    "softmax": "jax.nn.softmax({0}, {dim})",
    "log_softmax": "jax.nn.log_softmax({0}, {dim})",
    "layer_norm": _standardize,
    "conv1d": windows.conv(1),
    "conv2d": windows.conv(2),
    "conv2d_uneven": windows.conv(2),
    "conv3d": windows.conv(3),
    "conv_transpose1d": windows.conv_transpose(1),
    "conv_transpose2d": windows.conv_transpose(2),
    "max_pool1d": windows.max_pool(1),
    "max_pool2d": windows.max_pool(2),
    "max_pool2d_uneven": windows.max_pool(2),
    "max_pool3d": windows.max_pool(3),
    "det": "jnp.linalg.det({0})",
    "slogdet": "jnp.linalg.slogdet({0})",
    "inv": "jnp.linalg.inv({0})",
    "solve": "jnp.linalg.solve({0}, {1})",
    "solve_triangular": _triangular,
    "cholesky": "jnp.linalg.cholesky(({0} + {0}.mT) / 2)",
    "eigvalsh": "jnp.linalg.eigvalsh(({0} + {0}.mT) / 2)",
    "matrix_power": "jnp.linalg.matrix_power({0}, {n})",
    "matrix_exp": "jsp.linalg.expm({0} / 4)",
    "matrix_norm": "jnp.linalg.matrix_norm({0})",
    "pinv": "jnp.linalg.pinv({0})",
    "cholesky_solve": "jsp.linalg.cho_solve((jnp.tril({1}), True), {0})",
    "svdvals": "jnp.linalg.svdvals({0})",
    "nuclear_norm": "jnp.linalg.matrix_norm({0}, ord='nuc')",
    "spectral_norm": "jnp.linalg.matrix_norm({0}, ord={ord})",
    "svd": f"(lambda u, s, v: (u * {_signs('v')}[..., None, :], s, v * {_signs('v')}[..., None]))"
    "(*jnp.linalg.svd({0}))",
    "eigh": f"(lambda v, q: (v, q * {_signs('q')}[..., None, :]))(*jnp.linalg.eigh(({{0}} + {{0}}.mT) / 2))",
    "qr": f"(lambda q, r: (q * {_signs('r')}[..., None, :], r * {_signs('r')}[..., None]))(*jnp.linalg.qr({{0}}))",
    "lu": "jsp.linalg.lu({0})[1:]",
    "lu_solve": "jsp.linalg.lu_solve(jsp.linalg.lu_factor({0}), {1})",
    "lstsq": "jnp.linalg.lstsq({0}, {1})[0]",
    "rfft": _pairs("jnp.fft.rfft({0})"),
    "fft": _pairs(f"jnp.fft.fft({FIRST})"),
    "irfft": f"jnp.fft.irfft({FIRST}, n={{n}})",
    **complex_functions("jnp", COMPLEX, _pairs),
    "complex_vdot": _pairs(f"jnp.vdot({FIRST}, {SECOND})"),
    "complex_cumprod": _pairs(f"jnp.cumprod({FIRST}, 0)"),
}
"""Template of the code for each op, by the suite's name of the op: a function of JAX, for all attributes and shapes but
those of `LIMITS`.
"""

LIMITS: Limits = {
    "softplus": Limit({"beta": (1,)}),
    "topk": Limit({"largest": (True,)}),
    "vander": Limit(dimensions=(1,)),
    "diag_embed": Limit(dimensions=(1,)),
    "lstsq": Limit(dimensions=(2,)),
    "conv_transpose1d": Limit({"groups": (1,)}),
    "conv_transpose2d": Limit({"groups": (1,)}),
    "max_pool2d_uneven": Limit({"ceil_mode": (False,), "dilation": ((1, 1),)}),
}
"""The attributes and dimensions that JAX's functions have."""


def dialect(vjp: str) -> Dialect:
    """Returns the templates with which programs are printed as JAX code; `vjp` is the template of the call of
    `jax.vjp`.
    """
    return functional(
        prelude="import jax\nimport jax.numpy as jnp\nimport jax.scipy as jsp\nimport numpy as np\n\n"
        'jax.config.update("jax_enable_x64", True)',
        tensor="jnp.array({data}, jnp.{dtype})",
        empty="jnp.zeros({shape}, jnp.{dtype})",
        ops=OPS,
        sequences=frozenset({"split", "tensor_split", "unstack"}),
        detach="jax.lax.stop_gradient({source})",
        vjp=vjp,
        ones="jnp.ones_like({root})",
        error="(TypeError, ValueError)",
    )
