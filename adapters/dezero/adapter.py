"""DeZero: each instruction is one call of its public interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from typing import Any, ClassVar

import dezero
import numpy as np

from autograd_conformance.adapters.dezero.dialect import DIALECT, OPS
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Attrs, Groups
from autograd_conformance.programs.observations import Kind

Variable = Any
"""`dezero.Variable`, or `dezero.Parameter`, which is one that layers own and optimizers move."""


class DeZero:
    """DeZero's `Variable`."""

    name = "dezero"
    version = version("dezero")
    capabilities = frozenset(
        {
            Capability.IMPERATIVE, Capability.ACCUMULATES, Capability.COTANGENTS, Capability.CREATE_GRAPH,
            Capability.CREATES_IN_LEAVES,
            Capability.IDENTITY, Capability.ZERO_TO_NONE, Capability.ASSIGNS, Capability.MODES, Capability.OPTIMIZERS,
        }
    )  # fmt: skip
    """Not claimed: what there is not (constants, for every variable takes part, a call that detaches, a graph that is
    freed, several roots), and refusals, for nothing is checked."""
    traits = Traits(implicit_ones=True)
    """`Variable.backward` begins with ones in the shape of its root."""
    trait_sources: ClassVar[Mapping[str, str]] = {"implicit_ones": "dezero/core.py, Variable.backward"}
    ops = frozenset(OPS)
    dtypes = ("float64", "float32")
    optimizers: ClassVar[Mapping[str, Sequence[str]]] = {"sgd": ("lr", "momentum"), "adagrad": ("lr", "eps")}
    """Not Adam, whose `eps` stands beside the root of a second moment that is not corrected."""
    dialect = DIALECT

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("DeZero is tested on the CPU only")
        self.templates = Templates.of(DIALECT)
        self.reset()

    def reset(self) -> None:
        """Optimizers belong to one program, and so do the gradients that were told apart."""
        self.told: list[np.ndarray] = []
        self.made: dict[object, dezero.Optimizer] = {}

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Variable:
        """A parameter over a copy of an array, for an update writes into it."""
        assert requires_grad, "constants are not claimed, so never asked for"
        return dezero.Parameter(data.copy())

    def apply(self, op: str, operands: Sequence[Variable], attrs: Attrs) -> Sequence[Variable]:
        """The result of an op; none has several."""
        return (self.templates.op(op, attrs, len(operands))(*operands),)

    def detach(self, value: Variable) -> Variable:
        """Not claimed."""
        raise NotImplementedError

    def backward(
        self,
        roots: Sequence[Variable],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool = False,
    ) -> None:
        """`Variable.backward`, which begins with what the root holds as its gradient."""
        (root,), (cotangent,) = roots, cotangents
        if cotangent is not None:
            root.grad = dezero.Variable(cotangent)
        root.backward(create_graph=create_graph)

    def zero_grad(self, leaves: Sequence[Variable], set_to_none: bool) -> None:
        """`Variable.cleargrad`."""
        assert set_to_none, "clearing to zeros is not claimed"
        for leaf in leaves:
            leaf.cleargrad()

    def gradient(self, leaf: Variable) -> Variable | None:
        """`Variable.grad`."""
        return leaf.grad

    def assign_grad(self, leaf: Variable, value: Variable | None) -> None:
        """`Variable.grad`, assigned."""
        leaf.grad = value

    def mode(self, name: str) -> AbstractContextManager[Any]:
        """`no_grad`, or `using_config`, which is what that is made of."""
        return dezero.no_grad() if name == "no_grad" else dezero.using_config("enable_backprop", True)

    def step(self, leaves: Sequence[Variable], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        """`Optimizer.update` of the layer that owns the leaves."""
        key = (tuple(map(id, leaves)), optimizer, settings)
        if key not in self.made:
            name = DIALECT.optimizers[optimizer]
            self.made[key] = self.templates.scope["optimizer"](name, leaves, **dict(settings))
        self.made[key].update()

    def identity(self, gradient: Variable) -> int:
        """Where the memory of a gradient's array begins, which is kept: another could take its place."""
        self.told.append(gradient.data)
        return int(gradient.data.__array_interface__["data"][0])

    def read(self, value: Variable) -> np.ndarray:
        """A copy of the elements."""
        return np.array(value.data)

    def dtype(self, value: Variable) -> str:
        """The name of the dtype."""
        return value.dtype.name

    def requires_grad(self, value: Variable) -> None:
        """Nothing says that a variable requires grad: all do."""

    def classify(self, error: BaseException) -> Kind:
        """DeZero raises no errors of its own about calls for gradients."""
        return Kind.UNKNOWN
