"""Templates with which programs are printed as DeZero code: DeZero's own ops, each called as its source defines it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograd_conformance.frameworks.running.templates import OPERATORS, indices, narrow, select
from autograd_conformance.printing.dialect import Dialect, Template

UNSUPPORTED = ("pow", "scalar_pow")
"""Operators that DeZero does not have: its exponents are Python numbers."""


def _over(function: str) -> Template:
    """Makes a template of a reduction: a single dimension is written as a number, and no dimensions mean all."""

    def code(x: Sequence[str], attrs: Mapping[str, Any]) -> str:
        axis = attrs["dim"][0] if len(attrs["dim"]) == 1 else attrs["dim"] or None
        return f"{function}({x[0]}, axis={axis}, keepdims={attrs['keepdim']})"

    return code


def _take(x: Sequence[str], attrs: Mapping[str, Any]) -> str:
    return f"{x[0]}[{indices(attrs['dim'], str(list(attrs['index'])))}]"


OPS: Mapping[str, Template] = {
    **{name: template for name, template in OPERATORS.items() if name not in UNSUPPORTED},
    "exp": "F.exp({0})",
    "log": "F.log({0})",
    "sin": "F.sin({0})",
    "cos": "F.cos({0})",
    "tanh": "F.tanh({0})",
    "sigmoid": "F.sigmoid({0})",
    "relu": "F.relu({0})",
    "leaky_relu": "F.leaky_relu({0}, {slope})",
    "softmax": "F.softmax({0}, {dim})",
    "log_softmax": "F.log_softmax({0}, {dim})",
    "sum": _over("F.sum"),
    "max": "F.max({0})",
    "min": "F.min({0})",
    "amax": _over("F.max"),
    "amin": _over("F.min"),
    "max_dim": "F.max({0}, {dim}, keepdims={keepdim})",
    "min_dim": "F.min({0}, {dim}, keepdims={keepdim})",
    "reshape": "F.reshape({0}, {shape})",
    "expand_dims": "F.expand_dims({0}, {dim})",
    "permute_dims": "F.transpose({0}, {dims})",
    "broadcast_to": "F.broadcast_to({0}, {shape})",
    "select": select,
    "narrow": narrow,
    "take": _take,
    "index": "{0}[np.array({index})]",
    "embedding": "F.embed_id(np.array({index}), {0})",
    "masked_select": "{0}[np.array({mask})]",
    "mm": "F.matmul({0}, {1})",
}
"""Template of the code for each op that DeZero has, by the suite's name of the op. An op is left out if DeZero lacks
some of its attributes (`clip` needs two bounds, convolutions have no groups, losses no reduction) or some of its shapes
(`linear` and `batch_nrom` need a batch).
"""

PRELUDE = """\
import dezero
import dezero.functions as F
import numpy as np


def backward(root, cotangent=None, **options):
    if cotangent is not None:
        root.grad = cotangent
    root.backward(**options)


def optimizer(name, parameters, **settings):
    if "momentum" in settings:
        name = "MomentumSGD"
    if name == "AdaGrad":
        settings = {"eps": 1e-10, **settings}
    layer = dezero.Layer()
    for k, parameter in enumerate(parameters):
        setattr(layer, f"parameter{k}", parameter)
    return getattr(dezero.optimizers, name)(**settings).setup(layer)
"""
"""Imports and definitions with which each printed program begins: a backward call with a cotangent, and an optimizer of
a layer's parameters.
"""

DIALECT = Dialect(
    prelude=PRELUDE,
    tensor="dezero.{flags}(np.array({data}, np.{dtype}))",
    empty="dezero.{flags}(np.zeros({shape}, np.{dtype}))",
    differentiable="Parameter",
    constant="Variable",
    ops=OPS,
    detach="",
    backward="backward({root}, {arguments})",
    backward_many="",
    retain="",
    create="create_graph={value}",
    clear_to_none="{leaf}.cleargrad()",
    clear_to_zeros="",
    gradient="{leaf}.grad",
    held="{leaf}.grad",
    assign="{leaf}.grad = {value}",
    optimizers={"sgd": "SGD", "adagrad": "AdaGrad"},
    optimizer='optimizer("{optimizer}", [{leaves}]{settings})',
    step='optimizer("{optimizer}", [{leaves}]{settings}).update()',
    step_again="{name}.update()",
    modes={"no_grad": "dezero.no_grad()", "enable_grad": 'dezero.using_config("enable_backprop", True)'},
    in_full="{value}.data.tolist()",
)
"""Templates with which programs are printed as DeZero code."""
