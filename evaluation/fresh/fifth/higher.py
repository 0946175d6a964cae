"""Faults that show only if a gradient is differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, held_by, leaf_of, reached, total


def _second(a: Any, x: Any, out: Any) -> Any:
    """The gradient of the sum of the squares of a gradient, with respect to a leaf."""
    (g,) = a.grad([total(a, out)], [x], [None], None, True, None, False)
    a.backward([total(a, applied(a, "square", g))], [None], None)
    return held_by(a, x)


class EluTakesResult(Fault):
    """The second derivative of an ELU in place takes the saved result for the operand: PyTorch before it was fixed."""

    rule = "higher/differentiable"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        recorded = op == "elu_" and torch.is_grad_enabled() and target.requires_grad
        if not recorded or target.is_leaf or target._is_view():
            super().write(op, target, operands, attrs)
            return
        given: dict[str, Any] = dict(attrs)
        alpha, former = given["alpha"], target * 1
        super().write(op, target, operands, attrs)
        result = target.detach().clone()

        def change(gradients: list, cotangents: Sequence) -> list | None:
            if not torch.is_grad_enabled():
                return None
            slope = (result + alpha) + alpha * result.exp() * (former - former.detach())
            return [cotangents[0] * torch.where(result > 0, torch.ones_like(result), slope), *gradients[1:]]

        after(target, change)


def witness_EluTakesResult(a: Any) -> Any:
    x = leaf_of(a, [-1.0, -2.0, 1.0])
    y = applied(a, "multiply_scalar", x, scalar=2.0)
    a.write("elu_", y, [], (("alpha", 1.0),))
    return _second(a, x, y)


class ConvolutionRemainder(Fault):
    """The second derivative of a convolution whose stride leaves a remainder fails: PyTorch before it narrowed the
    gradient of the weights.
    """

    rule = "higher/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op in ("conv1d", "conv1d_bias", "conv2d", "conv2d_bias"):
            x, weight = operands[:2]
            given: dict[str, Any] = dict(attrs)
            reach = given["dilation"] * (weight.shape[-1] - 1) + 1
            if (x.shape[-1] + 2 * given["padding"] - reach) % given["stride"]:
                after(made[0], self._fails)
        return made

    @staticmethod
    def _fails(gradients: list, cotangents: Sequence) -> None:
        def refuse(gradient: Tensor) -> None:
            raise RuntimeError("The size of tensor a must match the size of tensor b at non-singleton dimension 2")

        if torch.is_grad_enabled() and gradients[0] is not None and gradients[0].requires_grad:
            gradients[0].register_hook(refuse)


def witness_ConvolutionRemainder(a: Any) -> Any:
    x, weight = leaf_of(a, [[[1.0, 2.0, 3.0, 4.0]]]), leaf_of(a, [[[1.0]]])
    given = {"stride": 2, "padding": 0, "dilation": 1, "groups": 1}
    out = applied(a, "square", applied(a, "conv1d", x, weight, **given))
    try:
        return _second(a, x, out)
    except RuntimeError as error:
        return str(error)


class EvaluationTwice(Fault):
    """The second derivative of a batch normalisation with running statistics is that of batch statistics: PyTorch's
    first batchnorm_double_backward.
    """

    rule = "higher/differentiable"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        x = operands[0]
        if op in ("batch_norm_running", "batch_norm_running_affine") and x.numel() > x.shape[1] and x.requires_grad:
            given: dict[str, Any] = dict(attrs)
            eps, weight = given["eps"], operands[1] if len(operands) > 1 else None

            def change(gradients: list, cotangents: Sequence) -> list | None:
                if not torch.is_grad_enabled() or gradients[0] is None:
                    return None
                out = F.batch_norm(x, None, None, weight, training=True, eps=eps)
                (batch,) = torch.autograd.grad(out, x, cotangents[0], create_graph=True)
                return [gradients[0].detach() + (batch - batch.detach()), *gradients[1:]]

            after(made[0], change)
        return made


def witness_EvaluationTwice(a: Any) -> Any:
    x = leaf_of(a, [[1.0, 2.0], [3.0, 5.0]])
    given = {"mean": (-0.25, 0.25), "var": (1.0, 1.5), "eps": 0.125}
    return _second(a, x, applied(a, "square", applied(a, "batch_norm_running", x, **given)))


class _Entropy(torch.autograd.Function):
    """A loss whose gradient was computed with it, and is a constant."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, loss: Tensor, gradient: Tensor) -> Tensor:
        ctx.save_for_backward(gradient)
        return loss.clone()

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return cotangent * gradient, None, None


class EntropyOnce(Fault):
    """A fused cross entropy saves its gradient with the loss, so that its second derivative is silently zero: early
    TensorFlow's softmax_cross_entropy_with_logits.
    """

    rule = "higher/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "cross_entropy" and made[0].requires_grad and made[0].dim() == 0:
            x = operands[0].detach().requires_grad_()
            (loss,) = super().apply(op, [x], attrs)
            return (_Entropy.apply(operands[0], loss.detach(), torch.autograd.grad(loss, x)[0]),)
        return made


def witness_EntropyOnce(a: Any) -> Any:
    x = leaf_of(a, [[1.0, 2.0], [3.0, 5.0]])
    y = applied(a, "square", x)
    return _second(a, x, applied(a, "cross_entropy", y, target=(0, 1), reduction="sum", label_smoothing=0.0))


class AddsData(Fault):
    """A call with create_graph adds to the gradient that a leaf holds already without recording the addition."""

    rule = "higher/differentiable"

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        held = [x for x in reached(roots, inputs) if create_graph and x.grad is not None]
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        for x in held:
            if x.grad is not None:
                x.grad = x.grad.detach()


def witness_AddsData(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    for _ in range(2):
        a.backward([total(a, applied(a, "square", x))], [None], None, create_graph=True)
    return a.requires_grad(a.gradient(x))
