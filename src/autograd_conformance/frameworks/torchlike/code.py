"""Python functions from the templates of the op tables, with a framework's module in the place of `torch`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

from autograd_conformance.ops.catalogue import WRITES, row_of
from autograd_conformance.printing.dialect import fill
from autograd_conformance.programs.language import Attrs

KEPT = 4096
"""Maximum number of generated Python functions that each of two caches keeps, for ops and for in-place ops: one
function for each op, its attributes and its number of operands.
"""


class Code:
    """The functions of one framework. Each is compiled once."""

    def __init__(self, module: ModuleType, functional: ModuleType | None) -> None:
        self.functional = functional
        """The module with the functions of `torch.nn.functional`; None if the framework has none."""
        self._names = {"torch": module, "F": functional}
        self.op = lru_cache(maxsize=KEPT)(self._op)
        """Returns the function of an op, from the op's name, its attributes and its number of operands."""
        self.write = lru_cache(maxsize=KEPT)(self._write)
        """Returns the function of an in-place op, from the op's name, its attributes and its number of operands."""

    def _op(self, op: str, attrs: Attrs, operands: int) -> Callable[..., Any]:
        given = _operands(operands)
        return eval(f"lambda {', '.join(given)}: {fill(row_of(op).template, given, attrs)}", self._names)

    def _write(self, op: str, attrs: Attrs, operands: int) -> Callable[..., None]:
        given = _operands(operands)
        made: dict[str, Any] = {}
        exec(f"def write({', '.join(given)}):\n    {fill(WRITES[op].template, given, attrs)}", self._names, made)
        return made["write"]


def _operands(count: int) -> list[str]:
    return [f"x{k}" for k in range(count)]
