"""Adapter for NeuroGrad: each instruction of a program is one call of NeuroGrad's public interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from typing import Any, ClassVar

import neurograd as ng
import neurograd.optim
import numpy as np

from autograd_conformance.adapters.neurograd.dialect import DIALECT, OPS
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs, Groups
from autograd_conformance.programs.observations import Kind

Tensor = Any
"""`neurograd.Tensor`, or the NumPy array that is its gradient."""


class NeuroGrad(Adapter):
    """Runs programs on NeuroGrad's `Tensor`, on the CPU."""

    name = "neurograd"
    version = version("neurograd")
    capabilities = frozenset(
        {
            Capability.IMPERATIVE, Capability.ACCUMULATES, Capability.COTANGENTS, Capability.RETAIN, Capability.FREES,
            Capability.NON_SCALAR_CHECK, Capability.NO_GRAD_CHECK, Capability.CONSTANTS, Capability.REQUIRES_GRAD,
            Capability.IDENTITY, Capability.ZERO_TO_NONE, Capability.DETACH, Capability.MODES, Capability.OPTIMIZERS,
        }
    )  # fmt: skip
    """NeuroGrad has one root for each call, first derivatives only, and no documented writes in place or views."""
    ops = frozenset(OPS)
    dtypes = ("float64", "float32")
    optimizers: ClassVar[Mapping[str, Sequence[str]]] = {"sgd": ("lr", "weight_decay"), "adam": ("lr", "weight_decay")}
    """The optimizers whose formula is the suite's, each with its settings. The momentum of SGD is an average, and so
    has another formula.
    """
    dialect = DIALECT

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("NeuroGrad is tested on the CPU only")
        self.templates = Templates.of(DIALECT)
        self.reset()

    def reset(self) -> None:
        """Forgets the last program's optimizers, and the gradient arrays that `identity` kept alive."""
        self.read_arrays: list[np.ndarray] = []
        self.made: dict[object, Any] = {}

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        """Returns a tensor over a copy of the array: an optimizer writes into it."""
        return ng.Tensor(data.copy(), requires_grad=requires_grad)

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        """Returns the result of an op, in a tuple; no op has several."""
        return (self.templates.op(op, attrs, len(operands))(*operands),)

    def detach(self, value: Tensor) -> Tensor:
        """Calls `Tensor.detach`."""
        return value.detach()

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        """Calls `Tensor.backward`, and keeps the elements of the values on the way."""
        options = {} if retain_graph is None else {"retain_graph": retain_graph}
        roots[0].backward(cotangents[0], preserve_ancestors=1000, **options)

    def zero_grad(self, leaves: Sequence[Tensor], set_to_none: bool) -> None:
        """Calls `Tensor.zero_grad` of each leaf."""
        assert set_to_none, "clearing to zeros is not claimed"
        for leaf in leaves:
            leaf.zero_grad()

    def gradient(self, leaf: Tensor) -> np.ndarray | None:
        """Returns `Tensor.grad`."""
        return leaf.grad

    def mode(self, name: str) -> AbstractContextManager[Any]:
        """Returns `no_grad`, or a context in which recording is switched on, as there is no `enable_grad`."""
        return ng.no_grad() if name == "no_grad" else self.templates.scope["enable_grad"]()

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        """Calls `Optimizer.step`."""
        key = (tuple(map(id, leaves)), optimizer, settings)
        if key not in self.made:
            kind = getattr(ng.optim, DIALECT.optimizers[optimizer])
            self.made[key] = kind([("leaf", leaf) for leaf in leaves], **dict(settings))
        self.made[key].step()

    def identity(self, gradient: np.ndarray) -> int:
        """Returns the address of a gradient's elements. The array is kept alive, so that no other array gets the same
        address.
        """
        self.read_arrays.append(gradient)
        return int(np.asarray(gradient).__array_interface__["data"][0])

    def read(self, value: Tensor) -> np.ndarray:
        """Returns a copy of the elements."""
        return np.array(value.data if isinstance(value, ng.Tensor) else value)

    def dtype(self, value: Tensor) -> str:
        """Returns the name of the dtype."""
        return str((value.data if isinstance(value, ng.Tensor) else value).dtype)

    def requires_grad(self, value: Tensor) -> bool:
        """Whether the tensor requires grad."""
        return value.requires_grad

    def classify(self, error: BaseException) -> Kind:
        """Classify an error by the two messages that `Tensor.backward` documents."""
        text = str(error)
        if "scalar outputs" in text:
            return Kind.NON_SCALAR_ROOT
        return Kind.NO_GRAD if "does not require grad" in text else Kind.UNKNOWN
