"""The adapter of functional frameworks with NumPy's interface: `numpy-like:MODULE`, or a class that inherits
`NumpyLike`.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from autograd_conformance.frameworks.numpylike.interface import NumpyInterface
from autograd_conformance.frameworks.numpylike.ops import FURTHER, TABLE
from autograd_conformance.frameworks.numpylike.search import find_way, search
from autograd_conformance.frameworks.torchlike.adapter import version
from autograd_conformance.frameworks.torchlike.findings import Findings, needs_adapter, read
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import USUAL


class NumpyLike(NumpyInterface):
    """A functional framework with NumPy's interface.

    What the framework has is found by trying, when the adapter is made. A subclass may name the module, and define
    again what the framework does otherwise.
    """

    module: ClassVar[str] = ""
    """The name of the framework's module, for a subclass."""
    path: ClassVar[str] = ""
    """The file of findings that a subclass uses; empty: they are found by trying."""
    like: ClassVar[str] = "numpy-like"
    """The word before the module's name in the name of the framework."""

    def __init__(self, module: str = "", path: str = "", device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("a NumPy-like framework is tested on the CPU only")
        super().__init__(module or self.module)
        self.version = version(self.ad, self.name)
        self.dtypes, self.capabilities, self.ops = USUAL, frozenset(), frozenset({**TABLE, **FURTHER})
        find_way(self)
        self.findings = read(Path(path or self.path)) if path or self.path else search(self)
        self._claim(self.findings)

    def _claim(self, found: Findings) -> None:
        """Claim everything that the findings do not call missing. Raises `ValueError` if that leaves no dtype, or no
        way to differentiate.
        """
        self.dtypes = tuple(each for each in USUAL if each not in found.dtypes)
        if not self.dtypes or Capability.FUNCTIONAL.name in found.capabilities:
            why = "; ".join(found.dtypes.values()) or found.capabilities[Capability.FUNCTIONAL.name]
            raise ValueError(
                f"{self.name} does not differentiate functions of NumPy arrays ({why}); {needs_adapter(self.name)}"
            )
        self.capabilities = frozenset(each for each in Capability if each.name not in found.capabilities)
        self.ops = frozenset({**TABLE, **FURTHER}).difference(found.ops)
