"""The tiny autograd with faulty adapters, which a run refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from examples.tiny_adapter import OPS, Tiny


class BrokenCode(Tiny):
    """The code of an op is no Python, that of another one lacks an operand, and a template is missing."""

    dialect = replace(
        Tiny.dialect, ops={**OPS, "sin": "tiny.sin({0}", "exp": "tiny.exp({1})"}, retain="", detach="{source}.detach("
    )


class BrokenMethods(Tiny):
    """Two methods return what they must not."""

    def detach(self, value: Any) -> Any:
        raise NotImplementedError("to be written")

    def zero_grad(self, leaves: Any, set_to_none: bool) -> Any:
        raise NotImplementedError("to be written, too")
