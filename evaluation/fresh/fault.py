"""The base class of fresh faults: PyTorch unchanged."""

from __future__ import annotations

from typing import ClassVar

from autograd_conformance.frameworks.pytorch.adapter import Torch


class Fault(Torch):
    """PyTorch with one fault, which the subclass's docstring states."""

    packages = ("torch", "evaluation", "tests")
    """Packages of the framework under test: the fault is in the subclass's own methods."""
    rule: ClassVar[str]
    """The rule that the fault violates in the first place, according to its author."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = f"fresh/{cls.__name__}"
