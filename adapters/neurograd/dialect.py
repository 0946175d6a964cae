"""Templates with which programs are printed as NeuroGrad code."""

from __future__ import annotations

from collections.abc import Mapping

from autograd_conformance.frameworks.running.templates import OPERATORS, narrow, over, select
from autograd_conformance.printing.dialect import Dialect, Template

NAMED = ("sqrt", "abs", "exp", "log", "log2", "log10", "sin", "cos", "tan")
ACTIVATIONS = ("sigmoid", "tanh", "relu", "relu6")

OPS: Mapping[str, Template] = {
    **OPERATORS,
    **{name: f"ng.{name}({{0}})" for name in NAMED},
    **{name: f"functions.{name}({{0}})" for name in ACTIVATIONS},
    "clip": "ng.clip({0}, {min}, {max})",
    "astype_float32": "ng.cast({0}, np.float32)",
    "astype_float64": "ng.cast({0}, np.float64)",
    "leaky_relu": "functions.leaky_relu({0}, {slope})",
    "softmax": "functions.softmax({0}, {dim})",
    "clone": "{0}.clone()",
    "sum": over("ng.sum"),
    "mean": over("ng.mean"),
    "max": "ng.max({0})",
    "min": "ng.min({0})",
    "amax": over("ng.max"),
    "amin": over("ng.min"),
    "max_dim": "ng.max({0}, axis={dim}, keepdims={keepdim})",
    "min_dim": "ng.min({0}, axis={dim}, keepdims={keepdim})",
    "reshape": "ng.reshape({0}, {shape})",
    "expand_dims": "ng.expand_dims({0}, {dim})",
    "squeeze": "ng.squeeze({0}, {dim})",
    "flatten": "ng.flatten({0}, {start_dim}, {end_dim})",
    "permute_dims": "ng.transpose({0}, {dims})",
    "concat": "ng.concat([{0}, {1}], {dim})",
    "concat_three": "ng.concat([{0}, {1}, {2}], {dim})",
    "select": select,
    "narrow": narrow,
    "index": "{0}[np.array({index})]",
    "matmul": "{0} @ {1}",
    "mm": "ng.matmul({0}, {1})",
    "einsum": "ng.einsum({equation!r}, {0}, {1})",
}
"""Template of the code for each op that NeuroGrad has, by the suite's name. `var` and `std` are left out: they compute
in float32 whatever the dtype is.
"""

PRELUDE = """\
import neurograd as ng
import neurograd.optim
import numpy as np
from neurograd import functions
from neurograd.utils.no_grad import set_grad_enabled
from contextlib import contextmanager


def backward(root, cotangent=None, **options):
    root.backward(None if cotangent is None else cotangent.data, preserve_ancestors=1000, **options)


@contextmanager
def enable_grad():
    before = ng.is_grad_enabled()
    set_grad_enabled(True)
    try:
        yield
    finally:
        set_grad_enabled(before)
"""
"""Imports and definitions with which each printed program begins. `preserve_ancestors` keeps the elements of the values
between leaves and root, which a call otherwise drops to save memory.
"""

DIALECT = Dialect(
    prelude=PRELUDE,
    tensor="ng.Tensor(np.array({data}, np.{dtype}){flags})",
    empty="ng.Tensor(np.zeros({shape}, np.{dtype}){flags})",
    differentiable=", requires_grad=True",
    ops=OPS,
    detach="{source}.detach()",
    backward="backward({root}, {arguments})",
    backward_many="",
    retain="retain_graph={value}",
    clear_to_none="{leaf}.zero_grad()",
    clear_to_zeros="",
    gradient="{leaf}.grad",
    optimizers={"sgd": "SGD", "adam": "Adam"},
    optimizer='ng.optim.{optimizer}([("leaf", leaf) for leaf in [{leaves}]]{settings})',
    step='ng.optim.{optimizer}([("leaf", leaf) for leaf in [{leaves}]]{settings}).step()',
    step_again="{name}.step()",
    clear="{name}.zero_grad()",
    modes={"no_grad": "ng.no_grad()", "enable_grad": "enable_grad()"},
    error="RuntimeError",
    in_full="{value}.data.tolist()",
)
"""Templates with which programs are printed as NeuroGrad code."""
