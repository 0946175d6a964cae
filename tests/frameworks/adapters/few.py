"""PyTorch with few ops, right and wrong: a whole run against it, audit included, takes seconds."""

from __future__ import annotations

from typing import Any

from autograd_conformance.frameworks.pytorch.adapter import Torch
from evaluation.mutants.accumulation import Overwrites
from evaluation.mutants.gradient_objects import AddsToCopies, ColumnMajor, CreatesInPlace
from evaluation.mutants.mutant import Cotangents, Roots

OPS = ("add", "expand_dims", "multiply", "sin", "sum")


class Few(Torch):
    """PyTorch with these ops alone."""

    ops = OPS


class FewOverwritten(Overwrites):
    """The same with a fault: a backward call replaces the gradient that a leaf holds."""

    ops = OPS


class FewCopied(AddsToCopies):
    """The same with one that breaks no more than a SHOULD: a leaf's gradient is another object after each call."""

    ops = OPS


class FewCopiedOverwritten(Overwrites):
    """The same with a fault that shows behind it alone: what is broken at the second call hides it."""

    ops = OPS

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        for leaf in self.leaves:
            if leaf.grad is not None and not options.get("create_graph"):
                leaf.grad = leaf.grad.clone()
        super().backward(roots, cotangents, retain_graph, **options)


class FewCreatedInPlace(CreatesInPlace):
    """One that breaks no more than a SHOULD where second derivatives are computed."""

    ops = OPS


class FewColumnMajor(ColumnMajor):
    """One that breaks no more than a SHOULD in every first call."""

    ops = OPS
