"""Adapter for Apache MXNet: each instruction of a program is one call of MXNet's public interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, ClassVar

import mxnet as mx
import numpy as np
from mxnet import autograd

from autograd_conformance.adapters.mxnet.dialect import DIALECT, NOT_EMPTY, OPS
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.ops.limits import Limit
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Attrs, Groups
from autograd_conformance.programs.observations import Kind

NDArray = Any
"""`mxnet.np.ndarray`."""

TUTORIAL = "https://mxnet.apache.org/versions/1.9.1/api/python/docs/tutorials/packages/autograd/index.html"

MESSAGES = (
    ("you need to pass retain_graph=True to backward", Kind.GRAPH_FREED),
    ("There are no inputs in computation graph that require gradients", Kind.GRAPH_FREED),
)
"""Parts of MXNet's error messages, the most stable ones, each with the kind of error that it identifies."""


class MXNet(Adapter):
    """Runs programs on Apache MXNet's arrays with NumPy's interface, on the CPU."""

    name = "mxnet"
    version = mx.__version__
    variables = ("MXNET_", "MKL_", "OMP_")
    capabilities = frozenset(
        {
            Capability.IMPERATIVE, Capability.ACCUMULATES, Capability.COTANGENTS, Capability.MULTIPLE_ROOTS,
            Capability.RETAIN, Capability.FREES, Capability.CONSTANTS, Capability.IDENTITY, Capability.DETACH,
            Capability.ZERO_TO_ZEROS, Capability.MODES, Capability.OPTIMIZERS,
        }
    )  # fmt: skip
    """MXNet has no hooks and no gradients that are None, and refuses writes while it records. Its documentation does
    not promise to refuse a root without history or a cotangent of another shape (such a cotangent is read beyond its
    end). `FUNCTIONAL`, and with it `CREATE_GRAPH`, is not claimed: `autograd.grad` refuses an unused input and has no
    option for it.
    """
    traits = Traits(begins_with_zeros=True, implicit_ones=True)
    trait_sources: ClassVar[Mapping[str, str]] = {
        "begins_with_zeros": "docstring of mxnet.nd.NDArray.attach_grad",
        "implicit_ones": TUTORIAL,
    }
    ops = frozenset(OPS)
    limits: ClassVar[Mapping[str, Limit]] = dict.fromkeys(NOT_EMPTY, Limit(empty=False))
    optimizers: ClassVar[Mapping[str, Sequence[str]]] = {"sgd": ("lr", "momentum", "nesterov", "weight_decay")}
    """The optimizers whose formula is the suite's, each with its settings. Adam is left out: it adds `epsilon` to a
    root that is not corrected for bias. AdaGrad and RMSProp are left out: they add `epsilon` under the root.
    """
    dtypes = ("float64", "float32")
    dialect = DIALECT

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("MXNet is tested on the CPU only")
        self.templates = Templates.of(self.dialect)
        self.reset()

    def reset(self) -> None:
        """Waits for the last program's asynchronous work, discards its errors, optimizers and gradients, and starts
        recording.
        """
        with suppress(mx.MXNetError):
            mx.nd.waitall()
        autograd.set_recording(True)
        autograd.set_training(True)
        self.read_gradients: list[NDArray] = []
        self.made: dict[object, Callable[[], None]] = {}

    def leaf(self, data: np.ndarray, requires_grad: bool) -> NDArray:
        """Returns a copy of an array, with a gradient that backward calls add to, or without one."""
        made = mx.np.array(data, dtype=data.dtype)
        return self.templates.scope["leaf"](made) if requires_grad else made

    def apply(self, op: str, operands: Sequence[NDArray], attrs: Attrs) -> Sequence[NDArray]:
        """Returns all results of an op, once they are there, so that the op raises what goes wrong in it."""
        made = self.templates.op(op, attrs, len(operands))(*operands)
        results = tuple(made) if op in self.dialect.sequences else (made,)
        for array in results:
            array.wait_to_read()
        return results

    def detach(self, value: NDArray) -> NDArray:
        """Calls `ndarray.detach`."""
        return value.detach()

    def backward(
        self, roots: Sequence[NDArray], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        """Calls `ndarray.backward` for one root, `autograd.backward` for several, waits until the gradients are there,
        so that the call raises what goes wrong in it, and copies the cotangents back, so that a write to one is
        observed.
        """
        given = [None if c is None else mx.np.array(c, dtype=c.dtype) for c in cotangents]
        options = {} if retain_graph is None else {"retain_graph": retain_graph}
        try:
            if len(roots) == 1:
                roots[0].backward(given[0], **options)
            else:
                autograd.backward(list(roots), given, **options)
            mx.nd.waitall()
        finally:
            for array, copy in zip(cotangents, given, strict=True):
                if array is not None and copy is not None:
                    array[...] = copy.asnumpy()

    def zero_grad(self, leaves: Sequence[NDArray], set_to_none: bool) -> None:
        """Writes zeros into each leaf's `ndarray.grad`, if there is one, as gluon's `Parameter.zero_grad` does."""
        assert not set_to_none, "clearing to none is not claimed"
        for leaf in leaves:
            self.templates.scope["clear"](leaf)

    def gradient(self, leaf: NDArray) -> NDArray | None:
        """Returns `ndarray.grad`."""
        return leaf.grad

    def mode(self, name: str) -> AbstractContextManager[Any]:
        """Returns the context manager `autograd.pause`, which here keeps the training mode, or `autograd.record`."""
        return autograd.pause(train_mode=True) if name == "no_grad" else autograd.record()

    def step(self, leaves: Sequence[NDArray], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        """Calls an `Updater` for each leaf, without recording."""
        key = (tuple(map(id, leaves)), optimizer, settings)
        if key not in self.made:
            self.made[key] = self.templates.scope["optimizer"](list(leaves), **dict(settings))
        self.made[key]()

    def identity(self, gradient: NDArray) -> int | None:
        """Returns the index of the first gradient read so far that shares memory with this one (each read makes another
        wrapper); None if the gradient has no elements.
        """
        if not gradient.size:
            return None
        for k, earlier in enumerate(self.read_gradients):
            if mx.np.shares_memory(earlier, gradient):
                return k
        self.read_gradients.append(gradient)
        return len(self.read_gradients) - 1

    def read(self, value: NDArray) -> np.ndarray:
        """Returns a copy of the elements."""
        return value.asnumpy()

    def dtype(self, value: NDArray) -> str:
        """Returns the name of the dtype."""
        return np.dtype(value.dtype).name

    def requires_grad(self, value: NDArray) -> None:
        """Returns None: MXNet does not report whether an array has a history."""

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error by its message."""
        text = str(error)
        return next((kind for part, kind in MESSAGES if part in text), Kind.UNKNOWN)
