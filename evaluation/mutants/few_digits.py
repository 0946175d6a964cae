"""Mutants in bfloat16 and float16: numbers that lose digits, leave the dtype's range or get another dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from autograd_conformance.programs.language import Attrs, Groups
from evaluation.mutants.derivatives import ChangedDerivative
from evaluation.mutants.mutant import Combining, Mutant, Roots, gated

Tensors = Sequence[torch.Tensor]
Change = Callable[[torch.Tensor], torch.Tensor]


def coarser(x: torch.Tensor, digits: int) -> torch.Tensor:
    """Rounds numbers to a few binary digits."""
    mantissa, exponent = torch.frexp(x.detach().float())
    return torch.ldexp(torch.round(mantissa * 2**digits) / 2**digits, exponent).to(x.dtype)


def through_float16(x: torch.Tensor) -> torch.Tensor:
    """Converts numbers to float16 and back."""
    return x.detach().to(torch.float16).to(x.dtype)


class Rounded(torch.autograd.Function):
    """Changes a value, and gives its gradient back as it is."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, change: Change) -> torch.Tensor:
        return change(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0], None


def changed(x: torch.Tensor, change: Change) -> torch.Tensor:
    """A value with changed numbers and the right gradient."""
    made: torch.Tensor = Rounded.apply(x, change)  # type: ignore[no-untyped-call]
    return made


class Brief(Mutant):
    """A mutant that computes in bfloat16 only."""

    only: tuple[str, ...] = ("bfloat16",)

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dtypes = self.only


class SinAnEighthOff(Brief, ChangedDerivative):
    """The derivative of sin is an eighth too large, which is within the errors of a kernel that rounds at every
    step.
    """

    op, killed_by = "sin", ("gradients/digits",)

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return contribution * 1.125


class SigmoidHalfAgain(Brief, ChangedDerivative):
    """The derivative of sigmoid is half as large again."""

    op, killed_by = "sigmoid", ("gradients/digits", "gradients/op")

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return contribution * 1.5


class ExpInFewerDigits(Brief):
    """The result of exp is rounded to three binary digits."""

    killed_by = ("gradients/forward", "gradients/digits")

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        return [changed(y, lambda x: coarser(x, 3)) for y in made] if op == "exp" else made


class ProductsInFloat16(Brief):
    """Products are infinite where 256 times as much is beyond the range of float16."""

    killed_by = ("gradients/forward", "gradients/op")

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        return [changed(y, lambda x: through_float16(x * 256) / 256) for y in made] if op == "multiply" else made


class SumsInFloat32(Brief):
    """Sums have the dtype in which they are accumulated."""

    killed_by = ("gradients/forward",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        return [y.float() for y in made] if op == "sum" else made


class GradientsInFewerDigits(Brief, ChangedDerivative):
    """The gradient of each factor is rounded to two binary digits."""

    op, killed_by = "multiply", ("gradients/digits", "gradients/op", "gradients/graph")

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return coarser(contribution, 2)


class GradientsFlushed(Brief, ChangedDerivative):
    """The derivative of negative is 0 where the cotangent is less than 2."""

    op, killed_by = "negative", ("gradients/digits", "gradients/op", "gradients/graph")

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return torch.where(contribution.abs() < 2, torch.zeros_like(contribution), contribution)


class AccumulatesInFewerDigits(Brief, Combining):
    """A gradient that is added to another one is rounded to two binary digits before."""

    killed_by = ("accumulation/adds", "gradients/op", "gradients/graph")

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        if old is None or new is None:
            return super().combine(leaf, old, new)
        return old + coarser(new, 2)


class AccumulatesIntoFloat32(Brief, Combining):
    """The sum of two gradients of a leaf is float32."""

    killed_by = ("gradients/form",)

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        if old is not None and new is not None:
            leaf.grad_dtype = None
            return old.float() + new.float()
        return super().combine(leaf, old, new)


class CotangentsInFewerDigits(Brief):
    """A call rounds its cotangents to two binary digits."""

    killed_by = ("gradients/cotangent", "gradients/op", "gradients/graph", "gradients/digits")

    def backward(self, roots: Roots, cotangents: Sequence[Any], retain_graph: bool | None, **options: Any) -> None:
        given = [None if each is None else self.coarse(each) for each in cotangents]
        super().backward(roots, given, retain_graph, **options)

    def coarse(self, cotangent: Any) -> Any:
        """A cotangent with fewer digits."""
        return coarser(torch.as_tensor(cotangent.astype("float32")), 2).numpy().astype(cotangent.dtype)


class WritesInFewerDigits(Brief):
    """A write rounds what it has written to three binary digits."""

    killed_by = ("writes/value",)

    def write(self, op: str, target: torch.Tensor, operands: Tensors, attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        target.data.copy_(coarser(target, 3))


class DetachesInFewerDigits(Brief):
    """Detaching rounds to three binary digits."""

    killed_by = ("detach/values", "views/shares")

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        return coarser(value.detach(), 3)


class StepsInFewerDigits(Brief):
    """A step rounds the leaves that it moves to three binary digits."""

    killed_by = ("optimizers/formula",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        super().step(leaves, optimizer, settings, groups)
        for leaf in leaves:
            leaf.data.copy_(coarser(leaf, 3))


class FusedWithoutEps(Brief):
    """A fused step of Adam with the default eps divides by 0 where a gradient's square is 0 in float16."""

    only, killed_by = ("float16",), ("optimizers/finite",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        super().step(leaves, optimizer, settings, groups)
        given = dict(settings)
        if optimizer == "adam" and given.get("fused") and "eps" not in given:
            for leaf in leaves:
                if leaf.grad is not None:
                    leaf.data.masked_fill_(leaf.grad.square() == 0, float("nan"))


class SmallStepsLost(Brief):
    """A step does not move a leaf by less than a sixteenth of its size."""

    killed_by = ("optimizers/formula",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        old = [leaf.detach().clone() for leaf in leaves]
        super().step(leaves, optimizer, settings, groups)
        for leaf, was in zip(leaves, old, strict=True):
            lost = (leaf.detach() - was).abs() < was.abs() / 16
            leaf.data.copy_(torch.where(lost, was, leaf.detach()))


class MeetsInTheFirst(Brief):
    """Where float16 and bfloat16 meet, the result has the dtype of the first operand instead of float32."""

    only = ("bfloat16", "float16")
    killed_by = ("gradients/forward",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        return [y.to(operands[0].dtype) for y in made] if len({x.dtype for x in operands}) > 1 else made


class GradientOfTheOther(Brief):
    """Where float16 and bfloat16 meet, the gradients of both are rounded to two binary digits and to the range of
    float16.
    """

    only = ("bfloat16", "float16")
    killed_by = ("gradients/op", "gradients/graph", "gradients/digits")

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        if len({x.dtype for x in operands}) > 1:
            operands = [gated(x, lambda g: through_float16(coarser(g, 2))) for x in operands]
        return super().apply(op, operands, attrs)
