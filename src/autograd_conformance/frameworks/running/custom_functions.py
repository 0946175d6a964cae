"""Adds custom functions, whose derivatives are written by hand, to the ops of a dialect."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType

from autograd_conformance.printing.dialect import Dialect, Template

CALLS: Mapping[str, str] = {
    "multiply": "multiply({0}, {1})",
    "add": "add({0}, {1})",
    "exp": "exp({0})",
    "sin": "sin({0})",
    "tanh": "tanh({0})",
    "slogdet": "slogdet({0})",
    "mm": "product({{'a': {0}, 'b': {1}}})",
}
"""The templates of ops that functional frameworks have as custom functions. `product` takes matrices by name."""


def with_functions(dialect: Dialect, module: ModuleType, ops: Mapping[str, Template]) -> Dialect:
    """Returns the dialect with some ops as custom functions of a module, whose code is printed in every script.

    The module consists of its docstring, imports of one line each, two empty lines and the functions. `ops` has the
    templates that call them.
    """
    head, _, functions = inspect.getsource(module).partition("\n\n\n")
    there = dialect.prelude.splitlines()
    imports = [line for line in head.splitlines() if line.startswith(("import ", "from ")) and line not in there]
    prelude = "\n".join([dialect.prelude.rstrip(), *imports, "\n", functions])
    return replace(dialect, prelude=prelude, ops={**dialect.ops, **ops})
