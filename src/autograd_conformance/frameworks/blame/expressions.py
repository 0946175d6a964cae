"""Finds out whether a failing expression involves the framework's values, plain Python values, or unknown ones.

Nothing is evaluated again. Names are read from the frame; attributes and items are read only if that runs no code.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
from collections.abc import Iterable
from enum import Enum, auto
from itertools import islice
from types import FrameType, FunctionType, MethodType, ModuleType, TracebackType
from typing import Any

from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.blame.ownership import Ownership, is_neutral, module_of

CONTAINERS = (tuple, list, dict, set, str)
MANY = 20
"""Maximum number of elements of a container that are examined for values of the framework."""
_MISSING = object()


class Subject(Enum):
    """The kind of values that an expression involves: the framework's, plain Python values, or unknown ones."""

    FRAMEWORK = auto()
    PLAIN = auto()
    UNKNOWN = auto()


class Expressions:
    """Evaluates expressions of a stack frame without running code, with the values of the frame's names."""

    def __init__(self, frame: FrameType, adapter: Adapter, ownership: Ownership) -> None:
        self.frame, self.adapter, self.ownership = frame, adapter, ownership

    def subject(self, node: ast.AST) -> Subject:
        """Returns the kind of values that an expression or its parts involve."""
        found = self.value(node)
        if found is not _MISSING:
            return Subject.FRAMEWORK if self.is_frameworks(found) else Subject.PLAIN
        match node:
            case ast.Name():
                return Subject.UNKNOWN
            case ast.Call(func, arguments, keywords):
                return self._subject_of_call(func, [*arguments, *(each.value for each in keywords)])
            case ast.Constant() | ast.operator() | ast.unaryop() | ast.cmpop() | ast.boolop() | ast.expr_context():
                return Subject.PLAIN
            case ast.Attribute(of):
                return Subject.FRAMEWORK if self.subject(of) is Subject.FRAMEWORK else Subject.UNKNOWN
            case _:
                return combined(self.subject(each) for each in ast.iter_child_nodes(node))

    def _subject_of_call(self, function: ast.expr, arguments: list[ast.expr]) -> Subject:
        called = self.value(function)
        if called is not _MISSING and is_neutral(module_of(called)):
            return combined(map(self.subject, arguments))
        if self.subject(function) is Subject.FRAMEWORK or any(
            self.subject(each) is Subject.FRAMEWORK for each in arguments
        ):
            return Subject.FRAMEWORK
        return Subject.UNKNOWN

    def is_frameworks(self, thing: object) -> bool:
        """Whether an object, or an element of a container, belongs to the framework."""
        if type(thing) in CONTAINERS and not isinstance(thing, str):
            elements: Iterable[object] = thing.values() if isinstance(thing, dict) else thing  # type: ignore[assignment]
            return any(map(self.ownership.is_frameworks, islice(elements, MANY)))
        return self.ownership.is_frameworks(thing)

    def is_container(self, node: ast.expr) -> bool:
        """Whether an expression is a built-in tuple, list, dict, set or string."""
        match node:
            case ast.Dict() | ast.List() | ast.Tuple() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.JoinedStr():
                return True
            case ast.Call(function):
                return self.value(function) in CONTAINERS
        return type(self.value(node)) in CONTAINERS

    def value(self, node: ast.AST) -> Any:
        """Returns the value of an expression if it can be read without running code, else `_MISSING`."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(name):
                return self._named(name)
            case ast.Attribute(of, name):
                return self._attribute(self.value(of), name)
            case ast.Subscript(of, at):
                return _item(self.value(of), self.value(at))
            case ast.Call(ast.Name("getattr"), [of, at, *_]):
                name = self.value(at)
                return self._attribute(self.value(of), name) if isinstance(name, str) else _MISSING
            case ast.Starred(of):
                return self.value(of)
        return _MISSING

    def _named(self, name: str) -> Any:
        for names in (self.frame.f_locals, self.frame.f_globals, vars(builtins)):
            if name in names:
                return names[name]
        return _MISSING

    def _attribute(self, of: object, name: str) -> Any:
        if isinstance(of, ModuleType):
            return getattr(of, name, _MISSING)
        found = inspect.getattr_static(of, name, _MISSING) if of is not _MISSING else _MISSING
        if isinstance(found, staticmethod | classmethod):
            return found.__func__
        is_code = hasattr(type(found), "__get__") and not isinstance(found, FunctionType)
        return _MISSING if is_code and not inspect.isroutine(found) else found


def _item(of: object, at: object) -> Any:
    """Returns an item of a built-in container, or `_MISSING`."""
    if type(of) not in CONTAINERS or at is _MISSING:
        return _MISSING
    try:
        return of[at]  # type: ignore[index]
    except Exception:
        return _MISSING


def is_python_function(called: object) -> bool:
    """Whether a callable is written in Python. A failing call that never entered it failed because of its arguments."""
    if isinstance(called, MethodType):
        called = called.__func__
    if isinstance(called, type):
        called = inspect.getattr_static(called, "__init__", None)
    return isinstance(called, FunctionType)


def combined(found: Iterable[Subject]) -> Subject:
    """Returns the subject of an expression from those of its parts: the framework if one part involves it, else unknown
    if one part is unknown.
    """
    subjects = set(found)
    return next((each for each in (Subject.FRAMEWORK, Subject.UNKNOWN) if each in subjects), Subject.PLAIN)


def failing_expression(at: TracebackType) -> ast.expr | None:
    """Returns the expression at a traceback entry; None if its source is not available."""
    code = at.tb_frame.f_code
    line, end, first, last = next(islice(code.co_positions(), at.tb_lasti // 2, None))
    if line is None or end is None or first is None or last is None:
        return None
    lines = [linecache.getline(code.co_filename, number).encode() for number in range(line, end + 1)]
    lines[-1] = lines[-1][:last]
    lines[0] = lines[0][first:]
    text = b"".join(lines).decode(errors="replace").strip()
    try:
        return ast.parse(f"({text}\n)", mode="eval").body if text else None
    except SyntaxError:
        return None
