"""PyTorch with few ops, right and wrong: a whole run against it, audit included, takes seconds."""

from __future__ import annotations

from autograd_conformance.frameworks.pytorch.adapter import Torch
from tests.mutants.accumulation import Overwrites

OPS = ("add", "expand_dims", "multiply", "sin", "sum")


class Few(Torch):
    """PyTorch with these ops alone."""

    ops = OPS


class FewOverwritten(Overwrites):
    """The same with a fault: a backward call replaces the gradient that a leaf holds."""

    ops = OPS
