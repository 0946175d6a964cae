"""Adapter for Chainer: each instruction of a program is one call of Chainer's public interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import chainer
import numpy as np

from autograd_conformance.adapters.chainer.dialect import DIALECT, OPS
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Attrs, Groups
from autograd_conformance.programs.observations import Kind

Variable = Any
"""`chainer.Variable`, or its subclass `chainer.Parameter`, which optimizers update."""

MODES = {"no_grad": chainer.no_backprop_mode, "enable_grad": chainer.force_backprop_mode}


class Chainer(Adapter):
    """Runs programs on Chainer's `Variable` over NumPy's arrays."""

    name = "chainer"
    version = chainer.__version__
    capabilities = frozenset(
        {
            Capability.IMPERATIVE, Capability.ACCUMULATES, Capability.COTANGENTS, Capability.CREATE_GRAPH,
            Capability.CREATES_IN_LEAVES,
            Capability.CONSTANTS, Capability.IDENTITY, Capability.DETACH, Capability.ZERO_TO_NONE, Capability.ASSIGNS,
            Capability.MODES, Capability.OPTIMIZERS,
        }
    )  # fmt: skip
    """Chainer has no `retain_graph` (it frees no graph), no hooks on variables and no recorded writes. Three
    capabilities are not claimed either. `REQUIRES_GRAD`: a value computed in `no_backprop_mode` starts a new graph and
    requires grad. `MULTIPLE_ROOTS`: `chainer.backward` "does not set default grad". `FUNCTIONAL`: `chainer.grad`
    returns None for an unused input and has no option for zeros.
    """
    traits = Traits(implicit_for_numbers=True)
    """`Variable.backward`: "if the shape of data is () and grad is None, then this method automatically complements
    1.0"; roots of other shapes with one element are "deprecated"."""
    trait_sources: ClassVar[Mapping[str, str]] = {"implicit_for_numbers": "docstring of chainer.Variable.backward"}
    ops = frozenset(OPS)
    dtypes = ("float64", "float32")
    optimizers: ClassVar[Mapping[str, Sequence[str]]] = {
        "sgd": ("lr", "momentum", "nesterov"), "rmsprop": ("lr", "alpha", "eps"), "adagrad": ("lr", "eps"),
    }  # fmt: skip
    """The optimizers whose formula is the suite's, each with its settings. Adam is left out: it adds `eps` to the root
    of the uncorrected average of squared gradients, and does not multiply the weight decay by the learning rate.
    """
    dialect = DIALECT

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("Chainer is tested on the CPU only")
        self.templates = Templates.of(self.dialect)
        self.reset()

    def reset(self) -> None:
        """Forgets the last program's optimizers, and the gradient arrays that `identity` kept alive."""
        self.read_arrays: list[np.ndarray] = []
        self.made: dict[object, chainer.optimizer.Optimizer] = {}

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Variable:
        """Returns a parameter over a copy of the array (an optimizer writes into it), or a variable that gets no
        gradient.
        """
        return chainer.Parameter(data.copy()) if requires_grad else chainer.as_variable(data.copy())

    def apply(self, op: str, operands: Sequence[Variable], attrs: Attrs) -> Sequence[Variable]:
        """Returns all results of an op."""
        out = self.templates.op(op, attrs, len(operands))(*operands)
        return (out,) if isinstance(out, chainer.Variable) else tuple(out)

    def detach(self, value: Variable) -> Variable:
        """Returns a variable without history that shares the array."""
        return chainer.as_variable(value.array)

    def backward(
        self,
        roots: Sequence[Variable],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool = False,
    ) -> None:
        """Calls `Variable.backward`, or, with a cotangent, `chainer.backward` with the cotangent as the root's
        gradient.
        """
        (root,), (cotangent,) = roots, cotangents
        if cotangent is None:
            root.backward(enable_double_backprop=create_graph)
        else:
            chainer.backward([root], [chainer.as_variable(cotangent)], enable_double_backprop=create_graph)

    def zero_grad(self, leaves: Sequence[Variable], set_to_none: bool) -> None:
        """Calls `Variable.cleargrad` of each leaf."""
        assert set_to_none, "clearing to zeros is not claimed"
        for leaf in leaves:
            leaf.cleargrad()

    def gradient(self, leaf: Variable) -> Variable | None:
        """Returns `Variable.grad_var`."""
        return leaf.grad_var

    def assign_grad(self, leaf: Variable, value: Variable | None) -> None:
        """Assigns the value to `Variable.grad_var`."""
        leaf.grad_var = value

    def mode(self, name: str) -> AbstractContextManager[Any]:
        """Returns Chainer's context manager `no_backprop_mode` or `force_backprop_mode`."""
        return MODES[name]()

    def step(self, leaves: Sequence[Variable], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        """Calls `Optimizer.update`, on a link that owns the leaves."""
        key = (tuple(map(id, leaves)), optimizer, settings)
        if key not in self.made:
            name = DIALECT.optimizers[optimizer]
            self.made[key] = self.templates.scope["optimizer"](name, leaves, **dict(settings))
        self.made[key].update()

    def identity(self, gradient: Variable) -> int:
        """Returns the address of a gradient's array. The array is kept alive, so that no other array gets the same
        address.
        """
        self.read_arrays.append(gradient.array)
        return int(gradient.array.__array_interface__["data"][0])

    def read(self, value: Variable) -> np.ndarray:
        """Returns a copy of the elements."""
        return np.array(value.array)

    def dtype(self, value: Variable) -> str:
        """Returns the name of the dtype."""
        return value.dtype.name

    def requires_grad(self, value: Variable) -> None:
        """Returns None: the adapter does not claim the capability `REQUIRES_GRAD`."""

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error by its type and message."""
        match error:
            case ValueError() | TypeError() if "of data and grad mismatch" in str(error):
                return Kind.GRADIENT_FORM
            case RuntimeError() if "cannot twice-differentiate" in str(error):
                return Kind.NOT_IMPLEMENTED
            case _:
                return Kind.UNKNOWN
