"""Adapter for PyTensor: https://pytensor.readthedocs.io.

A value is a symbolic variable. `read` compiles and runs the graph from the leaves to the value, so each instruction
that is observed is one compiled function. The mode, `linker="py"` and `optimizer="None"`, runs PyTensor's Python code
of each op, without a C or Numba compiler and without rewrites of the graph: a chain of six ops takes 2 ms of a core to
compile and run, and its gradient 4 ms. With the rewrites of "fast_compile" they take 9 and 30 ms, with those of
"fast_run" 19 and 47 ms, and the default mode, which compiles with Numba, takes seconds for each graph. Faults of
rewrites and of compiled code are therefore not found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from autograd_conformance.adapters.pytensor.dialect import DIALECT, OPS
from autograd_conformance.frameworks.running.functional import Functional
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.ops.limits import Limit, Limits
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind

SINGLE = Limit({"dim": ((0,), (1,), (2,), (3,), (-1,))}, dimensions=(1, 2, 3, 4))
"""`norm` is a vector's over one dimension, and a matrix's over two."""

Variable = Any
"""A symbolic variable of PyTensor, or the shared variable of a leaf."""


class PyTensor(Functional):
    """Runs programs on PyTensor: values are symbolic, and are compiled and computed when they are read."""

    name = "pytensor"
    version = version("pytensor")
    variables = ("PYTENSOR_",)
    capabilities = frozenset(
        {
            Capability.FUNCTIONAL, Capability.COTANGENTS, Capability.MULTIPLE_ROOTS, Capability.CREATE_GRAPH,
            Capability.MATERIALIZES, Capability.DETACH,
        }
    )  # fmt: skip
    """Source: the documentation of `pytensor.gradient`. `grad` returns zeros for unused inputs, and its gradients are
    variables that can be differentiated; `disconnected_grad` detaches.
    """
    ops = frozenset(OPS)
    limits: ClassVar[Limits] = {
        "clip": Limit({"min": (-1.0,), "max": (1.0,)}),
        "masked_select": Limit(dimensions=(1, 2, 3, 4)),
        "softplus": Limit({"beta": (1,)}),
        "sort": Limit({"descending": (False,)}),
        "vecdot": Limit({"dim": (-1,)}),
        "unflatten": Limit({"sizes": ((3, 1), (2, 1), (1, 1))}),
        "vector_norm": SINGLE,
        "vector_norm_inf": SINGLE,
        "pad": Limit({"pad": ((1, 0), (0, 2), (0, 0, 1, 0))}),
    }
    """PyTensor's functions have no argument for other values of these attributes: `clip` needs both bounds, negative
    widths are no padding, and sizes are not inferred. An index that is one boolean is refused as not implemented.
    """
    dtypes = ("float64",)
    """float64 alone: where dtypes meet in an op, PyTensor's gradients have the dtype of the result, not of the input
    (docs/findings.md), so that each op of several operands would be a known difference.
    """
    dialect = DIALECT

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("PyTensor's Python code computes on the CPU only")
        self.templates = Templates.of(DIALECT)  # imports PyTensor, after it has set the mode
        self.gradients = self.templates.scope["pytensor"].gradient

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Variable:
        """Returns a shared variable with a copy of the array."""
        return self.templates.scope["leaf"](data)

    def apply(self, op: str, operands: Sequence[Variable], attrs: Attrs) -> Sequence[Variable]:
        """Returns all results of an op."""
        out = self.templates.op(op, attrs, len(operands))(*operands)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    def detach(self, value: Variable) -> Variable:
        """Calls `disconnected_grad`."""
        return self.gradients.disconnected_grad(value)

    def vjp(
        self,
        function: Callable[..., tuple[Variable, ...]],
        values: Sequence[Variable],
        cotangents: Sequence[np.ndarray],
    ) -> Sequence[Variable]:
        """Calls `pytensor.gradient.grad` with respect to new symbolic inputs, and replaces them by the values in the
        gradients: a value that the function captures is thereby a constant, even if it was computed from an input.
        `grad` differentiates a number: the sum of the results, each weighted by its cotangent. `pullback` takes several
        results, but loses a part of the gradient if one of them was computed from another (docs/findings.md).
        """
        return self.templates.scope["vjp"](function, values, [np.array(each) for each in cotangents])

    def read(self, value: Variable) -> np.ndarray:
        """Returns a copy of the elements; this compiles and computes them."""
        return np.array(value.eval())

    def dtype(self, value: Variable) -> str:
        """Returns the name of the dtype, which is known before the elements are computed."""
        return value.dtype

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error by its type: PyTensor raises `NullTypeGradError` if it lacks a derivative."""
        unsupported = isinstance(error, (NotImplementedError, self.gradients.NullTypeGradError))
        return Kind.NOT_IMPLEMENTED if unsupported else Kind.UNKNOWN
