"""The base of every fresh fault: PyTorch as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from autograd_conformance.frameworks.pytorch.adapter import Torch


class Fault(Torch):
    """PyTorch with one fault, which its subclass's docstring tells."""

    packages: ClassVar[Sequence[str]] = ("torch", "evaluation", "tests")
    """The framework with its fault: part of it stands in the fault's own methods."""
    rule: ClassVar[str]
    """The rule that the fault breaks first of all, in its author's words."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = f"fresh/{cls.__name__}"
