"""PyTorch in eager mode: each instruction is one call of its public interface."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any
from weakref import ref

import numpy as np
import torch

from autograd_conformance.frameworks.adapter import Adapter, HookFunction
from autograd_conformance.frameworks.environment.devices import Device
from autograd_conformance.frameworks.pytorch.devices import dtypes_of, open_device, storage_of
from autograd_conformance.frameworks.pytorch.dialect import dialect
from autograd_conformance.frameworks.pytorch.errors import MESSAGES
from autograd_conformance.ops.catalogue import APPLIED, WRITES, row_of
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.printing.dialect import Dialect, fill
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs, Groups
from autograd_conformance.programs.observations import Kind

KEPT = 4096
"""Maximum number of generated Python functions that each of two caches keeps, for ops and for in-place ops: one
function for each op, its attributes and its number of operands.
"""


def _params(leaves: Sequence[torch.Tensor], groups: Groups) -> list[Any]:
    """Returns the first argument of an optimizer: the leaves, or a dict for each parameter group."""
    if not groups:
        return list(leaves)
    rest = iter(leaves)
    return [{"params": [next(rest) for _ in range(count)], **dict(own)} for count, own in groups]


_GLOBALS = {"torch": torch, "F": torch.nn.functional}


@lru_cache(maxsize=KEPT)
def _code(op: str, attrs: Attrs, operands: int) -> Callable[..., Any]:
    given = _names(operands)
    return eval(f"lambda {', '.join(given)}: {fill(row_of(op).template, given, attrs)}", _GLOBALS)


@lru_cache(maxsize=KEPT)
def _statement(op: str, attrs: Attrs, operands: int) -> Callable[..., None]:
    given = _names(operands)
    made: dict[str, Any] = {}
    exec(f"def write({', '.join(given)}):\n    {fill(WRITES[op].template, given, attrs)}", _GLOBALS, made)
    return made["write"]


def _names(operands: int) -> list[str]:
    return [f"x{k}" for k in range(operands)]


class _Generator:
    """PyTorch's random number generators, as Hypothesis needs them. Hypothesis seeds them before each program.

    `torch.manual_seed` records a stack trace for each kind of device that is not in use, which took a fifth of a small
    program's time. On the CPU, only the CPU's generator is seeded.
    """

    getstate = staticmethod(torch.get_rng_state)
    setstate = staticmethod(torch.set_rng_state)

    def __init__(self, seed: Callable[[int], object]) -> None:
        self.seed = seed


ON_CPU, ON_ANY = _Generator(torch.default_generator.manual_seed), _Generator(torch.manual_seed)


class TorchEager(Adapter):
    """PyTorch 2 in eager mode on one device, which may be provided by another package's module."""

    name = "torch"
    version = torch.__version__
    capabilities = frozenset(Capability) - {Capability.COUNTS_SAVED}
    ops = APPLIED
    dtypes: tuple[str, ...] = ("float64", "float32")
    dialect: Dialect
    optimizers = {name: tuple(dict(row.defaults)) for name, row in OPTIMIZERS.items()}
    modules = (*MODULES, *RANDOM_OPS)
    variables = ("ATEN_", "MKL_", "OMP_", "PYTORCH_", "TORCH")

    def __init__(self, device: str = "cpu") -> None:
        torch.set_num_threads(1)  # small tensors need no thread pool, and workers share the cores
        named = Device.named(device)
        self.requested_device, self.device = device, open_device(named)
        self.dtypes = dtypes_of(self.device, TorchEager.dtypes)
        self.random = ON_CPU if self.device.type == "cpu" else ON_ANY
        self.dialect = dialect(self.device, named.module)
        self._holding: list[ref[torch.Tensor]] = []
        self.usual = torch.get_default_dtype()

    def reset(self) -> None:
        """Drop the optimizers of the last program, and its gradients. PyTorch has no other state between programs.

        A gradient with a graph and the tensor that stores it form a reference cycle, as PyTorch's warning says.
        """
        for holding in self._holding:
            value = holding()
            if value is not None:
                value.grad = None
        self._holding.clear()
        self.made_optimizers: dict[object, torch.optim.Optimizer] = {}

    def leaf(self, data: np.ndarray, requires_grad: bool) -> torch.Tensor:
        """Returns a tensor with the array's dtype."""
        made = torch.tensor(data, device=self.device, requires_grad=requires_grad)
        self._holding.append(ref(made))
        return made

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        """Returns all results of an op."""
        out = _code(op, attrs, len(operands))(*operands)
        return (out,) if isinstance(out, torch.Tensor) else out

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        """Returns the same values without history."""
        return value.detach()

    def backward(
        self,
        roots: Sequence[torch.Tensor],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[torch.Tensor] | None = None,
    ) -> None:
        """Calls `Tensor.backward` for one root, `torch.autograd.backward` for several."""
        given = self._cotangents(cotangents)
        self._holding.extend(map(ref, inputs or ()))
        try:
            if len(roots) == 1:
                roots[0].backward(given[0], retain_graph, create_graph, inputs)
            else:
                torch.autograd.backward(list(roots), given, retain_graph, create_graph, inputs=inputs)  # type: ignore[arg-type]
        finally:
            self._give_back(cotangents, given)

    def grad(
        self,
        roots: Sequence[torch.Tensor],
        inputs: Sequence[torch.Tensor],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool,
        allow_unused: bool | None,
        materialize_grads: bool,
    ) -> Sequence[torch.Tensor | None]:
        """Calls `torch.autograd.grad`."""
        given = self._cotangents(cotangents)
        try:
            return torch.autograd.grad(
                list(roots),
                list(inputs),
                given,
                retain_graph,
                create_graph,
                allow_unused=allow_unused,
                materialize_grads=materialize_grads,
            )
        finally:
            self._give_back(cotangents, given)

    def _cotangents(self, arrays: Sequence[np.ndarray | None]) -> list[torch.Tensor | None]:
        return [None if c is None else torch.tensor(c, device=self.device) for c in arrays]

    def _give_back(self, arrays: Sequence[np.ndarray | None], given: Sequence[torch.Tensor | None]) -> None:
        """Copy PyTorch's copies of the cotangents back into the arrays, so that the suite detects a write to them."""
        for array, tensor in zip(arrays, given, strict=True):
            if array is not None and tensor is not None:
                array[...] = tensor.numpy(force=True)

    def write(self, op: str, target: torch.Tensor, operands: Sequence[torch.Tensor], attrs: Attrs) -> None:
        """Runs the in-place op's statement, which `ops.catalogue` defines."""
        _statement(op, attrs, 1 + len(operands))(target, *operands)

    def detach_in_place(self, value: torch.Tensor) -> None:
        """Calls `Tensor.detach_`."""
        value.detach_()

    def set_requires_grad(self, value: torch.Tensor, on: bool) -> None:
        """Calls `Tensor.requires_grad_`."""
        value.requires_grad_(on)
        self._holding.append(ref(value))

    def retain_grad(self, value: torch.Tensor) -> None:
        """Calls `Tensor.retain_grad`."""
        value.retain_grad()
        self._holding.append(ref(value))

    def hook(self, value: torch.Tensor, function: HookFunction) -> Any:
        """Calls `Tensor.register_hook`."""
        return value.register_hook(function)

    def accumulated_hook(self, leaf: torch.Tensor, function: HookFunction) -> Any:
        """Calls `Tensor.register_post_accumulate_grad_hook`, whose hook gets the leaf, and passes the leaf's `.grad` to
        the function.
        """
        return leaf.register_post_accumulate_grad_hook(lambda holding: function(holding.grad))

    def remove(self, handle: Any) -> None:
        """Calls the handle's own `remove`."""
        handle.remove()

    def hook_result(self, gradient: torch.Tensor, effect: str, factor: float) -> torch.Tensor:
        """Computes the tensor that a hook returns in place of a gradient: scaled, replaced by a constant, or of a wrong
        shape.
        """
        match effect:
            case "scale":
                return gradient * factor
            case "replace":
                return torch.full_like(gradient, factor)
            case _:
                return gradient.new_ones((*gradient.shape, 2))

    def mode(self, name: str) -> AbstractContextManager[Any]:
        """Returns `torch.no_grad()` or `torch.enable_grad()`."""
        return _MODES[name]()

    def default_dtype(self, dtype: str | None) -> None:
        """Calls `torch.set_default_dtype`."""
        torch.set_default_dtype(self.usual if dtype is None else getattr(torch, dtype))

    def assign_grad(self, leaf: torch.Tensor, value: torch.Tensor | None) -> None:
        """Runs `leaf.grad = value`."""
        leaf.grad = value

    def optimizer(
        self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs, groups: Groups = ()
    ) -> torch.optim.Optimizer:
        """Returns the optimizer of these leaves and settings, which the first call with equal arguments makes."""
        key = (tuple(map(id, leaves)), optimizer, settings, groups)
        if key not in self.made_optimizers:
            self.made_optimizers[key] = _OPTIMIZERS[optimizer](_params(leaves, groups), **dict(settings))
        return self.made_optimizers[key]

    def step(self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        """Calls `Optimizer.step`."""
        self.optimizer(leaves, optimizer, settings, groups).step()

    def clear(
        self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs, set_to_none: bool, groups: Groups = ()
    ) -> None:
        """Calls `Optimizer.zero_grad`."""
        self.optimizer(leaves, optimizer, settings, groups).zero_grad(set_to_none)

    def clip(self, leaves: Sequence[torch.Tensor], kind: str, bound: float) -> None:
        """Calls `clip_grad_norm_` or `clip_grad_value_` of `torch.nn.utils`."""
        _CLIPS[kind](leaves, bound)

    def zero_grad(self, leaves: Sequence[torch.Tensor], set_to_none: bool) -> None:
        """Clear like the optimizers' `zero_grad`: to None, or in place to zeros if there is a gradient."""
        for leaf in leaves:
            if set_to_none:
                leaf.grad = None
            elif leaf.grad is not None:
                leaf.grad.zero_()

    def gradient(self, leaf: torch.Tensor) -> torch.Tensor | None:
        """Returns the `.grad` of a leaf or of another value."""
        try:
            plain = leaf.retains_grad or leaf.is_leaf
        except RuntimeError:  # PyTorch raises for a view that was made under no_grad, if its base was written to
            plain = False
        if plain:
            return leaf.grad
        with warnings.catch_warnings(action="ignore"):  # PyTorch advises to call retain_grad, but this only reads
            return leaf.grad

    def identity(self, gradient: torch.Tensor) -> int:
        """Returns the address of a gradient's memory. Two gradients with the same memory count as one object.

        Some derivatives are tensors of zeros without memory; Python's `id` identifies these.
        """
        if gradient._is_zerotensor():
            return id(gradient)
        return gradient.data_ptr() or (storage_of(gradient) if gradient.numel() else 0)

    def read(self, value: torch.Tensor) -> np.ndarray:
        """Returns a copy of the elements."""
        if value._is_zerotensor():  # NumPy would read invalid memory of a view of one
            value = value.clone()
        return value.numpy(force=True).copy()

    def dtype(self, value: torch.Tensor) -> str:
        """Returns the name of the dtype."""
        return _DTYPES.get(value.dtype) or str(value.dtype).rpartition(".")[2]

    def requires_grad(self, value: torch.Tensor) -> bool:
        """Whether the tensor requires grad."""
        return value.requires_grad

    def memory(self, value: torch.Tensor) -> int | None:
        """Returns the address of the storage."""
        return storage_of(value) if value.numel() and not value._is_zerotensor() else None

    def strides(self, value: torch.Tensor) -> tuple[int, ...]:
        """Returns the strides, in elements."""
        return value.stride()

    def classify(self, error: BaseException) -> Kind:
        """Classify an error by its message. On devices other than the CPU, the dispatcher may report a missing
        kernel.
        """
        if not isinstance(error, (RuntimeError, ValueError)):
            return Kind.UNKNOWN
        text = str(error)
        absent = isinstance(error, NotImplementedError) and self.device.type != "cpu"
        return next((kind for part, kind in MESSAGES if part in text), Kind.NO_KERNEL if absent else Kind.UNKNOWN)


_MODES = {"no_grad": torch.no_grad, "enable_grad": torch.enable_grad}
_OPTIMIZERS = {name: getattr(torch.optim, row.torch) for name, row in OPTIMIZERS.items()}
_CLIPS: dict[str, Callable[..., Any]] = {
    "norm": torch.nn.utils.clip_grad_norm_, "value": torch.nn.utils.clip_grad_value_,
}  # fmt: skip
_DTYPES = {torch.float32: "float32", torch.float64: "float64"}
