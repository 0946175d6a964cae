"""PyTorch with few ops, with and without faults. A whole run, with the audit, takes seconds."""

from __future__ import annotations

from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from evaluation.mutants.accumulation import Overwrites, ReadGrad
from evaluation.mutants.gradient_objects import AddsToCopies, ColumnMajor, CreatesInPlace
from evaluation.mutants.mutant import Cotangents, Roots

OPS = ("add", "expand_dims", "multiply", "sin", "sum")


class Few(Torch):
    """PyTorch with a few ops."""

    ops = OPS


class FewOverwritten(Overwrites):
    """The same with a fault: a backward call replaces the gradient that a leaf stores."""

    ops = OPS


class FewOverwrittenVectors(Overwrites):
    """The same fault in leaves of several elements alone, so that accumulation as a whole works."""

    ops = OPS

    def combine(self, leaf: torch.Tensor, old: ReadGrad, new: ReadGrad) -> ReadGrad:
        if old is None or new is None or leaf.numel() > 1:
            return super().combine(leaf, old, new)
        return old + new


class FewCopied(AddsToCopies):
    """The same with a fault that violates only a SHOULD: a leaf's gradient is a new object after each call."""

    ops = OPS


class FewCopiedOverwritten(Overwrites):
    """The same with a second fault, which the violation of the SHOULD at the second call hides."""

    ops = OPS

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        for leaf in self.leaves:
            if leaf.grad is not None and not options.get("create_graph"):
                leaf.grad = leaf.grad.clone()
        super().backward(roots, cotangents, retain_graph, **options)


class FewCreatedInPlace(CreatesInPlace):
    """A fault that violates only a SHOULD, in programs with second derivatives."""

    ops = OPS


class FewColumnMajor(ColumnMajor):
    """A fault that violates only a SHOULD, in every first call."""

    ops = OPS
