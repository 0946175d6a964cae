"""Templates with which programs are printed as tinygrad code: tinygrad's own ops, each called as its documentation
shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograd_conformance.frameworks.running.templates import OPERATORS
from autograd_conformance.printing.dialect import Dialect, Template


def _indexed(inner: Callable[[Mapping[str, Any]], str]) -> Template:
    """Makes a template that indexes along the dimension that the attributes name."""

    def code(args: Sequence[str], attrs: Mapping[str, Any]) -> str:
        return f"{args[0]}[{':, ' * attrs['dim']}{inner(attrs)}]"

    return code


def _layer_norm(args: Sequence[str], attrs: Mapping[str, Any]) -> str:
    axis = tuple(range(-len(attrs["normalized_shape"]), 0))
    return f"{args[0]}.layernorm(axis={axis}, eps={attrs['eps']})"


_CONVOLUTION = "groups={groups}, stride={stride}, dilation={dilation}, padding={padding}"

OPS: dict[str, Template] = {
    # elementwise
    **OPERATORS,
    "reciprocal": "{0}.reciprocal()",
    "square": "{0}.square()",
    "sqrt": "{0}.sqrt()",
    "rsqrt": "{0}.rsqrt()",
    "abs": "{0}.abs()",
    "clip": "{0}.clip({min}, {max})",
    "exp": "{0}.exp()",
    "exp2": "{0}.exp2()",
    "log": "{0}.log()",
    "log2": "{0}.log2()",
    "log10": "{0}.log10()",
    "sigmoid": "{0}.sigmoid()",
    "sin": "{0}.sin()",
    "cos": "{0}.cos()",
    "tan": "{0}.tan()",
    "asin": "{0}.asin()",
    "acos": "{0}.acos()",
    "atan": "{0}.atan()",
    "sinh": "{0}.sinh()",
    "cosh": "{0}.cosh()",
    "tanh": "{0}.tanh()",
    "asinh": "{0}.asinh()",
    "acosh": "{0}.acosh()",
    "atanh": "{0}.atanh()",
    "erf": "{0}.erf()",
    "sign": "{0}.sign()",
    "floor": "{0}.floor()",
    "ceil": "{0}.ceil()",
    "round": "{0}.round()",
    "astype_float32": "{0}.cast(dtypes.float32)",
    "astype_float64": "{0}.cast(dtypes.float64)",
    "clone": "{0}.clone()",
    # of two operands and more
    "logaddexp": "{0}.logaddexp({1})",
    "maximum": "{0}.maximum({1})",
    "minimum": "{0}.minimum({1})",
    "copysign": "{0}.copysign({1})",
    "where": "Tensor({mask}).where({0}, {1})",
    "lerp_scalar": "{0}.lerp({1}, {weight})",
    "lerp": "{0}.lerp({1}, {2})",
    # activations
    "relu": "{0}.relu()",
    "relu6": "{0}.relu6()",
    "leaky_relu": "{0}.leaky_relu({slope})",
    "elu": "{0}.elu({alpha})",
    "celu": "{0}.celu({alpha})",
    "selu": "{0}.selu()",
    "gelu": "{0}.gelu(approximate='none')",
    "gelu_tanh": "{0}.gelu(approximate='tanh')",
    "silu": "{0}.silu()",
    "mish": "{0}.mish()",
    "softplus": "{0}.softplus({beta})",
    "logsigmoid": "{0}.logsigmoid()",
    "softsign": "{0}.softsign()",
    "hardtanh": "{0}.hardtanh()",
    "hardsigmoid": "{0}.hardsigmoid()",
    "hardswish": "{0}.hardswish()",
    "softmax": "{0}.softmax({dim})",
    "log_softmax": "{0}.log_softmax({dim})",
    "softmin": "{0}.softmin({dim})",
    # reductions
    "sum": "{0}.sum({dim}, keepdim={keepdim})",
    "mean": "{0}.mean({dim}, keepdim={keepdim})",
    "prod": "{0}.prod()",
    "prod_dim": "{0}.prod({dim}, keepdim={keepdim})",
    "var": "{0}.var({dim}, keepdim={keepdim}, correction={correction})",
    "std": "{0}.std({dim}, keepdim={keepdim}, correction={correction})",
    "var_mean": "{0}.var_mean({dim}, keepdim={keepdim}, correction={correction})",
    "std_mean": "{0}.std_mean({dim}, keepdim={keepdim}, correction={correction})",
    "max": "{0}.max()",
    "min": "{0}.min()",
    "amax": "{0}.max({dim}, keepdim={keepdim})",
    "amin": "{0}.min({dim}, keepdim={keepdim})",
    "max_dim": "{0}.max({dim}, keepdim={keepdim})",
    "min_dim": "{0}.min({dim}, keepdim={keepdim})",
    "topk": "{0}.topk({k}, {dim}, {largest})[0]",
    "sort": "{0}.sort({dim}, {descending})[0]",
    "cumulative_sum": "{0}.cumsum({dim})",
    "cumulative_prod": "{0}.cumprod({dim})",
    "logcumsumexp": "{0}.logcumsumexp({dim})",
    "cummax": "{0}.cummax({dim})[0]",
    "cummin": "{0}.cummin({dim})[0]",
    # shapes and elements
    "reshape": "{0}.reshape({shape})",
    "permute_dims": "{0}.permute({dims})",
    "matrix_transpose": "{0}.transpose(-1, -2)",
    "transpose": "{0}.transpose({dim0}, {dim1})",
    "expand_dims": "{0}.unsqueeze({dim})",
    "flatten": "{0}.flatten({start_dim}, {end_dim})",
    "unflatten": "{0}.unflatten({dim}, {sizes})",
    "flip": "{0}.flip({dims})",
    "roll": "{0}.roll({shifts}, {dims})",
    "broadcast_to": "{0}.expand({shape})",
    "repeat": "{0}.repeat_interleave({repeats}, {dim})",
    "pad": "{0}.pad({pad}, value={value})",
    "pad_border": "{0}.pad({pad}, mode={mode})",
    "unfold": "{0}.unfold({dimension}, {size}, {step})",
    "concat": "{0}.cat({1}, dim={dim})",
    "concat_three": "{0}.cat({1}, {2}, dim={dim})",
    "stack": "{0}.stack({1}, dim={dim})",
    "stack_three": "{0}.stack({1}, {2}, dim={dim})",
    "split": "{0}.split({sizes}, {dim})",
    "chunk": "{0}.chunk({chunks}, {dim})",
    "select": _indexed(lambda attrs: str(attrs["index"])),
    "narrow": _indexed(lambda attrs: f"{attrs['start']}:{attrs['start'] + attrs['length']}"),
    "take": _indexed(lambda attrs: f"Tensor({attrs['index']})"),
    "gather": "{0}.gather({dim}, Tensor({index}))",
    "index": "{0}[Tensor({index})]",
    "embedding": "{0}[Tensor({index})]",
    "scatter": "{0}.scatter({dim}, Tensor({index}), {1})",
    "scatter_add": "{0}.scatter_reduce({dim}, Tensor({index}), {1}, 'sum')",
    "masked_fill": "{0}.masked_fill(Tensor({mask}), {value})",
    "tril": "{0}.tril({diagonal})",
    "triu": "{0}.triu({diagonal})",
    "diagonal": "{0}.diagonal({offset}, -2, -1)",
    # products, losses and layers
    "matmul": "{0} @ {1}",
    "mm": "{0} @ {1}",
    "mv": "{0} @ {1}",
    "dot": "{0} @ {1}",
    "bmm": "{0} @ {1}",
    "einsum": "Tensor.einsum({equation}, {0}, {1})",
    "einsum_three": "Tensor.einsum({equation}, {0}, {1}, {2})",
    "cross_entropy": "{0}.cross_entropy(Tensor({target}), {reduction}, {label_smoothing})",
    "cross_entropy_soft": "{0}.cross_entropy({1}, {reduction})",
    "binary_cross_entropy": "{0}.binary_crossentropy({1}, {reduction})",
    "bce_with_logits": "{0}.binary_crossentropy_logits({1}, {reduction})",
    "normalize": "{0}.normalize(dim={dim})",
    "layer_norm": _layer_norm,
    "conv1d": f"{{0}}.conv2d({{1}}, {_CONVOLUTION})",
    "conv1d_bias": f"{{0}}.conv2d({{1}}, {{2}}, {_CONVOLUTION})",
    "conv2d": f"{{0}}.conv2d({{1}}, {_CONVOLUTION})",
    "conv2d_bias": f"{{0}}.conv2d({{1}}, {{2}}, {_CONVOLUTION})",
    "conv_transpose1d": "{0}.conv_transpose2d({1}, groups={groups}, stride={stride}, padding={padding}, "
    "output_padding={output_padding})",
    "avg_pool1d": "{0}.avg_pool2d(({kernel_size},), {stride}, padding={padding})",
    "avg_pool2d": "{0}.avg_pool2d(({kernel_size}, {kernel_size}), {stride}, padding={padding})",
    "max_pool1d": "{0}.max_pool2d(({kernel_size},), {stride}, padding={padding})",
    "max_pool2d": "{0}.max_pool2d(({kernel_size}, {kernel_size}), {stride}, padding={padding})",
}
"""Template of the code for each op that tinygrad has, by the suite's name of the op. An op is left out if tinygrad
lacks some of its attributes (`squeeze` and `logsumexp` take one dimension) or some of its shapes (`nll_loss` needs a
batch).
"""


def dialect(device: str) -> Dialect:
    """Returns the templates with which programs are printed as tinygrad code, for tensors on one device."""
    return Dialect(
        prelude=f'from tinygrad import Tensor, dtypes\nfrom tinygrad.helpers import DEV\n\nDEV.value = "{device}"',
        tensor="Tensor({data}, dtype=dtypes.{dtype})",
        number="Tensor([{data}], dtype=dtypes.{dtype}).reshape(())",
        empty="Tensor([], dtype=dtypes.{dtype}).reshape({shape})",
        differentiable="",
        ops=OPS,
        sequences=frozenset({"split", "chunk", "var_mean", "std_mean"}),
        detach="{source}.detach()",
        backward="{root}.backward({arguments})",
        backward_many="",
        retain="",
        clear_to_none="{leaf}.grad = None",
        clear_to_zeros="",
        gradient="{leaf}.grad",
        elements="{value}.tolist()",
        gradient_elements="(None if {value} is None else {value}.tolist())",
    )
