"""The adapter of `examples.tiny`: `autograd-conformance --framework=examples.tiny_adapter:Tiny`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind
from examples import tiny

OPS = {
    "add": "tiny.add({0}, {1})",
    "multiply": "tiny.multiply({0}, {1})",
    "negative": "tiny.negative({0})",
    "sin": "tiny.sin({0})",
    "exp": "tiny.exp({0})",
    "sum": "tiny.sum({0}, dim={dim}, keepdim={keepdim})",
    "mm": "tiny.mm({0}, {1})",
}
"""Code for each op, by the catalogue's name."""

CAPABILITIES = frozenset(
    {
        Capability.IMPERATIVE,
        Capability.ACCUMULATES,
        Capability.FREES,
        Capability.RETAIN,
        Capability.COTANGENTS,
        Capability.NON_SCALAR_CHECK,
        Capability.COTANGENT_CHECK,
        Capability.NO_GRAD_CHECK,
        Capability.DETACH,
        Capability.CONSTANTS,
        Capability.ZERO_TO_NONE,
        Capability.REQUIRES_GRAD,
        Capability.IDENTITY,
    }
)
"""Capabilities of tiny. Not claimed: several roots in one call, and clearing gradients to zeros."""


class Tiny(Adapter):
    """The tiny autograd."""

    name = "tiny"
    version = "1.0"
    capabilities = CAPABILITIES
    ops = frozenset(OPS)
    dtypes = ("float64", "float32")
    insists = ("errors",)
    """Each refusal of tiny raises a separate class, which `classify` maps to a kind: any other error is a violation."""
    dialect = Dialect(
        prelude="import numpy as np\n\nfrom examples import tiny",
        tensor="tiny.Tensor(np.array({data}, np.{dtype}){flags})",
        empty="tiny.Tensor(np.zeros({shape}, np.{dtype}){flags})",
        differentiable=", requires_grad=True",
        ops=OPS,
        detach="{source}.detach()",
        backward="{root}.backward({arguments})",
        backward_many="",
        retain="retain_graph={value}",
        clear_to_none="{leaf}.grad = None",
        clear_to_zeros="",
        gradient="{leaf}.grad",
        flag="{value}.requires_grad",
        error="(RuntimeError, ValueError)",
    )

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("tiny computes on the CPU only")

    def reset(self) -> None:
        """Nothing: tiny keeps no state between programs."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        return tiny.Tensor(data, requires_grad)

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        return (getattr(tiny, op)(*operands, **dict(attrs)),)

    def detach(self, value: tiny.Tensor) -> tiny.Tensor:
        return value.detach()

    def backward(
        self, roots: Sequence[tiny.Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        (root,), (cotangent,) = roots, cotangents
        given = None if cotangent is None else tiny.Tensor(cotangent)
        if retain_graph is None:  # left out, so that tiny's own default is tested
            root.backward(given)
        else:
            root.backward(given, retain_graph=retain_graph)

    def zero_grad(self, leaves: Sequence[tiny.Tensor], set_to_none: bool) -> None:
        assert set_to_none, "clearing to zeros is not claimed"
        for leaf in leaves:
            leaf.grad = None

    def gradient(self, leaf: tiny.Tensor) -> np.ndarray | None:
        return leaf.grad

    def identity(self, gradient: np.ndarray) -> int:
        return id(gradient)

    def read(self, value: tiny.Tensor | np.ndarray) -> np.ndarray:
        return np.array(value.data if isinstance(value, tiny.Tensor) else value)

    def dtype(self, value: tiny.Tensor | np.ndarray) -> str:
        return (value.data if isinstance(value, tiny.Tensor) else value).dtype.name

    def requires_grad(self, value: tiny.Tensor) -> bool:
        return value.requires_grad

    def classify(self, error: BaseException) -> Kind:
        match error:
            case tiny.GraphFreed():
                return Kind.GRAPH_FREED
            case tiny.NoHistory():
                return Kind.NO_GRAD
            case tiny.MissingCotangent():
                return Kind.NON_SCALAR_ROOT
            case tiny.WrongCotangent():
                return Kind.COTANGENT_SHAPE
            case _:
                return Kind.UNKNOWN
