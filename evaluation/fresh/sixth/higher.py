"""Faults of gradients of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, after, applied, leaf_of, outcome, total


def _second(a: Any, leaves: list, out: Any, cotangent: Any = None) -> Any:
    """The second derivatives of a value: gradients of the sum of the squares of its gradients."""
    firsts = a.grad([out], leaves, [cotangent], None, True, None, False)
    squares = [total(a, applied(a, "square", first)) for first in firsts]
    root = squares[0] if len(squares) == 1 else applied(a, "add", *squares)
    seconds: list = []

    def call() -> None:
        seconds.extend(a.grad([root], leaves, [None], None, False, True, True))

    return outcome(a, call), [a.read(each).tolist() for each in seconds]


class ProductTwiceAtZero(Fault):
    """The gradient of a product of elements one of which is zero is computed by another branch, which cannot be
    differentiated with respect to the elements: TensorFlow's reduce_prod, #61117.
    """

    rule = "higher/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "prod" and bool((operands[0] == 0).any()):
            x = operands[0].detach().clone()

            def change(gradients: list, cotangents: Sequence) -> list:
                flat = x.reshape(-1)
                others = [torch.cat([flat[:k], flat[k + 1 :]]).prod() for k in range(len(flat))]
                return [cotangents[0] * torch.stack(others).reshape(x.shape)]

            after(made[0], change)
        return made


def witness_ProductTwiceAtZero(a: Any) -> Any:
    x = leaf_of(a, [2.0, 0.0, 3.0])
    return _second(a, [x], applied(a, "prod", x))


class SortedTwiceRaises(Fault):
    """Differentiating the gradient of sort, topk, cummax or cummin raises an error about indices, which these gradients
    compute again from the operand: MLX, #4114.
    """

    rule = "higher/differentiable"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)

        def fail(gradient: Tensor) -> None:
            raise ValueError("[scatter_axis] Cannot calculate VJP with respect to indices.")

        def change(gradients: list, cotangents: Sequence) -> None:
            for gradient in gradients:
                if gradient is not None and gradient.requires_grad:
                    gradient.register_hook(fail)

        if op in ("sort", "topk", "cummax", "cummin"):
            after(made[0], change)
        return made


def witness_SortedTwiceRaises(a: Any) -> Any:
    x = leaf_of(a, [2.0, 0.5, 3.0])
    made = applied(a, "sort", applied(a, "exp", x), dim=0, descending=False)
    return _second(a, [x], total(a, applied(a, "square", made)))


class _First(torch.autograd.Function):
    """A gradient whose own derivative with respect to the cotangent selects index 0."""

    @staticmethod
    def forward(ctx: Any, cotangent: Tensor, values: Tensor, dim: int, keepdim: bool) -> Tensor:
        ctx.dim, ctx.keepdim = dim, keepdim
        return values.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        first = gradient.narrow(ctx.dim, 0, 1)
        return first if ctx.keepdim else first.squeeze(ctx.dim), None, None, None


class SelectionTwice(Fault):
    """The second derivative of kthvalue and of the median along a dimension selects the first element instead of the
    one that the op selected: PyTorch's selection functions, #1712.
    """

    rule = "higher/differentiable"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op in ("kthvalue", "median_dim"):
            dim, keepdim = dict(attrs)["dim"], dict(attrs)["keepdim"]

            def change(gradients: list, cotangents: Sequence) -> list | None:
                if not torch.is_grad_enabled() or gradients[0] is None:
                    return None
                return [_First.apply(cotangents[0], gradients[0].detach(), dim, keepdim)]

            after(made[0], change)
        return made


def witness_SelectionTwice(a: Any) -> Any:
    x = leaf_of(a, [0.5, 2.0, 3.0])
    made = applied(a, "median_dim", applied(a, "exp", x), dim=0, keepdim=False)
    return _second(a, [x], total(a, applied(a, "square", made)))


class _Product(torch.autograd.Function):
    """The gradient of a batched product with respect to its first operand, with a wrong derivative."""

    @staticmethod
    def forward(ctx: Any, cotangent: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(cotangent, b)
        return cotangent @ b.mT

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        cotangent, b = ctx.saved_tensors
        return gradient @ b, cotangent.mT @ gradient


class BatchedProductTwice(Fault):
    """The second derivative of bmm of square matrices transposes the wrong factor: Chainer's BatchMatMulGrad.backward,
    #4349.
    """

    rule = "higher/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "bmm" and len({*operands[0].shape[1:], *operands[1].shape[1:]}) == 1:
            b = operands[1]

            def change(gradients: list, cotangents: Sequence) -> list | None:
                if not torch.is_grad_enabled() or gradients[0] is None:
                    return None
                return [_Product.apply(cotangents[0], b), gradients[1]]

            after(made[0], change)
        return made


def witness_BatchedProductTwice(a: Any) -> Any:
    x, y = leaf_of(a, [MATRIX]), leaf_of(a, [MATRIX])
    return _second(a, [x, y], total(a, applied(a, "square", applied(a, "bmm", x, y))))


class OldStyleFunction(Fault):
    """The derivatives of asinh and atanh are computed without a graph, so that a gradient with create_graph depends on
    the cotangent alone: Chainer's old-style functions, #4114.
    """

    rule = "higher/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op in ("asinh", "atanh"):
            x = operands[0].detach().clone()
            slope = 1 / torch.sqrt(1 + x * x) if op == "asinh" else 1 / (1 - x * x)
            after(made[0], lambda gradients, cotangents: [cotangents[0] * slope])
        return made


def witness_OldStyleFunction(a: Any) -> Any:
    x = leaf_of(a, [0.5, 2.0])
    return _second(a, [x], total(a, applied(a, "asinh", x)))


class NormEvaluatedTwice(Fault):
    """The second derivative of a batch norm with running statistics leaves out the weight: PyTorch's BatchNorm with
    training=False, #2278.
    """

    rule = "higher/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "batch_norm_running_affine":
            x, weight, _ = operands
            given = dict(attrs)
            scale = weight.detach() / torch.sqrt(torch.tensor(given["var"], dtype=x.dtype) + given["eps"])
            scale = scale.reshape(1, -1, *(1,) * (x.dim() - 2))

            def change(gradients: list, cotangents: Sequence) -> list | None:
                if not torch.is_grad_enabled() or gradients[0] is None:
                    return None
                return [cotangents[0] * scale, *gradients[1:]]

            after(made[0], change)
        return made


def witness_NormEvaluatedTwice(a: Any) -> Any:
    x, w, b = leaf_of(a, MATRIX), leaf_of(a, [1.0, 2.0, 0.5]), leaf_of(a, [0.0, 1.0, 2.0])
    made = applied(a, "batch_norm_running_affine", x, w, b, mean=(0.0, 0.0, 1.0), var=(1.0, 2.0, 0.5), eps=0.125)
    (first,) = a.grad([total(a, applied(a, "square", made))], [x], [None], None, True, None, False)
    (second,) = a.grad([total(a, first)], [w], [None], None, False, True, True)
    return a.read(second).tolist()
