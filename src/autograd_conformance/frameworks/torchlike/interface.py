"""The calls of PyTorch's public interface, in eager mode, on PyTorch or on another framework that has it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any
from weakref import ref

from autograd_conformance.frameworks.adapter import Adapter, HookFunction
from autograd_conformance.frameworks.torchlike.code import Code
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.language import Attrs, Groups
from autograd_conformance.programs.own_numpy import np

Tensor = Any
"""A tensor of the framework."""


@dataclass(frozen=True, slots=True)
class Maker:
    """A call that makes a tensor from an array."""

    name: str
    """The name of the function or class in the framework's module."""
    takes_dtype: bool = True
    """Whether it takes a dtype; else its tensors have the dtype of the array."""
    takes_flag: bool = True
    """Whether it takes `requires_grad`; else every tensor may hold a gradient."""


TENSOR = Maker("tensor")
"""PyTorch's usual call."""


class TorchInterface(Adapter):
    """Calls a framework as PyTorch is called. Each instruction is one call of the public interface; an argument that a
    program does not give is left out.
    """

    torch: Any
    """The framework's module, with the names of `torch`."""
    code: Code
    """The functions of ops and in-place ops."""
    maker: Maker = TENSOR
    """The call that makes leaves."""
    takes_arrays: bool = False
    """Whether calls take arrays as cotangents."""
    numbers_gain_dimension: bool = False
    """Whether a tensor that is made from a number has one dimension, which `reshape(())` removes from a cotangent."""
    always_given: Mapping[str, Attrs] = {}
    """The settings of each optimizer that a call gives even where a program leaves them out."""
    usual: Any
    """The default dtype of the framework, before a program changes it."""

    @property
    def grad_function(self) -> Callable[..., Sequence[Tensor | None]]:
        """The framework's `torch.autograd.grad`."""
        return self.torch.autograd.grad  # type: ignore[no-any-return]

    def __init__(self) -> None:
        self._holding: list[Callable[[], Tensor | None]] = []

    def reset(self) -> None:
        """Drop the optimizers of the last program, and its gradients.

        A gradient with a graph and the tensor that stores it form a reference cycle, as PyTorch's warning says.
        """
        for holding in self._holding:
            value = holding()
            if value is not None:
                with suppress(Exception):  # some frameworks refuse to set `.grad`, or that of a constant
                    value.grad = None
        self._holding.clear()
        self.made_optimizers: dict[object, Any] = {}

    def hold(self, value: Tensor) -> None:
        """Remember that a tensor may store a gradient, which `reset` drops."""
        try:
            self._holding.append(ref(value))
        except TypeError:  # a class of a compiled module may have no weak references
            self._holding.append(lambda: value)

    def tensor(self, data: np.ndarray, requires_grad: bool = False) -> Tensor:
        """Returns a tensor with the array's elements and dtype."""
        name = data.dtype.name
        dtype = getattr(self.torch, name, None)
        dtype = dtype or getattr(sys.modules.get("torch"), name, None)  # of bindings of libtorch, which have none
        flags = {} if dtype is None or not self.maker.takes_dtype else {"dtype": dtype}
        flags |= {"requires_grad": requires_grad} if self.maker.takes_flag else {}
        given = data if self.maker is TENSOR else np.array(data, copy=True)  # a class may keep the array itself
        return getattr(self.torch, self.maker.name)(given, **flags)

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        """Returns a tensor with the array's dtype."""
        made = self.tensor(data, requires_grad)
        self.hold(made)
        return made

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        """Returns all results of an op."""
        out = self.code.op(op, attrs, len(operands))(*operands)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    def detach(self, value: Tensor) -> Tensor:
        """Returns the same values without history."""
        return value.detach()

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        """Calls `Tensor.backward` for one root, `torch.autograd.backward` for several."""
        given, options = self._cotangents(cotangents), _options(retain_graph, create_graph)
        if inputs is not None:
            options["inputs"] = inputs
            for value in inputs:
                self.hold(value)
        try:
            if len(roots) == 1:
                roots[0].backward(*(each for each in given if each is not None), **options)
            else:
                self.torch.autograd.backward(list(roots), given, **options)
        finally:
            self._give_back(cotangents, given)

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
        """Calls `torch.autograd.grad`."""
        given, options = self._cotangents(cotangents), _options(retain_graph, create_graph)
        if any(each is not None for each in given):
            options["grad_outputs"] = given
        if allow_unused is not None:
            options["allow_unused"] = allow_unused
        if materialize_grads:
            options["materialize_grads"] = True
        try:
            return self.grad_function(list(roots), list(inputs), **options)
        finally:
            self._give_back(cotangents, given)

    def _cotangents(self, arrays: Sequence[np.ndarray | None]) -> list[Tensor | None]:
        if self.takes_arrays:
            return [*arrays]
        return [None if array is None else self._cotangent(array) for array in arrays]

    def _cotangent(self, array: np.ndarray) -> Tensor:
        made = self.tensor(array)
        return made.reshape(()) if self.numbers_gain_dimension and array.ndim == 0 else made

    def _give_back(self, arrays: Sequence[np.ndarray | None], given: Sequence[Tensor | None]) -> None:
        """Copy the framework's copies of the cotangents back into the arrays, so that the suite detects a write to
        them.
        """
        for array, tensor in zip(arrays, given, strict=True):
            if array is not None and tensor is not None:
                array[...] = self.elements(tensor)

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        """Runs the in-place op's statement, which `ops.catalogue` defines."""
        self.code.write(op, attrs, 1 + len(operands))(target, *operands)

    def detach_in_place(self, value: Tensor) -> None:
        """Calls `Tensor.detach_`."""
        value.detach_()

    def set_requires_grad(self, value: Tensor, on: bool) -> None:
        """Calls `Tensor.requires_grad_`."""
        value.requires_grad_(on)
        self.hold(value)

    def retain_grad(self, value: Tensor) -> None:
        """Calls `Tensor.retain_grad`."""
        value.retain_grad()
        self.hold(value)

    def hook(self, value: Tensor, function: HookFunction) -> Any:
        """Calls `Tensor.register_hook`."""
        return value.register_hook(function)

    def accumulated_hook(self, leaf: Tensor, function: HookFunction) -> Any:
        """Calls `Tensor.register_post_accumulate_grad_hook`, whose hook gets the leaf, and passes the leaf's `.grad` to
        the function.
        """
        return leaf.register_post_accumulate_grad_hook(lambda holding: function(holding.grad))

    def remove(self, handle: Any) -> None:
        """Calls the handle's own `remove`."""
        handle.remove()

    def hook_result(self, gradient: Tensor, effect: str, factor: float) -> Tensor:
        """Computes the tensor that a hook returns in place of a gradient: scaled, replaced by a constant, or of a wrong
        shape.
        """
        match effect:
            case "scale":
                return gradient * factor
            case "replace":
                return self.torch.full_like(gradient, factor)
            case _:
                return gradient.new_ones((*gradient.shape, 2))

    def mode(self, name: str) -> AbstractContextManager[Any]:
        """Returns `torch.no_grad()` or `torch.enable_grad()`."""
        return getattr(self.torch, name)()

    def default_dtype(self, dtype: str | None) -> None:
        """Calls `torch.set_default_dtype`."""
        self.torch.set_default_dtype(self.usual if dtype is None else getattr(self.torch, dtype))

    def assign_grad(self, leaf: Tensor, value: Tensor | None) -> None:
        """Runs `leaf.grad = value`."""
        leaf.grad = value

    def optimizer(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> Any:
        """Returns the optimizer of these leaves and settings, which the first call with equal arguments makes."""
        key = (tuple(map(id, leaves)), optimizer, settings, groups)
        if key not in self.made_optimizers:
            kind = getattr(self.torch.optim, OPTIMIZERS[optimizer].torch)
            given = {**dict(self.always_given.get(optimizer, ())), **dict(settings)}
            self.made_optimizers[key] = kind(_params(leaves, groups), **given)
        return self.made_optimizers[key]

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        """Calls `Optimizer.step`."""
        self.optimizer(leaves, optimizer, settings, groups).step()

    def clear(
        self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, set_to_none: bool, groups: Groups = ()
    ) -> None:
        """Calls `Optimizer.zero_grad`."""
        self.optimizer(leaves, optimizer, settings, groups).zero_grad(set_to_none)

    def clip(self, leaves: Sequence[Tensor], kind: str, bound: float) -> None:
        """Calls `clip_grad_norm_` or `clip_grad_value_` of `torch.nn.utils`."""
        getattr(self.torch.nn.utils, f"clip_grad_{kind}_")(leaves, bound)

    def zero_grad(self, leaves: Sequence[Tensor], set_to_none: bool) -> None:
        """Clear like the optimizers' `zero_grad`: to None, or in place to zeros if there is a gradient."""
        for leaf in leaves:
            if set_to_none:
                leaf.grad = None
            elif leaf.grad is not None:
                leaf.grad.zero_()

    def gradient(self, leaf: Tensor) -> Tensor | None:
        """Returns the `.grad` of a leaf or of another value."""
        return leaf.grad

    def elements(self, value: Tensor) -> np.ndarray:
        """Returns the elements as an array, which may share the tensor's memory."""
        return np.asarray(value.detach().numpy())

    def read(self, value: Tensor) -> np.ndarray:
        """Returns a copy of the elements."""
        return np.array(self.elements(value), copy=True)

    def dtype(self, value: Tensor) -> str:
        """Returns the name of the dtype."""
        return str(value.dtype).rpartition(".")[2]

    def requires_grad(self, value: Tensor) -> bool | None:
        """Whether the tensor requires grad."""
        return value.requires_grad

    def strides(self, value: Tensor) -> tuple[int, ...]:
        """Returns the strides, in elements."""
        return tuple(value.stride())


def _options(retain_graph: bool | None, create_graph: bool) -> dict[str, Any]:
    """Returns the options of a call that the program gives."""
    options: dict[str, Any] = {} if retain_graph is None else {"retain_graph": retain_graph}
    return {**options, "create_graph": True} if create_graph else options


def _params(leaves: Sequence[Tensor], groups: Groups) -> list[Any]:
    """Returns the first argument of an optimizer: the leaves, or a dict for each parameter group."""
    if not groups:
        return list(leaves)
    rest = iter(leaves)
    return [{"params": [next(rest) for _ in range(count)], **dict(own)} for count, own in groups]
