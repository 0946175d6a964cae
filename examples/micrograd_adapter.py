"""The adapter of micrograd, as it is published: `--framework=examples.micrograd_adapter:Micrograd`.

The autograd of `examples.tiny_adapter` is much like PyTorch's; this one is not: its values are single
numbers, gradients begin as zeros, and a call has neither options nor refusals. `pip install micrograd` first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import ClassVar

import numpy as np
from micrograd.engine import Value

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
"""The catalogue's name of each operator of `Value`, and its code. No `pow` of two values: an exponent is a number."""


SOURCE = "https://github.com/karpathy/micrograd/blob/master/micrograd/engine.py"
"""Where `Value` is defined."""


class Micrograd:
    """micrograd's `Value`."""

    name = "micrograd"
    version = version("micrograd")
    capabilities = frozenset({Capability.IMPERATIVE, Capability.ACCUMULATES, Capability.ZERO_TO_ZEROS})
    """Not claimed, because there is no such thing: cotangents, several roots, freeing or retaining the graph, detach,
    constants, refusals. `ZERO_TO_ZEROS` is what `micrograd.nn.Module.zero_grad` does."""
    traits = Traits(scalars=True, begins_with_zeros=True)
    """`Value(2.0)` is the only kind of value there is, and its `grad` is 0 before any call."""
    trait_sources: ClassVar[Mapping[str, str]] = {"scalars": SOURCE, "begins_with_zeros": SOURCE}
    ops = frozenset(OPS)
    dtypes = ("float64",)
    """A `Value` holds a Python number, which is a float64."""
    dialect = Dialect(
        prelude="from micrograd.engine import Value",
        tensor="Value({data})",
        empty="",  # no program has tensors without elements: there are single numbers only
        differentiable="",  # every value takes part
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
        """micrograd keeps no state between programs."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Value:
        assert requires_grad, "constants are not claimed, so never asked for"
        return Value(float(data))

    def apply(self, op: str, operands: Sequence[Value], attrs: Attrs) -> Sequence[Value]:
        """The code that failures are printed with is the code that runs."""
        names = [f"operands[{k}]" for k in range(len(operands))]
        return (eval(OPS[op].format(*names, **dict(attrs)), {"operands": operands}),)

    def detach(self, value: Value) -> Value:
        """Every adapter has the method; without the capability nothing calls it."""
        raise NotImplementedError("micrograd has no detach")

    def backward(
        self, roots: Sequence[Value], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        """One root, no cotangent, nothing said about the graph: that is all that `backward()` can be asked for."""
        (root,) = roots
        root.backward()

    def zero_grad(self, leaves: Sequence[Value], set_to_none: bool) -> None:
        assert not set_to_none, "not claimed, so never asked for: a gradient of None could not be added to"
        for leaf in leaves:
            leaf.grad = 0

    def gradient(self, leaf: Value) -> float:
        """The number that `grad` is: also 0 before any call, which must not be shown as None."""
        return leaf.grad

    def identity(self, gradient: float) -> None:
        """Numbers are no objects that two leaves could share."""

    def read(self, value: Value | float) -> np.ndarray:
        """A value's number, or a gradient, which is a number itself; Python's integers and floats are one here."""
        return np.array(value.data if isinstance(value, Value) else value, np.float64)

    def dtype(self, value: Value | float) -> str:
        return "float64"

    def requires_grad(self, value: Value) -> None:
        """A `Value` does not say whether it requires grad."""

    def classify(self, error: BaseException) -> Kind:
        """micrograd refuses no call, so no rule accepts any of its errors."""
        return Kind.UNKNOWN
