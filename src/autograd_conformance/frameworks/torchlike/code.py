"""Python functions from the templates of the op tables, with a framework's module in the place of `torch`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import copy
from functools import lru_cache
from types import ModuleType
from typing import Any

from autograd_conformance.ops.catalogue import APPLIED, WRITES, row_of
from autograd_conformance.printing.dialect import fill
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.own_numpy import np

FUNCTION = re.compile(r"(?P<module>torch|F)\.(?P<name>\w+)\(\{0\}(, (?P<rest>[^()]*))?\)")
"""Pattern of a template that calls a function of a module with the first operand."""

KEPT = 4096
"""Maximum number of generated Python functions that each of two caches keeps, for ops and for in-place ops: one
function for each op, its attributes and its number of operands.
"""

EMPTY: Mapping[str, Any] = {}


class Code:
    """The functions of one framework. Each is compiled once."""

    def __init__(self, module: ModuleType, functional: ModuleType | None) -> None:
        self.functional = functional
        """The module with the functions of `torch.nn.functional`; None if the framework has none."""
        missing = ModuleType(f"{module.__name__}.nn.functional")  # the error about a function names it
        self._names: dict[str, Any] = {"torch": module, "F": functional or missing, "numpy": np}
        self.templates: Mapping[str, str] = {}
        """Templates of the ops that a framework calls otherwise than PyTorch, by the op's name."""
        self.writes: Mapping[str, str] = {}
        """Templates of the in-place ops that a framework calls otherwise than PyTorch, by their names."""
        self.op = lru_cache(maxsize=KEPT)(self._op)
        """Returns the function of an op, from the op's name, its attributes and its number of operands."""
        self.write = lru_cache(maxsize=KEPT)(self._write)
        """Returns the function of an in-place op, from the op's name, its attributes and its number of operands."""

    def with_templates(
        self, templates: Mapping[str, str], writes: Mapping[str, str] = EMPTY, names: Mapping[str, object] = EMPTY
    ) -> Code:
        """Returns the functions of the same framework, with further templates of ops and of in-place ops, and with the
        values of further names in them.
        """
        made = copy(self)
        made._names = {**self._names, **names}
        made.templates, made.writes = {**self.templates, **templates}, {**self.writes, **writes}
        made.op = lru_cache(maxsize=KEPT)(made._op)
        made.write = lru_cache(maxsize=KEPT)(made._write)
        return made

    def _op(self, op: str, attrs: Attrs, operands: int) -> Callable[..., Any]:
        given, template = _operands(operands), self.templates.get(op, row_of(op).template)
        return eval(f"lambda {', '.join(given)}: {fill(template, given, attrs)}", self._names)

    def _write(self, op: str, attrs: Attrs, operands: int) -> Callable[..., None]:
        given, template = _operands(operands), self.writes.get(op, WRITES[op].template)
        made: dict[str, Any] = {}
        exec(f"def write({', '.join(given)}):\n    {fill(template, given, attrs)}", self._names, made)
        return made["write"]


def other_places(
    module: ModuleType, functional: ModuleType | None, tensor: object, parts: Mapping[str, ModuleType] = EMPTY
) -> dict[str, str]:
    """Returns templates for the ops whose function the modules lack: a method of the first operand, or a function of
    one of the `parts`, submodules of the first module by their names, as far as these have something of that name.
    """
    found: dict[str, str] = {}
    for op in APPLIED:
        call = FUNCTION.fullmatch(template) if isinstance(template := row_of(op).template, str) else None
        if call is None or hasattr(module if call["module"] == "torch" else functional, call["name"]):
            continue
        part = next((part for part, there in parts.items() if hasattr(there, call["name"])), None)
        if hasattr(tensor, call["name"]):
            found[op] = f"{{0}}.{call['name']}({call['rest'] or ''})"
        elif part is not None:
            found[op] = call.string.replace(f"{call['module']}.", f"torch.{part}.", 1)
    return found


def _operands(count: int) -> list[str]:
    return [f"x{k}" for k in range(count)]
