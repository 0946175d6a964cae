"""Adapter for PaddlePaddle: each instruction of a program is one call of PaddlePaddle's public interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np
import paddle

from autograd_conformance.adapters.paddle.dialect import DIALECT, OPS, OPTIMIZERS
from autograd_conformance.frameworks.adapter import Adapter, HookFunction
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.ops.limits import Limit, Limits
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind

Tensor = Any
"""`paddle.Tensor`."""

MESSAGES = (
    ("Trying to backward through the same graph a second time", Kind.GRAPH_FREED),
    ("backward twice for the same subgraph without setting retain_graph=True", Kind.GRAPH_FREED),
    ("Tensor shape not match, Tensor of grad_tensor", Kind.COTANGENT_SHAPE),
    ("has been modified by an inplace operation", Kind.MODIFIED),
    (
        "does not appear in the backward graph. Please check the input tensor or set allow_unused=True",
        Kind.UNUSED_INPUT,
    ),
    ("doesn't have any grad op. If you don't intend calculating higher order", Kind.NOT_IMPLEMENTED),
    ("double_grad only support", Kind.NOT_IMPLEMENTED),
    ("_double_grad` is not registered", Kind.NOT_IMPLEMENTED),
    ("Cannot register hook on a tensor that stop gradient", Kind.HOOK_NO_GRAD),
)
"""Parts of PaddlePaddle's error messages, the most stable ones, each with the kind of error that it identifies."""


class Paddle(Adapter):
    """Runs programs in PaddlePaddle's eager mode, on the CPU."""

    name = "paddle"
    version = paddle.__version__
    variables = ("FLAGS_", "MKL_", "OMP_")
    capabilities = frozenset(
        {
            Capability.IMPERATIVE, Capability.ACCUMULATES, Capability.RETAIN, Capability.FREES,
            Capability.COTANGENTS, Capability.MULTIPLE_ROOTS,
            Capability.CONSTANTS, Capability.REQUIRES_GRAD, Capability.IDENTITY, Capability.DETACH,
            Capability.ZERO_TO_NONE, Capability.ZERO_TO_ZEROS, Capability.ASSIGNS, Capability.MODES,
            Capability.RETAINS_GRAD, Capability.HOOKS, Capability.OPTIMIZERS, Capability.MAKES_OPTIMIZERS,
            Capability.CLIPS, Capability.MEMORY, Capability.FUNCTIONAL,
            Capability.UNUSED, Capability.CREATE_GRAPH,
        }
    )  # fmt: skip
    """Not claimed: `create_graph` and `inputs` of `backward`, which it does not have. The documentation does not
    promise that `paddle.grad` refuses a cotangent of another shape (it reads beyond the end), that a root without
    history is refused, or that a write through one view enters the history of another.
    """
    traits = Traits(implicit_ones=True, distinct_roots=True, copies=True)
    trait_sources: ClassVar[Mapping[str, str]] = {
        "implicit_ones": "docstring of paddle.Tensor.backward",
        "distinct_roots": "docstring of paddle.autograd.backward",
        "copies": "paddle/fluid/pybind/eager_properties.cc, tensor_properties_set_grad",
    }
    ops = frozenset(OPS)
    limits: ClassVar[Limits] = {"stack": Limit(empty=False), "stack_three": Limit(empty=False)}
    """Programs stack no empty tensors: a backward call through such a stack crashes the process if one operand requires
    no grad.
    """
    optimizers = OPTIMIZERS
    dtypes = ("float64", "float32")
    dialect = DIALECT

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("PaddlePaddle is tested on the CPU only")
        paddle.set_device("cpu")
        self.templates = Templates.of(self.dialect)

    def reset(self) -> None:
        """Forgets the last program's optimizers and switches recording on, because PaddlePaddle leaves it off after it
        refuses a second derivative.
        """
        paddle.set_grad_enabled(True)
        self.made_optimizers: dict[object, Any] = {}

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        """Returns a tensor from an array of its dtype."""
        return paddle.to_tensor(data, stop_gradient=not requires_grad)

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        """Returns all results of an op."""
        made = self.templates.op(op, attrs, len(operands))(*operands)
        return (made,) if isinstance(made, paddle.Tensor) and op not in self.dialect.sequences else tuple(made)

    def detach(self, value: Tensor) -> Tensor:
        """Calls `Tensor.detach`."""
        return value.detach()

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        """Calls `Tensor.backward` for one root, `paddle.autograd.backward` for several."""
        given = [None if c is None else paddle.to_tensor(c) for c in cotangents]
        options = {} if retain_graph is None else {"retain_graph": retain_graph}
        try:
            if len(roots) == 1:
                roots[0].backward(given[0], **options)
            else:
                paddle.autograd.backward(list(roots), given, **options)
        finally:
            _copy_back(cotangents, given)

    def grad(
        self,
        roots: Sequence[Tensor],
        inputs: Sequence[Tensor],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool,
        allow_unused: bool | None,
        materialize_grads: bool,
    ) -> Sequence[Tensor | None]:
        """Calls `paddle.grad`."""
        assert not materialize_grads, "materialized gradients are not claimed"
        given = [None if c is None else paddle.to_tensor(c) for c in cotangents]
        options = {} if allow_unused is None else {"allow_unused": allow_unused}
        try:
            return paddle.grad(
                list(roots), list(inputs), given, retain_graph=retain_graph, create_graph=create_graph, **options
            )
        finally:
            _copy_back(cotangents, given)

    def zero_grad(self, leaves: Sequence[Tensor], set_to_none: bool) -> None:
        """Calls `Tensor.clear_gradient` of each leaf."""
        for leaf in leaves:
            leaf.clear_gradient(not set_to_none)

    def gradient(self, leaf: Tensor) -> Tensor | None:
        """Returns `Tensor.grad`."""
        return leaf.grad

    def assign_grad(self, leaf: Tensor, value: Tensor | None) -> None:
        """Assigns the value to `Tensor.grad`."""
        leaf.grad = value

    def identity(self, gradient: Tensor) -> int:
        """Returns the address of a gradient's memory."""
        return gradient.data_ptr()

    def read(self, value: Tensor) -> np.ndarray:
        """Returns a copy of the values."""
        return value.numpy().copy()

    def dtype(self, value: Tensor) -> str:
        """Returns the dtype's name."""
        return _DTYPES.get(value.dtype) or str(value.dtype).rpartition(".")[2]

    def requires_grad(self, value: Tensor) -> bool:
        """Returns the opposite of `Tensor.stop_gradient`."""
        return not value.stop_gradient

    def retain_grad(self, value: Tensor) -> None:
        """Calls `Tensor.retain_grads`."""
        value.retain_grads()

    def hook(self, value: Tensor, function: HookFunction) -> Any:
        """Calls `Tensor.register_hook` and returns the hook's handle."""
        return value.register_hook(function)

    def remove(self, handle: Any) -> None:
        """Calls `remove` of the handle that `Tensor.register_hook` returned."""
        handle.remove()

    def hook_result(self, gradient: Tensor, effect: str, factor: float) -> Tensor:
        """Returns the gradient that a hook returns in place of the given one: scaled, replaced by a constant, or of
        another shape.
        """
        match effect:
            case "scale":
                return gradient * factor
            case "replace":
                return paddle.full_like(gradient, factor)
            case _:
                return paddle.ones([*gradient.shape, 2], gradient.dtype)

    def optimizer(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs) -> Any:
        """Returns PaddlePaddle's optimizer for these leaves and settings, which is made on first use and kept until the
        next program.
        """
        key = (tuple(map(id, leaves)), optimizer, settings)
        if key not in self.made_optimizers:
            self.made_optimizers[key] = self.templates.scope[optimizer](list(leaves), **dict(settings))
        return self.made_optimizers[key]

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs) -> None:
        """Calls `step` of PaddlePaddle's optimizer for these leaves."""
        self.optimizer(leaves, optimizer, settings).step()

    def clear(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, set_to_none: bool) -> None:
        """Calls `clear_grad` of PaddlePaddle's optimizer for these leaves."""
        self.optimizer(leaves, optimizer, settings).clear_grad(set_to_zero=not set_to_none)

    def clip(self, leaves: Sequence[Tensor], kind: str, bound: float) -> None:
        """Calls `clip_grad_norm_` or `clip_grad_value_` of `paddle.nn.utils`."""
        _CLIPS[kind](leaves, bound)

    def memory(self, value: Tensor) -> int | None:
        """Returns the address of the storage: that of the first element less its offset; None for a value without
        elements.
        """
        return value.data_ptr() - value.offset if value.size else None

    def mode(self, name: str) -> AbstractContextManager[Any]:
        """Returns the context manager `paddle.no_grad()` or `paddle.enable_grad()`."""
        return _MODES[name]()

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error by its message."""
        text = str(error)
        return next((kind for part, kind in MESSAGES if part in text), Kind.UNKNOWN)


def _copy_back(arrays: Sequence[np.ndarray | None], given: Sequence[Tensor | None]) -> None:
    """Copies tensors back into the arrays that they were copied from, so that a write to a cotangent is observed."""
    for array, tensor in zip(arrays, given, strict=True):
        if array is not None and tensor is not None:
            array[...] = tensor.numpy()


_CLIPS = {"norm": paddle.nn.utils.clip_grad_norm_, "value": paddle.nn.utils.clip_grad_value_}
_MODES = {"no_grad": paddle.no_grad, "enable_grad": paddle.enable_grad}
_DTYPES = {paddle.float32: "float32", paddle.float64: "float64"}
