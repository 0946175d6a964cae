"""What the code that raised an exception was about: the framework's things, plain things, or nobody knows.

Nothing is evaluated again: names are looked up in the frame, attributes and items only where that runs no code.
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
"""How many elements of a container are looked at."""
_MISSING = object()


class Subject(Enum):
    """What an expression is about."""

    FRAMEWORK = auto()
    PLAIN = auto()
    UNKNOWN = auto()


class Expressions:
    """The expressions of a frame, as far as its names tell what they stand for."""

    def __init__(self, frame: FrameType, adapter: Adapter, ownership: Ownership) -> None:
        self.frame, self.adapter, self.ownership = frame, adapter, ownership

    def subject(self, node: ast.AST) -> Subject:
        """What an expression, or what it is made of, is about."""
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
        """Whether a thing, or one of what it contains, is the framework's."""
        if type(thing) in CONTAINERS and not isinstance(thing, str):
            held: Iterable[object] = thing.values() if isinstance(thing, dict) else thing  # type: ignore[assignment]
            return any(map(self.ownership.is_frameworks, islice(held, MANY)))
        return self.ownership.is_frameworks(thing)

    def is_container(self, node: ast.expr) -> bool:
        """Whether an expression gives a tuple, a list, a dict, a set or a text of Python's own."""
        match node:
            case ast.Dict() | ast.List() | ast.Tuple() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.JoinedStr():
                return True
            case ast.Call(function):
                return self.value(function) in CONTAINERS
        return type(self.value(node)) in CONTAINERS

    def value(self, node: ast.AST) -> Any:
        """What an expression stands for, where that is known without running code; `_MISSING` elsewhere."""
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
    """An item of a container of Python's own."""
    if type(of) not in CONTAINERS or at is _MISSING:
        return _MISSING
    try:
        return of[at]  # type: ignore[index]
    except Exception:
        return _MISSING


def is_python_function(called: object) -> bool:
    """Whether what was called is written in Python: then an error of the call itself is that it takes no such
    arguments, and it never ran.
    """
    if isinstance(called, MethodType):
        called = called.__func__
    if isinstance(called, type):
        called = inspect.getattr_static(called, "__init__", None)
    return isinstance(called, FunctionType)


def combined(found: Iterable[Subject]) -> Subject:
    """What is made of several things is about the framework where one of them is."""
    seen = set(found)
    return next((each for each in (Subject.FRAMEWORK, Subject.UNKNOWN) if each in seen), Subject.PLAIN)


def failing_expression(at: TracebackType) -> ast.expr | None:
    """The expression that a line of a traceback was at; None where its source cannot be had."""
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
