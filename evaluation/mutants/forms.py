"""Mutants whose fault is in the dtype or the strides of results and gradients."""

from __future__ import annotations

from typing import Any

import torch

from autograd_conformance.frameworks.adapter import HookFunction
from autograd_conformance.programs.language import Attrs
from evaluation.mutants.functional import Functional, Grads
from evaluation.mutants.mutant import Cotangents, Mutant, Roots


class WidensProducts(Mutant):
    """The product of two values that require grad is float64, whatever their dtypes."""

    killed_by = ("gradients/forward", "gradients/graph")

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        made = super().apply(op, operands, attrs)
        return [y.double() for y in made] if op == "multiply" and all(x.requires_grad for x in operands) else made


class WidensWritten(Mutant):
    """A tensor that requires no grad becomes float64 when it is multiplied by a number in place."""

    killed_by = ("writes/value",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        if op == "mul_scalar_" and not target.requires_grad:
            target.data = target.data.double()


class FunctionalWidens(Functional):
    """The functional form returns float64 gradients, whatever the dtypes of its inputs."""

    killed_by = ("gradients/form", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        return [None if g is None else g.double() for g in found]


class MaterializedWidens(Functional):
    """Materialised gradients of unused inputs are float64."""

    killed_by = ("gradients/form", "functional/materialized")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        unused = options["materialize_grads"]
        made = (g.double() if unused and g is not None and g.grad_fn is None and not g.any() else g for g in found)
        return list(made)


class RetainedWidens(Mutant):
    """The retained gradient of a non-leaf value is float64."""

    killed_by = ("gradients/form", "hooks/retained")

    def gradient(self, leaf: torch.Tensor) -> torch.Tensor | None:
        held = super().gradient(leaf)
        return held.double() if held is not None and leaf.grad_fn is not None else held


class HooksWiden(Mutant):
    """A hook is called with a float64 gradient."""

    killed_by = ("hooks/called",)

    def hook(self, value: torch.Tensor, function: HookFunction) -> Any:
        def called(gradient: torch.Tensor) -> torch.Tensor | None:
            made = function(gradient.double())
            return None if made is None else made.to(gradient.dtype)

        return super().hook(value, called)


class CreatesColumnMajor(Mutant):
    """The first gradient of a matrix is column-major if the call has create_graph."""

    killed_by = ("accumulation/layout", "accumulation/replaces")

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        first = [leaf for leaf in self.leaves if leaf.grad is None and leaf.dim() == 2]
        super().backward(roots, cotangents, retain_graph, **options)
        for leaf in first:
            if leaf.grad is not None and options.get("create_graph"):
                leaf.grad.data = leaf.grad.data.mT.contiguous().mT


class TurnsWhatItAddsTo(Mutant):
    """A backward call that adds to a matrix's gradient in place makes it column-major."""

    killed_by = ("accumulation/layout",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        held = [leaf.grad for leaf in self.leaves]
        super().backward(roots, cotangents, retain_graph, **options)
        for leaf, old in zip(self.leaves, held, strict=True):
            if old is not None and leaf.grad is old and old.dim() == 2 and old.is_contiguous():
                sums = old.data.clone()
                old.data = old.data.view(*old.shape[::-1]).mT
                old.data.copy_(sums)
