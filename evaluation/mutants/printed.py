"""Mutants whose fault is source code: they run it, and the scripts that reproduce their failures contain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Attrs, Program
from autograd_conformance.programs.observations import Observation
from autograd_conformance.rules.violations.violation import Violation

WALK = """
def leaves(root):
    found, todo = set(), [root.grad_fn]
    while todo:
        node = todo.pop()
        if hasattr(node, "variable"):
            found.add(node.variable)
        todo += [n for n, _ in node.next_functions if n is not None]
    return found
"""
KEEPS = """
def backward(root, cotangent=None, retain_graph=None):
    root.backward(cotangent, retain_graph=True)
"""
"""Never frees a graph."""
OVERWRITES = f"""{WALK}
def backward(root, cotangent=None, retain_graph=None):
    for leaf in leaves(root):
        leaf.grad = None
    root.backward(cotangent, retain_graph=retain_graph)
"""
"""Replaces a leaf's `.grad` instead of adding to it."""
TEARS = f"""{WALK}
def backward(root, cotangent=None, retain_graph=None):
    try:
        root.backward(cotangent, retain_graph=retain_graph)
    except RuntimeError:
        for leaf in leaves(root):
            leaf.grad = torch.full_like(leaf, 0.5)
        raise
"""
"""Leaves wrong gradients after an error."""
HALVES = """
def backward(root, cotangent=None, retain_graph=None):
    root.backward(torch.ones_like(root) * 0.5 if cotangent is None else cotangent, retain_graph=retain_graph)
"""
"""Halves the implicit cotangent."""
FREES = """
def backward(root, cotangent=None, retain_graph=None):
    root.backward(cotangent)
"""
"""Ignores retain_graph."""
IGNORES = "def backward(root, cotangent=None, retain_graph=None):\n    root.backward(torch.ones_like(root))"
"""Ignores the cotangent."""
NARROW = f"""{WALK}
def backward(root, cotangent=None, retain_graph=None):
    root.backward(cotangent)
    for leaf in leaves(root):
        leaf.grad *= 1.001 if leaf.dtype == torch.float32 else 1.0
"""
"""Computes float32 gradients that are off by one part in a thousand."""
HOLES = f"""{WALK}
def backward(root, cotangent=None, retain_graph=None):
    root.backward(cotangent)
    for leaf in leaves(root):
        leaf.grad[leaf == 0] = 7.0
"""
"""Sets gradients to 7 where a leaf is zero."""


class Printed(Torch):
    """PyTorch with another `backward`, given as source code."""

    def __init__(self, source: str) -> None:
        super().__init__()
        scope: dict[str, Any] = {"torch": torch}
        exec(source, scope)
        self.fault = scope["backward"]
        prelude = f"{self.dialect.prelude}\n{source}"
        self.dialect = replace(self.dialect, prelude=prelude, backward="backward({root}, {arguments})")

    def backward(
        self, roots: Sequence[torch.Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        (root,), (given,) = roots, cotangents
        self.fault(root, None if given is None else torch.tensor(given), retain_graph=retain_graph)


class Stopped(Torch):
    """Computes exp with a derivative of zero, and prints the same code."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dialect = replace(self.dialect, ops={**self.dialect.ops, "exp": "torch.exp({0}.detach()) + 0 * {0}"})

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        if op == "exp":
            return (torch.exp(operands[0].detach()) + 0 * operands[0],)
        return super().apply(op, operands, attrs)


class Bent(Torch):
    """Computes exp(1.01 x) for exp(x), and prints the same code."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dialect = replace(self.dialect, ops={**self.dialect.ops, "exp": "torch.exp(1.01 * {0})"})

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        return super().apply(op, [1.01 * x for x in operands] if op == "exp" else operands, attrs)


class Attached(Torch):
    """Returns a value with history from detach, and never reports requires_grad."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dialect = replace(self.dialect, detach="{source}.view_as({source})")

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        return value.view_as(value)

    def requires_grad(self, value: torch.Tensor) -> None:
        return None


def violation_of(text: str, framework: Adapter) -> tuple[Program, Observation, Violation]:
    """A program that a framework fails, with the observation and the violation."""
    program, target = parse(text, VOCABULARY), InProcess(framework)
    observation = target.observe(program)
    violation = first_violation(program, observation, target)
    assert violation is not None
    return program, observation, violation
