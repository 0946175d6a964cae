"""What faults ask of a graph and change in it, and what their witnesses do with an adapter."""

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
"""What PyTorch says of a graph that was freed."""

WRITTEN = "one of the variables needed for gradient computation has been modified by an inplace operation"
"""What PyTorch says of a saved tensor that was written to since."""

MATRIX = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [3.0, -2.0, 1.0]]
"""A square matrix for witnesses."""

# -- what faults ask of a graph ----------------------------------------------------------------------------------------


def graph(roots: Sequence[Tensor]) -> list[Any]:
    """Every node that the roots lead to, each once."""
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
    """The nodes that a call executes: with inputs only those on the way to one."""
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
    """The node that a value's gradient arrives at: a leaf's own where it requires grad; else None."""
    if value.grad_fn is not None or not value.requires_grad:
        return value.grad_fn
    return torch.autograd.graph.get_gradient_edge(value).node


def passed(roots: Sequence[Tensor], inputs: Sequence[Tensor] | None = None) -> list[Any]:
    """The nodes that a call passes through: all, those of leaves as well; with inputs those before one."""
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
    """Every tensor that a node has saved; None in the place of one that was freed, or written to since."""
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
    """The tensors that a node has saved and still holds."""
    return [tensor for tensor in _saved(node) if tensor is not None]


def saves(node: Any) -> bool:
    """Whether a node has saved a tensor, whatever became of it."""
    return any(True for _ in _saved(node))


def legal(roots: Sequence[Tensor], cotangents: Sequence[Any]) -> bool:
    """Whether all roots require grad, and every cotangent has its root's shape or is left out for a single element."""
    return all(
        r.requires_grad and (r.numel() == 1 if c is None else tuple(c.shape) == tuple(r.shape))
        for r, c in zip(roots, cotangents, strict=True)
    )


def retains(retain_graph: bool | None, create_graph: bool) -> bool:
    """Whether a call retains the graph."""
    return create_graph if retain_graph is None else retain_graph


# -- what faults change in a graph -------------------------------------------------------------------------------------


def after(out: Tensor, change: Callable[[list, Sequence], list | None]) -> None:
    """What the node of a result gives its operands is changed by change(gradients, cotangents); None leaves it."""

    def changed(gradients: Sequence, cotangents: Sequence) -> tuple | None:
        made = change(list(gradients), cotangents)
        return None if made is None else tuple(made)

    if out.grad_fn is not None:
        out.grad_fn.register_hook(changed)


def before(out: Tensor, change: Callable[[Tensor], Tensor]) -> None:
    """The cotangent that the node of a result sees is changed."""
    if out.grad_fn is not None:
        out.grad_fn.register_prehook(lambda cotangents: tuple(g if g is None else change(g) for g in cotangents))


def alias(value: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """The operand in the same memory; what this use of it contributes is changed."""
    made = value.view_as(value)
    if made.requires_grad:
        made.register_hook(change)
    return made


def zeros_for(gradients: Any) -> Any:
    """Zeros for every gradient that there is."""
    return tuple(None if g is None else torch.zeros_like(g) for g in gradients)


class Straight(torch.autograd.Function):
    """The values of the second operand with the history of the first."""

    @staticmethod
    def forward(ctx: Any, source: Tensor, values: Tensor) -> Tensor:
        return values.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


# -- what witnesses do -------------------------------------------------------------------------------------------------


def leaf_of(adapter: Torch, data: Any, dtype: str = "float64", grad: bool = True) -> Any:
    """A leaf that requires grad, unless it is said that it does not."""
    return adapter.leaf(np.array(data, dtype=dtype), grad)


def applied(adapter: Torch, op: str, *operands: Any, **attrs: Any) -> Any:
    """The result of an op; of several all."""
    made = adapter.apply(op, list(operands), tuple(attrs.items()))
    return made[0] if len(made) == 1 else made


def total(adapter: Torch, value: Any) -> Any:
    """The sum over a value's elements."""
    return applied(adapter, "sum", value, dim=None, keepdim=False)


def held_by(adapter: Torch, *values: Any) -> list[tuple[str, Any] | None]:
    """The gradients that values hold, each with its dtype."""
    found = [adapter.gradient(value) for value in values]
    return [None if g is None else (adapter.dtype(g), adapter.read(g).tolist()) for g in found]


def vjp(adapter: Torch, op: str, data: Sequence, *, dtype: str = "float64", result: int = 0, **attrs: Any) -> list[Any]:
    """One result of an op whose operands are leaves, and what these hold after a call with 1, 2, 3, ... for it."""
    leaves = [leaf_of(adapter, each, dtype) for each in data]
    out = adapter.apply(op, leaves, tuple(attrs.items()))[result]
    values = adapter.read(out)
    adapter.backward([out], [np.arange(1, values.size + 1, dtype=dtype).reshape(values.shape)], None)
    return [adapter.read(out).tolist(), held_by(adapter, *leaves)]


def outcome(adapter: Torch, call: Callable[[], Any]) -> str:
    """What came of a call: that it returned, or the kind of its error."""
    try:
        call()
    except Exception as error:
        return "hook raised" if isinstance(error, HookRaised) else str(adapter.classify(error))
    return "returned"


def walked(adapter: Torch, root: Any, retain: bool | None = None, cotangent: Any = None) -> str:
    """What came of a backward call from one root."""
    given = None if cotangent is None else np.array(cotangent)
    return outcome(adapter, lambda: adapter.backward([root], [given], retain))


def hooked(adapter: Torch, value: Any, calls: list, name: Any, effect: str = "observe", factor: float = 1.0) -> Any:
    """The handle of a hook that notes what it is called with; with an effect it alters that, too."""

    def called(gradient: Any) -> Any:
        calls.append((name, adapter.read(gradient).tolist()))
        return None if effect == "observe" else adapter.hook_result(gradient, effect, factor)

    return adapter.hook(value, called)


def counting(adapter: Torch) -> Torch:
    """The adapter that counts saved tensors, where nothing is saved yet."""
    counter = adapter.saved_tensor_counter()
    counter.reset()
    return counter
