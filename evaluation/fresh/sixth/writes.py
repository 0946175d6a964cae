"""Faults of writes in place and of views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, Straight, after, applied, held_by, leaf_of, legal, outcome, total


def _doubled(a: Any, data: Any) -> tuple[Any, Any]:
    """A leaf, and a value that is computed from it and can be written to."""
    x = leaf_of(a, data)
    return x, applied(a, "multiply_scalar", x, scalar=2.0)


class CosineOfResult(Fault):
    """The gradient of cos_ and sin_ is computed from the value after the write: OneFlow's in-place ops, #6200."""

    rule = "writes/recorded"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        if op in ("cos_", "sin_") and target._base is None and torch.is_grad_enabled():
            written = target.detach().clone()
            slope = -torch.sin(written) if op == "cos_" else torch.cos(written)
            after(target, lambda gradients, cotangents: [cotangents[0] * slope])


def witness_CosineOfResult(a: Any) -> Any:
    x, y = _doubled(a, [0.5, 1.0])
    a.write("cos_", y, [], ())
    a.backward([total(a, y)], [None], None)
    return held_by(a, x)


class WrittenRoot(Fault):
    """If the root of a backward call was written to last, the value before the write receives the root's cotangent in
    addition to its gradient: Paddle's tanh_ as the loss, #37420.
    """

    rule = "writes/recorded"

    def reset(self) -> None:
        super().reset()
        self.earlier: dict[Any, tuple[Any, int]] = {}

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        node, place = target.grad_fn, target.output_nr
        super().write(op, target, operands, attrs)
        if not operands and node is not None and target._base is None and target.grad_fn is not node:
            self.earlier[target.grad_fn] = (node, place)

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        if inputs is None and legal(roots, cotangents):
            for root, cotangent in zip(roots, cotangents, strict=True):
                if root.grad_fn in self.earlier:
                    given = torch.ones_like(root) if cotangent is None else self.tensor(cotangent)
                    edge = GradientEdge(*self.earlier[root.grad_fn])
                    torch.autograd.backward([edge], [given.detach()], retain_graph=True)
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)


def witness_WrittenRoot(a: Any) -> Any:
    x, y = _doubled(a, 0.5)
    a.write("tanh_", y, [], ())
    a.backward([y], [None], None)
    return held_by(a, x)


class OnlyFirstOperandCounts(Fault):
    """An in-place op with three operands looks only at the first two to decide whether it is recorded: Paddle's
    in-place ops did not update stop_gradient, #35451.
    """

    rule = "writes/requires-grad"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        if op in ("addcmul_", "addcdiv_", "lerp_") and not (target.requires_grad or operands[0].requires_grad):
            operands = [operands[0], operands[1].detach()]
        super().write(op, target, operands, attrs)


def witness_OnlyFirstOperandCounts(a: Any) -> Any:
    x, y, z = (leaf_of(a, [1.0, 2.0], grad=grad) for grad in (False, False, True))
    a.write("addcmul_", x, [y, z], (("value", 1),))
    return a.requires_grad(x)


class RowsKeepGradient(Fault):
    """The gradient of the target of an assignment to listed rows is not cleared at these rows if there are several:
    Theano's advanced set_subtensor, #2331.
    """

    rule = "writes/recorded"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)

        def change(gradients: list, cotangents: Sequence) -> list:
            return [None if gradients[0] is None else cotangents[0], *gradients[1:]]

        several = op == "set_rows_" and len(dict(attrs)["index"]) > 1  # type: ignore[arg-type]
        if several and target._base is None and torch.is_grad_enabled():
            after(target, change)


def witness_RowsKeepGradient(a: Any) -> Any:
    x, y = _doubled(a, MATRIX)
    a.write("set_rows_", y, [leaf_of(a, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])], (("index", (2, 0)),))
    a.backward([total(a, y)], [None], None)
    return held_by(a, x)


class _Broadcast(torch.autograd.Function):
    """Broadcasting whose gradient is that of the first repetition."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, shape: torch.Size) -> Tensor:
        ctx.shape = x.shape
        return x.expand(shape).clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        while gradient.dim() > len(ctx.shape):
            gradient = gradient[0]
        for d, size in enumerate(ctx.shape):
            gradient = gradient.narrow(d, 0, size)
        return gradient, None


class AssignedBroadcast(Fault):
    """The gradient of a value that is broadcast into the slice that it is assigned to is taken from the slice's first
    elements instead of summed: the case that Theano's IncSubtensor forgot, #1919 and #2535.
    """

    rule = "writes/recorded"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        if op == "set_slice_" and operands[0].requires_grad:
            given = dict(attrs)
            shape = target.detach()[given["start"] : given["stop"] : given["step"]].shape
            if shape.numel() > operands[0].numel() > 0 and operands[0].dim() <= len(shape):
                operands = [_Broadcast.apply(operands[0], shape)]
        super().write(op, target, operands, attrs)


def witness_AssignedBroadcast(a: Any) -> Any:
    _, y = _doubled(a, MATRIX)
    value = leaf_of(a, [1.0, 2.0, 3.0])
    a.write("set_slice_", y, [value], (("start", 0), ("stop", 3), ("step", 1)))
    a.backward([total(a, applied(a, "square", y))], [None], None)
    return held_by(a, value)


class ViewOfUnbound(Fault):
    """A write to a view of a result of unbind or split is not refused as one to the result itself is, and does not
    become part of the history: PyTorch, #36608 and #49824.
    """

    rule = "views/history"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        try:
            super().write(op, target, operands, attrs)
        except RuntimeError as error:
            several = type(target.grad_fn).__name__.startswith(("Unbind", "Split"))
            if several or "returns multiple views" not in str(error):
                raise
            with torch.no_grad():
                super().write(op, target, operands, attrs)


def witness_ViewOfUnbound(a: Any) -> Any:
    x, y = _doubled(a, MATRIX)
    row = applied(a, "unstack", y, dim=0)[0]
    part = applied(a, "narrow", row, dim=0, start=0, length=2)
    made = outcome(a, lambda: a.write("mul_scalar_", part, [], (("scalar", 3),)))
    a.backward([total(a, y)], [None], None)
    return made, held_by(a, x)


class DetachedCopies(Fault):
    """Detaching a value whose memory is not contiguous makes a contiguous copy."""

    rule = "views/shares"

    def detach(self, value: Tensor) -> Tensor:
        return value.detach().contiguous()


def witness_DetachedCopies(a: Any) -> Any:
    _, y = _doubled(a, MATRIX)
    turned = applied(a, "matrix_transpose", y)
    return a.memory(a.detach(turned)) == a.memory(turned)


class ClippedBelowByOperand(Fault):
    """If the target of clamp_min_ with a tensor is a view, the whole gradient flows to the tensor."""

    rule = "writes/recorded"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        view = op == "clamp_min_" and target._base is not None and operands[0].shape == target.shape
        if view and operands[0].requires_grad and torch.is_grad_enabled() and target.dtype == operands[0].dtype:
            values = torch.maximum(target.detach(), operands[0].detach())
            super().write("copy_", target, [Straight.apply(operands[0], values)], ())
        else:
            super().write(op, target, operands, attrs)


def witness_ClippedBelowByOperand(a: Any) -> Any:
    x, y = _doubled(a, MATRIX)
    row = applied(a, "select", y, dim=0, index=0)
    least = leaf_of(a, [0.0, 0.0, 0.0])
    a.write("clamp_min_", row, [least], ())
    a.backward([total(a, y)], [None], None)
    return held_by(a, x, least)
