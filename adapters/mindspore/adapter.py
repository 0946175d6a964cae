"""Adapter for MindSpore in PyNative mode, see
https://www.mindspore.cn/docs/en/master/api_python/mindspore/mindspore.vjp.html.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mindspore as ms
import numpy as np

from autograd_conformance.adapters.mindspore.dialect import DIALECT, OPS
from autograd_conformance.frameworks.running.functional import Functional
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind

MESSAGES = (
    ("sens gradient abs", Kind.COTANGENT_SHAPE),
    ("grad tensor should be broadcast to expected shape", Kind.COTANGENT_SHAPE),
    ("bprop not defined", Kind.NOT_IMPLEMENTED),
)
"""Parts of error messages, each with the kind of error that it identifies."""


class MindSpore(Functional):
    """Runs programs on MindSpore in PyNative mode on the CPU: each op runs when it is called."""

    name = "mindspore"
    version = ms.__version__
    capabilities = frozenset(
        {
            Capability.FUNCTIONAL, Capability.COTANGENTS, Capability.COTANGENT_CHECK, Capability.MULTIPLE_ROOTS,
            Capability.CREATE_GRAPH, Capability.MATERIALIZES, Capability.DETACH,
        }
    )  # fmt: skip
    """Sources: the documentation of `mindspore.vjp` (the vectors have the shapes and types of the outputs; there may be
    several), of automatic differentiation (nesting gives higher orders), and of `mindspore.ops.stop_gradient`."""
    ops = frozenset(OPS)
    dtypes = ("float32",)
    """float32 alone: float64 tensors exist, but many functions round them to float32 or refuse them on the CPU."""
    dialect = DIALECT

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("MindSpore is tested on the CPU only")
        ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
        self.templates = Templates.of(self.dialect)

    def leaf(self, data: np.ndarray, requires_grad: bool) -> ms.Tensor:
        """Returns a copy of the array."""
        return ms.Tensor(data)

    def apply(self, op: str, operands: Sequence[ms.Tensor], attrs: Attrs) -> Sequence[ms.Tensor]:
        """Returns all results of an op."""
        out = self.templates.op(op, attrs, len(operands))(*operands)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    def detach(self, value: ms.Tensor) -> ms.Tensor:
        """Calls `mindspore.ops.stop_gradient`."""
        return ms.ops.stop_gradient(value)

    def vjp(
        self,
        function: Callable[..., tuple[ms.Tensor, ...]],
        values: Sequence[ms.Tensor],
        cotangents: Sequence[np.ndarray],
    ) -> Sequence[ms.Tensor]:
        """Calls `mindspore.vjp`, which wants a single result outside a tuple. Cotangents are copied."""

        def returned(*arguments: ms.Tensor) -> ms.Tensor | tuple[ms.Tensor, ...]:
            results = function(*arguments)
            return results if len(results) > 1 else results[0]

        _, pull = ms.vjp(returned, *values)
        return pull(*(ms.Tensor(each) for each in cotangents))

    def read(self, value: ms.Tensor) -> np.ndarray:
        """Returns a copy of the elements."""
        return np.array(value.asnumpy())

    def dtype(self, value: ms.Tensor) -> str:
        """Returns the name of the dtype."""
        return str(value.dtype).lower()

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error by its message: MindSpore raises only Python's built-in exceptions."""
        text = str(error)
        return next((kind for part, kind in MESSAGES if part in text), Kind.UNKNOWN)
