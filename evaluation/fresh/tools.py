"""Helpers of fresh faults and their witnesses: functions that inspect a graph, change it, or drive an adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograd_conformance.frameworks.adapter import HookRaised
from autograd_conformance.frameworks.pytorch.adapter import Torch

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed)."
)
"""PyTorch's message about a freed graph."""

WRITTEN = "one of the variables needed for gradient computation has been modified by an inplace operation"
"""PyTorch's message about a saved tensor that was written to."""

MATRIX = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [3.0, -2.0, 1.0]]
"""A square matrix for witnesses."""

# -- inspecting a graph -----------------------------------------------------------------------------------------------


def graph(roots: Sequence[Tensor]) -> list[Any]:
    """All nodes that can be reached from the roots, each once."""
    todo = [r.grad_fn for r in roots if r.grad_fn is not None]
    seen: dict[Any, None] = {}
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen[node] = None
        todo.extend(n for n, _ in node.next_functions if n is not None)
    return list(seen)


def is_leaf_node(node: Any) -> bool:
    """Whether a node accumulates into a leaf."""
    return hasattr(node, "variable")


def executed(roots: Sequence[Tensor], inputs: Sequence[Tensor] | None) -> list[Any]:
    """The nodes that a call executes; with inputs, only those on a path to an input."""
    nodes = graph(roots)
    if inputs is None:
        return nodes
    ids = {id(x) for x in inputs}
    targets = {x.grad_fn for x in inputs if x.grad_fn is not None}
    targets |= {n for n in nodes if is_leaf_node(n) and id(n.variable) in ids}
    needed: set[Any] = set()
    grown = True
    while grown:
        grown = False
        for n in nodes:
            if n not in needed and any(m in targets or m in needed for m, _ in n.next_functions):
                needed.add(n)
                grown = True
    return [n for n in nodes if n in needed or (is_leaf_node(n) and n in targets)]


def node_of(value: Tensor) -> Any:
    """The node that receives a value's gradient: for a leaf that requires grad, its accumulation node. None without
    one.
    """
    if value.grad_fn is not None or not value.requires_grad:
        return value.grad_fn
    return torch.autograd.graph.get_gradient_edge(value).node


def passed(roots: Sequence[Tensor], inputs: Sequence[Tensor] | None = None) -> list[Any]:
    """The nodes that a call passes through, with the leaves' own; with inputs, only the nodes before an input."""
    if inputs is None:
        return [*graph(roots), *(node_of(r) for r in roots if r.is_leaf and r.requires_grad)]
    return [n for n in executed(roots, [x for x in inputs if x.requires_grad]) if not is_leaf_node(n)]


def reached(roots: Sequence[Tensor], inputs: Sequence[Tensor] | None = None) -> list[Tensor]:
    """The leaves that a call accumulates into."""
    found = {id(n.variable): n.variable for n in graph(roots) if is_leaf_node(n)}
    found |= {id(r): r for r in roots if r.is_leaf and r.requires_grad}
    wanted = None if inputs is None else {id(x) for x in inputs}
    return [v for k, v in found.items() if wanted is None or k in wanted]


def _saved(node: Any) -> Iterator[Tensor | None]:
    """All tensors that a node saved, with None for a tensor that was freed or written to."""
    for name in dir(node):
        if not name.startswith("_saved_"):
            continue
        try:
            value = getattr(node, name)
        except RuntimeError:
            yield None
            continue
        values = value if isinstance(value, (list, tuple)) else [value]
        yield from (v for v in values if isinstance(v, Tensor))


def saved_by(node: Any) -> list[Tensor]:
    """The tensors that a node saved and that were neither freed nor written to."""
    return [tensor for tensor in _saved(node) if tensor is not None]


def saves(node: Any) -> bool:
    """Whether a node saved any tensor, freed or not."""
    return any(True for _ in _saved(node))


def legal(roots: Sequence[Tensor], cotangents: Sequence[Any]) -> bool:
    """Whether all roots require grad, and every cotangent has its root's shape, or is missing for a root of one
    element.
    """
    return all(
        r.requires_grad and (r.numel() == 1 if c is None else tuple(c.shape) == tuple(r.shape))
        for r, c in zip(roots, cotangents, strict=True)
    )


def retains(retain_graph: bool | None, create_graph: bool) -> bool:
    """Whether a call retains the graph."""
    return create_graph if retain_graph is None else retain_graph


# -- changing a graph -------------------------------------------------------------------------------------------------


def after(out: Tensor, change: Callable[[list, Sequence], list | None]) -> None:
    """Replace the gradients that a result's node computes by `change(gradients, cotangents)`; None leaves them
    unchanged.
    """

    def changed(gradients: Sequence, cotangents: Sequence) -> tuple | None:
        made = change(list(gradients), cotangents)
        return None if made is None else tuple(made)

    if out.grad_fn is not None:
        out.grad_fn.register_hook(changed)


def before(out: Tensor, change: Callable[[Tensor], Tensor]) -> None:
    """Replace each cotangent of a result's node by `change(cotangent)`."""
    if out.grad_fn is not None:
        out.grad_fn.register_prehook(lambda cotangents: tuple(g if g is None else change(g) for g in cotangents))


def alias(value: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """A view of an operand whose gradient contribution is replaced by `change(gradient)`."""
    made = value.view_as(value)
    if made.requires_grad:
        made.register_hook(change)
    return made


def zeros_for(gradients: Any) -> Any:
    """Zeros in place of each gradient that is not None."""
    return tuple(None if g is None else torch.zeros_like(g) for g in gradients)


class Straight(torch.autograd.Function):
    """The values of the second operand with the history of the first."""

    @staticmethod
    def forward(ctx: Any, source: Tensor, values: Tensor) -> Tensor:
        return values.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


# -- driving an adapter ------------------------------------------------------------------------------------------------


def leaf_of(adapter: Torch, data: Any, dtype: str = "float64", grad: bool = True) -> Any:
    """A leaf, which requires grad by default."""
    return adapter.leaf(np.array(data, dtype=dtype), grad)


def applied(adapter: Torch, op: str, *operands: Any, **attrs: Any) -> Any:
    """The result of an op, or all of several results."""
    made = adapter.apply(op, list(operands), tuple(attrs.items()))
    return made[0] if len(made) == 1 else made


def total(adapter: Torch, value: Any) -> Any:
    """The sum over a value's elements."""
    return applied(adapter, "sum", value, dim=None, keepdim=False)


def held_by(adapter: Torch, *values: Any) -> list[tuple[str, Any] | None]:
    """The dtype and elements of each value's `.grad`; None without one."""
    found = [adapter.gradient(value) for value in values]
    return [None if g is None else (adapter.dtype(g), adapter.read(g).tolist()) for g in found]


def vjp(adapter: Torch, op: str, data: Sequence, *, dtype: str = "float64", result: int = 0, **attrs: Any) -> list[Any]:
    """A result of an op on new leaves, and the leaves' gradients after a backward call with the cotangent
    1, 2, 3, ...
    """
    leaves = [leaf_of(adapter, each, dtype) for each in data]
    out = adapter.apply(op, leaves, tuple(attrs.items()))[result]
    values = adapter.read(out)
    adapter.backward([out], [np.arange(1, values.size + 1, dtype=dtype).reshape(values.shape)], None)
    return [adapter.read(out).tolist(), held_by(adapter, *leaves)]


def outcome(adapter: Torch, call: Callable[[], Any]) -> str:
    """ "returned", or the kind of the error that a call raised."""
    try:
        call()
    except Exception as error:
        return "hook raised" if isinstance(error, HookRaised) else str(adapter.classify(error))
    return "returned"


def walked(adapter: Torch, root: Any, retain: bool | None = None, cotangent: Any = None) -> str:
    """The outcome of a backward call from one root, as from `outcome`."""
    given = None if cotangent is None else np.array(cotangent)
    return outcome(adapter, lambda: adapter.backward([root], [given], retain))


def hooked(adapter: Torch, value: Any, calls: list, name: Any, effect: str = "observe", factor: float = 1.0) -> Any:
    """Register a hook that appends its gradient to `calls` and may change it; returns its handle."""

    def called(gradient: Any) -> Any:
        calls.append((name, adapter.read(gradient).tolist()))
        return None if effect == "observe" else adapter.hook_result(gradient, effect, factor)

    return adapter.hook(value, called)


def counting(adapter: Torch) -> Torch:
    """The adapter that counts saved tensors, after a reset."""
    counter = adapter.saved_tensor_counter()
    counter.reset()
    return counter
