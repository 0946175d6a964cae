"""Adapter for DeZero: each instruction of a program is one call of DeZero's public interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from typing import Any, ClassVar

import dezero
import numpy as np

from autograd_conformance.adapters.dezero.dialect import DIALECT, OPS
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Attrs, Groups
from autograd_conformance.programs.observations import Kind

Variable = Any
"""`dezero.Variable`, or its subclass `dezero.Parameter`, which layers own and optimizers update."""


class DeZero(Adapter):
    """Runs programs on DeZero's `Variable`."""

    name = "dezero"
    version = version("dezero")
    capabilities = frozenset(
        {
            Capability.IMPERATIVE, Capability.ACCUMULATES, Capability.COTANGENTS, Capability.CREATE_GRAPH,
            Capability.CREATES_IN_LEAVES,
            Capability.IDENTITY, Capability.ZERO_TO_NONE, Capability.ASSIGNS, Capability.MODES, Capability.OPTIMIZERS,
        }
    )  # fmt: skip
    """DeZero has no constants (every variable requires grad), no detach, no freeing of graphs and no calls with several
    roots. It checks no arguments, so that no refusals are claimed."""
    traits = Traits(implicit_ones=True)
    """`Variable.backward` without a cotangent uses ones of the root's shape."""
    trait_sources: ClassVar[Mapping[str, str]] = {"implicit_ones": "dezero/core.py, Variable.backward"}
    ops = frozenset(OPS)
    dtypes = ("float64", "float32")
    optimizers: ClassVar[Mapping[str, Sequence[str]]] = {"sgd": ("lr", "momentum"), "adagrad": ("lr", "eps")}
    """The optimizers whose formula is the suite's, each with its settings. Adam is left out: it adds `eps` to the root
    of the uncorrected average of squared gradients.
    """
    dialect = DIALECT

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("DeZero is tested on the CPU only")
        self.templates = Templates.of(DIALECT)
        self.reset()

    def reset(self) -> None:
        """Forgets the last program's optimizers, and the gradient arrays that `identity` kept alive."""
        self.read_arrays: list[np.ndarray] = []
        self.made: dict[object, dezero.Optimizer] = {}

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Variable:
        """Returns a parameter over a copy of the array: an optimizer writes into it."""
        assert requires_grad, "constants are not claimed, so no program has any"
        return dezero.Parameter(data.copy())

    def apply(self, op: str, operands: Sequence[Variable], attrs: Attrs) -> Sequence[Variable]:
        """Returns the result of an op, in a tuple; no op has several."""
        return (self.templates.op(op, attrs, len(operands))(*operands),)

    def detach(self, value: Variable) -> Variable:
        """Raises NotImplementedError: DeZero has no detach, so no program contains one."""
        raise NotImplementedError

    def backward(
        self,
        roots: Sequence[Variable],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool = False,
    ) -> None:
        """Calls `Variable.backward`, which takes the cotangent from the root's own `grad`."""
        (root,), (cotangent,) = roots, cotangents
        if cotangent is not None:
            root.grad = dezero.Variable(cotangent)
        root.backward(create_graph=create_graph)

    def zero_grad(self, leaves: Sequence[Variable], set_to_none: bool) -> None:
        """Calls `Variable.cleargrad` of each leaf."""
        assert set_to_none, "clearing to zeros is not claimed"
        for leaf in leaves:
            leaf.cleargrad()

    def gradient(self, leaf: Variable) -> Variable | None:
        """Returns `Variable.grad`."""
        return leaf.grad

    def assign_grad(self, leaf: Variable, value: Variable | None) -> None:
        """Assigns the value to `Variable.grad`."""
        leaf.grad = value

    def mode(self, name: str) -> AbstractContextManager[Any]:
        """Returns the context manager `no_grad`, or `using_config` with recording switched on, as there is no
        `enable_grad`.
        """
        return dezero.no_grad() if name == "no_grad" else dezero.using_config("enable_backprop", True)

    def step(self, leaves: Sequence[Variable], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        """Calls `Optimizer.update`, on a layer that owns the leaves."""
        key = (tuple(map(id, leaves)), optimizer, settings)
        if key not in self.made:
            name = DIALECT.optimizers[optimizer]
            self.made[key] = self.templates.scope["optimizer"](name, leaves, **dict(settings))
        self.made[key].update()

    def identity(self, gradient: Variable) -> int:
        """Returns the address of a gradient's array. The array is kept alive, so that no other array gets the same
        address.
        """
        self.read_arrays.append(gradient.data)
        return int(gradient.data.__array_interface__["data"][0])

    def read(self, value: Variable) -> np.ndarray:
        """Returns a copy of the elements."""
        return np.array(value.data)

    def dtype(self, value: Variable) -> str:
        """Returns the name of the dtype."""
        return value.dtype.name

    def requires_grad(self, value: Variable) -> None:
        """Returns None: DeZero has no `requires_grad` flag, and every variable requires grad."""

    def classify(self, error: BaseException) -> Kind:
        """Always returns `Kind.UNKNOWN`: DeZero defines no errors for backward calls."""
        return Kind.UNKNOWN
