"""Mutants whose fault is in the derivatives of functions of complex numbers, which are pairs of real ones."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Mutant, gated

Tensors = Sequence[torch.Tensor]


class ChangedFunction(Mutant):
    """A mutant that changes the derivative of one function of complex numbers, `op`."""

    op = ""

    def changed(self, numbers: Tensors) -> torch.Tensor:
        """Returns the value of the function, with a changed derivative."""
        raise NotImplementedError

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        if op != self.op:
            return super().apply(op, operands, attrs)
        made = self.changed([torch.complex(x[..., 0], x[..., 1]) for x in operands])
        return (torch.view_as_real(made).clone() if made.is_complex() else made,)


class ConjugateForgotten(ChangedFunction):
    """The gradient of a product is the incoming one times the other factor, and not times its conjugate."""

    op, killed_by = "complex_multiply", ("gradients/op", "gradients/graph")

    def changed(self, numbers: Tensors) -> torch.Tensor:
        z, w = torch.broadcast_tensors(*numbers)
        by_w, by_z = (w / w.conj()).detach(), (z / z.conj()).detach()
        return gated(z, lambda given: given * by_w) * gated(w, lambda given: given * by_z)


class ConjugateNotUndone(ChangedFunction):
    """The gradient of a factor that is conjugated is that of the conjugate."""

    op, killed_by = "complex_multiply_conj", ("gradients/op", "gradients/graph")

    def changed(self, numbers: Tensors) -> torch.Tensor:
        z, w = numbers
        return z * gated(w, torch.conj_physical).conj()


class ModulusHalved(ChangedFunction):
    """The derivative of the modulus is Wirtinger's, which is half of the gradient."""

    op, killed_by = "complex_abs", ("gradients/op", "gradients/graph")

    def changed(self, numbers: Tensors) -> torch.Tensor:
        return torch.abs(gated(numbers[0], lambda given: given / 2))


class ExponentialReal(ChangedFunction):
    """The derivative of exp is the real part of its result."""

    op, killed_by = "complex_exp", ("gradients/op", "gradients/graph")

    def changed(self, numbers: Tensors) -> torch.Tensor:
        made = torch.exp(numbers[0]).detach()
        return torch.exp(gated(numbers[0], lambda given: given * made.real / made.conj()))


class AdjointTransposed(ChangedFunction):
    """The gradient of a matrix whose adjoint is a factor is that of a matrix whose transpose is one."""

    op, killed_by = "complex_matmul_adjoint", ("gradients/op", "gradients/graph")

    def changed(self, numbers: Tensors) -> torch.Tensor:
        z, w = numbers
        return z @ gated(w, torch.conj_physical).mH
