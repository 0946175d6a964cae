"""The adapter of micrograd, as it is published: `--framework=examples.micrograd_adapter:Micrograd`.

Unlike the autograd of `examples.tiny_adapter`, micrograd differs much from PyTorch: its values are single numbers,
gradients are zero before any call, and `backward` has no options and refuses nothing. `pip install micrograd` first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import ClassVar

import numpy as np
from micrograd.engine import Value

from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind

OPS = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "negative": "-{0}",
    "relu": "{0}.relu()",
    "add_scalar": "{0} + {scalar}",
    "subtract_scalar": "{0} - {scalar}",
    "scalar_subtract": "{scalar} - {0}",
    "multiply_scalar": "{0} * {scalar}",
    "divide_scalar": "{0} / {scalar}",
    "scalar_divide": "{scalar} / {0}",
    "pow_scalar": "{0} ** {exponent}",
    "pow_integer": "{0} ** {exponent}",
}
"""Code for each operator of `Value`, by the catalogue's name. There is no `pow` of two values: exponents are numbers.
"""


SOURCE = "https://github.com/karpathy/micrograd/blob/master/micrograd/engine.py"
"""Where `Value` is defined."""


class Micrograd(Adapter):
    """micrograd's `Value`."""

    name = "micrograd"
    version = version("micrograd")
    capabilities = frozenset({Capability.IMPERATIVE, Capability.ACCUMULATES, Capability.ZERO_TO_ZEROS})
    """micrograd has no cotangents, several roots, freeing or retaining of graphs, detach, constants or refusals.
    `ZERO_TO_ZEROS` is what `micrograd.nn.Module.zero_grad` does."""
    traits = Traits(scalars=True, begins_with_zeros=True)
    """A `Value` is a single number, and its `grad` is 0 before any call."""
    trait_sources: ClassVar[Mapping[str, str]] = {"scalars": SOURCE, "begins_with_zeros": SOURCE}
    ops = frozenset(OPS)
    dtypes = ("float64",)
    """A `Value` stores a Python float, which is a float64."""
    dialect = Dialect(
        prelude="from micrograd.engine import Value",
        tensor="Value({data})",
        empty="",  # programs have no empty tensors, only single numbers
        differentiable="",  # every value requires grad
        ops=OPS,
        detach="",
        backward="{root}.backward()",
        backward_many="",
        retain="",
        clear_to_none="",
        clear_to_zeros="{leaf}.grad = 0",
        gradient="{leaf}.grad",
    )

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("micrograd computes on the CPU only")

    def reset(self) -> None:
        """Nothing: micrograd keeps no state between programs."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Value:
        assert requires_grad, "constants are not claimed, so no program has any"
        return Value(float(data))

    def apply(self, op: str, operands: Sequence[Value], attrs: Attrs) -> Sequence[Value]:
        """The result of an op, computed by the same code that failures print."""
        names = [f"operands[{k}]" for k in range(len(operands))]
        return (eval(OPS[op].format(*names, **dict(attrs)), {"operands": operands}),)

    def detach(self, value: Value) -> Value:
        """Not claimed: every adapter needs this method, but without the capability nothing calls it."""
        raise NotImplementedError("micrograd has no detach")

    def backward(
        self, roots: Sequence[Value], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        """`Value.backward`, which takes no arguments: one root, and no cotangent."""
        (root,) = roots
        root.backward()

    def zero_grad(self, leaves: Sequence[Value], set_to_none: bool) -> None:
        assert not set_to_none, "clearing to None is not claimed: micrograd could not add to None"
        for leaf in leaves:
            leaf.grad = 0

    def gradient(self, leaf: Value) -> float:
        """The number `grad`, which is 0 before any call; an adapter must not turn this 0 into None."""
        return leaf.grad

    def identity(self, gradient: float) -> None:
        """Not claimed: two leaves cannot share a number."""

    def read(self, value: Value | float) -> np.ndarray:
        """A value's number, or a gradient, which is a number itself, as float64."""
        return np.array(value.data if isinstance(value, Value) else value, np.float64)

    def dtype(self, value: Value | float) -> str:
        return "float64"

    def requires_grad(self, value: Value) -> None:
        """Not claimed: a `Value` has no such flag."""

    def classify(self, error: BaseException) -> Kind:
        """Always unknown: micrograd refuses no call, so no rule accepts any of its errors."""
        return Kind.UNKNOWN
