"""Digests of the code that defines an op, which show whether a function that was traced before is still the op's.

A digest covers the modules that contain the op's reference function and the functions that it calls, the constants
that these use, and the modules that trace and translate them. Comments, docstrings and layout do not count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import lru_cache, partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.rows.row import Op
from autograd_conformance.package.places import PACKAGE
from autograd_conformance.programs.own_numpy import np

TRACING = ("derivatives", "numpy_source", "primitives")
"""The modules, beside this one, on which the code of every traced function depends."""


class UnknownValue(Exception):
    """A reference function uses an object of a type of which no digest is made."""


@lru_cache(maxsize=None)
def definition_digest(op: str) -> str | None:
    """Returns a digest of the code that defines an op of the tables or an in-place op; None if no digest is made of an
    object that its reference function uses.
    """
    parts = _Parts()
    try:
        parts.visit(row_of(op).reference)
    except UnknownValue:
        return None
    texts = [_normalised(Path(__file__).with_name(f"{name}.py")) for name in TRACING]
    texts += [_normalised(_path(module)) for module in sorted(parts.modules)]
    return hashlib.sha256("\n".join([*texts, *parts.constants]).encode()).hexdigest()[:16]


def _path(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@lru_cache(maxsize=None)
def _normalised(path: Path) -> str:
    """Returns the code of a file without comments, docstrings and layout."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            node.body = [each for each in node.body if not _is_docstring(each)] or [ast.Pass()]
    return ast.unparse(tree)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


class _Parts:
    """The modules of the suite that contain the code of some functions, and the constants that the functions use, in
    the order in which they are found.
    """

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.constants: list[str] = []
        self._seen: set[int] = set()

    def visit(self, value: Any) -> None:
        """Adds the parts of a value: of a function and all that it uses, or of a constant. Raises `UnknownValue`."""
        match value:
            case FunctionType() | type():
                self._defined(value)
            case partial():
                self._each((value.func, value.args, value.keywords))
            case Op():
                self.visit(value.reference)
            case None | bool() | int() | float() | str() | Enum():
                self.constants.append(repr(value))
            case tuple() | list():
                self._each(value)
            case Mapping():
                self._each(value.items())
            case set() | frozenset():
                self._each(sorted(value, key=repr))
            case np.ndarray() | np.generic():
                self.constants.append(f"{value.dtype.str} {value.shape} {value.tolist()!r}")
            case BuiltinFunctionType() | np.ufunc() | ModuleType() if not value.__name__.startswith(PACKAGE.name):
                self.constants.append(value.__name__)
            case _:
                raise UnknownValue(repr(value))

    def _each(self, values: Iterable[Any]) -> None:
        for value in values:
            self.visit(value)

    def _defined(self, value: FunctionType | type) -> None:
        self.constants.append(f"{value.__module__}.{value.__qualname__}")
        if id(value) in self._seen or not value.__module__.startswith(f"{PACKAGE.name}."):
            return
        self._seen.add(id(value))
        self.modules.add(value.__module__)
        if isinstance(value, FunctionType):
            self._each(cell.cell_contents for cell in value.__closure__ or ())
            self._each((value.__defaults__, value.__kwdefaults__))
            names = sorted({*_names(value.__code__)})
            self._each(value.__globals__[name] for name in names if name in value.__globals__)


def _names(code: CodeType) -> Iterator[str]:
    """Yields the names of globals and attributes that a function's code uses, and that of the functions in it."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
