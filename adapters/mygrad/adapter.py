"""Adapter for MyGrad: each instruction of a program is one call of MyGrad's public interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import mygrad as mg
import numpy as np

from autograd_conformance.adapters.mygrad.dialect import DIALECT, OPS, WRITES
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.ops.limits import Limit, Limits
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind


class MyGrad(Adapter):
    """Runs programs on MyGrad's `Tensor`."""

    name = "mygrad"
    version = mg.__version__
    capabilities = frozenset(
        {
            Capability.IMPERATIVE,
            Capability.COTANGENTS,
            Capability.CONSTANTS,
            Capability.REQUIRES_GRAD,
            Capability.IDENTITY,
            Capability.DETACH,
            Capability.ZERO_TO_NONE,
            Capability.VIEWS,
            Capability.MEMORY,
            Capability.WRITES,
        }
    )
    """MyGrad has no `retain_graph`, several roots, second derivatives, hooks or optimizers. Refusals are not claimed: a
    root without history is silently ignored, a cotangent of another shape is broadcast, and a write breaks no graph,
    for the graph keeps copies."""
    traits = Traits(implicit_ones=True, ends=True, use_clears=True)
    """Sources: the documentation of `Tensor` and `Tensor.backward`. A root of several elements is summed, the graph "is
    cleared automatically", and using a tensor again "will automatically null" its gradient."""
    trait_sources: ClassVar[Mapping[str, str]] = {
        "implicit_ones": "docstring of mygrad.Tensor.backward",
        "ends": "docstring of mygrad.Tensor",
        "use_clears": "docstring of mygrad.Tensor",
    }
    ops = frozenset(OPS)
    writes = frozenset(WRITES)
    limits: ClassVar[Limits] = {"unstack": Limit({"dim": (0,)})}
    dtypes = ("float64", "float32")
    dialect = DIALECT

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("MyGrad computes on the CPU only")
        self.templates = Templates.of(DIALECT)

    def reset(self) -> None:
        """Does nothing: MyGrad keeps no state between programs."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> mg.Tensor:
        """Returns a tensor from an array of its dtype."""
        return mg.tensor(data, constant=not requires_grad)

    def apply(self, op: str, operands: Sequence[mg.Tensor], attrs: Attrs) -> Sequence[mg.Tensor]:
        """Returns the results of an op; only an iteration has several."""
        made = self.templates.op(op, attrs, len(operands))(*operands)
        return made if op in DIALECT.sequences else (made,)

    def write(self, op: str, target: mg.Tensor, operands: Sequence[mg.Tensor], attrs: Attrs) -> None:
        """Runs an assignment, an augmented assignment, or a function with `out`."""
        self.templates.write(op, attrs, 1 + len(operands))(target, *operands)

    def detach(self, value: mg.Tensor) -> mg.Tensor:
        """Returns a constant that shares the value's memory."""
        return mg.astensor(value, constant=True)

    def backward(
        self, roots: Sequence[mg.Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        """Calls `Tensor.backward`."""
        (root,), (cotangent,) = roots, cotangents
        root.backward(cotangent)

    def zero_grad(self, leaves: Sequence[mg.Tensor], set_to_none: bool) -> None:
        """Calls `Tensor.null_grad` of each leaf."""
        assert set_to_none, "clearing to zeros is not claimed"
        for leaf in leaves:
            leaf.null_grad()

    def gradient(self, leaf: mg.Tensor) -> np.ndarray | None:
        """Returns `Tensor.grad`, a NumPy array."""
        return leaf.grad

    def identity(self, gradient: np.ndarray) -> int:
        """Returns the address of a gradient's memory."""
        return _address(gradient)

    def read(self, value: mg.Tensor | np.ndarray) -> np.ndarray:
        """Returns a copy of the values."""
        return np.array(_array(value))

    def dtype(self, value: mg.Tensor | np.ndarray) -> str:
        """Returns the dtype's name."""
        return _array(value).dtype.name

    def requires_grad(self, value: mg.Tensor | np.ndarray) -> bool:
        """Returns whether a tensor is not a constant; False for a gradient, which is a NumPy array."""
        return isinstance(value, mg.Tensor) and not value.constant

    def memory(self, value: mg.Tensor | np.ndarray) -> int | None:
        """Returns the address of the array that owns the value's memory; None for a value without elements."""
        array = _array(value)
        if not array.size:
            return None
        while isinstance(array.base, np.ndarray):
            array = array.base
        return _address(array)

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error: MyGrad raises `InvalidBackprop` for a graph that was cleared, and NumPy refuses
        a write to a broadcast view as read-only.
        """
        if isinstance(error, ValueError) and "is read-only" in str(error):
            return Kind.OVERLAP
        return Kind.GRAPH_FREED if isinstance(error, mg.errors.InvalidBackprop) else Kind.UNKNOWN


def _array(value: mg.Tensor | np.ndarray) -> Any:
    return value.data if isinstance(value, mg.Tensor) else value


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])
