"""PyTorch, run eagerly: each instruction is one call of its public interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from rules.catalogue import Needs
from rules.dialect import Dialect, fill
from rules.language import Attrs
from rules.observations import Kind
from rules.ops import OPS

_MESSAGES = (
    ("Trying to backward through the graph a second time", Kind.GRAPH_FREED),
    ("does not require grad and does not have a grad_fn", Kind.NO_GRAD),
    ("grad can be implicitly created only for scalar outputs", Kind.NON_SCALAR_ROOT),
    ("Mismatch in shape: grad_output", Kind.COTANGENT_SHAPE),
    ("has been modified by an inplace operation", Kind.MODIFIED),
    ("has been modified inplace", Kind.MODIFIED),
)
"""How PyTorch's RuntimeErrors are told apart: by a part of the message that has been stable since 1.5."""


def dialect(device: torch.device) -> Dialect:
    """Programs as PyTorch code."""
    where = "" if device.type == "cpu" else f", device={str(device)!r}"
    return Dialect(
        prelude="import torch\nimport torch.nn.functional as F",
        tensor=f"torch.tensor({{data}}, dtype=torch.{{dtype}}{where}{{flags}})",
        empty=f"torch.zeros({{shape}}, dtype=torch.{{dtype}}{where}{{flags}})",
        differentiable=", requires_grad=True",
        ops={name: op.torch for name, op in OPS.items()},
        detach="{source}.detach()",
        backward="{root}.backward({arguments})",
        backward_many="torch.autograd.backward([{roots}], [{cotangents}]{arguments})",
        retain="retain_graph={value}",
        held="{leaf}.grad",
        assign="{leaf}.grad = {value}",
        create="create_graph={value}",
        step="torch.optim.{optimizer}([{leaves}]{settings}).step()",
        optimizers={"sgd": "SGD", "adam": "Adam"},
        clear_to_none="{leaf}.grad = None",
        clear_to_zeros="if {leaf}.grad is not None: {leaf}.grad.zero_()",
        gradient="{leaf}.grad",
        error="RuntimeError",
    )


@lru_cache(maxsize=None)
def _code(op: str, attrs: Attrs) -> Callable[..., Any]:
    template = OPS[op].torch
    names = "abcdefghi"
    return eval(
        f"lambda {', '.join(names[: _arity(template)])}: {fill(template, names, attrs)}",
        {"torch": torch, "F": torch.nn.functional},
    )


def _arity(template: str) -> int:
    return max(n for n in range(1, 10) if f"{{{n - 1}" in template)


class TorchEager:
    """PyTorch 2 in eager mode on one device."""

    name = "torch"
    version = torch.__version__
    claims = frozenset(Needs) - {Needs.COUNTS_SAVED}
    ops = frozenset(OPS)
    dtypes = ("float64", "float32")

    def __init__(self, device: str = "cpu") -> None:
        torch.set_num_threads(1)  # six elements need no pool, and workers share the cores
        self.device = torch.device(device)
        self.dialect = dialect(self.device)
        torch.zeros(1, device=self.device)

    def reset(self) -> None:
        """Optimizers belong to one program; PyTorch itself keeps no state between programs."""
        self.optimizers: dict[object, torch.optim.Optimizer] = {}

    def counting(self) -> TorchEager:
        """The same framework with its saved tensors counted."""
        from frameworks.torch_saved import TorchSaved

        return TorchSaved(str(self.device))

    def leaf(self, data: np.ndarray, requires_grad: bool) -> torch.Tensor:
        """A tensor from an array of its dtype."""
        return torch.tensor(data, device=self.device, requires_grad=requires_grad)

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        """All results of an op."""
        out = _code(op, attrs)(*operands)
        return (out,) if isinstance(out, torch.Tensor) else out

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        """The same values without history."""
        return value.detach()

    def backward(
        self,
        roots: Sequence[torch.Tensor],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool = False,
    ) -> None:
        """`Tensor.backward` for one root, `torch.autograd.backward` for several."""
        given = [None if c is None else torch.tensor(c, device=self.device) for c in cotangents]
        if len(roots) == 1:
            roots[0].backward(given[0], retain_graph, create_graph)
        else:
            torch.autograd.backward(list(roots), given, retain_graph, create_graph)  # type: ignore[arg-type]

    def assign_grad(self, leaf: torch.Tensor, value: torch.Tensor | None) -> None:
        """`leaf.grad = value`."""
        leaf.grad = value

    def step(self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs) -> None:
        """One step of the optimizer of these leaves and settings, which is made at its first step."""
        key = (tuple(map(id, leaves)), optimizer, settings)
        if key not in self.optimizers:
            self.optimizers[key] = _OPTIMIZERS[optimizer](list(leaves), **dict(settings))
        self.optimizers[key].step()

    def zero_grad(self, leaves: Sequence[torch.Tensor], set_to_none: bool) -> None:
        """Clear as the optimizers' `zero_grad` does: to None, or in place to zeros where there is a gradient."""
        for leaf in leaves:
            if set_to_none:
                leaf.grad = None
            elif leaf.grad is not None:
                leaf.grad.zero_()

    def gradient(self, leaf: torch.Tensor) -> torch.Tensor | None:
        """What a leaf holds."""
        return leaf.grad

    def identity(self, gradient: torch.Tensor) -> int:
        """Where a gradient's memory begins: two gradients that share it are one object."""
        return gradient.data_ptr()

    def read(self, value: torch.Tensor) -> np.ndarray:
        """A copy of the values."""
        return value.detach().cpu().numpy().copy()

    def dtype(self, value: torch.Tensor) -> str:
        """The dtype's name."""
        return _DTYPES[value.dtype]

    def requires_grad(self, value: torch.Tensor) -> bool:
        """Whether the tensor requires grad."""
        return value.requires_grad

    def classify(self, error: Exception) -> Kind:
        """The kind of a RuntimeError by its message."""
        if isinstance(error, RuntimeError):
            text = str(error)
            return next((kind for part, kind in _MESSAGES if part in text), Kind.UNKNOWN)
        return Kind.UNKNOWN


_OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
_DTYPES = {torch.float32: "float32", torch.float64: "float64"}
