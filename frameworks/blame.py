"""Whose mistake an exception is: the adapter's, where that can be told for sure, or else the framework's.

An adapter is thin, and what its framework raises comes out through it; of a framework in C the adapter's own line is
even the last of the traceback. So an exception is the adapter's only where an operation of that line that does not ask
the framework failed: a name that there is not, an attribute that the adapter itself or a module lacks, a subscript of
a plain tuple, list or dict, a method that does not take what the runner gives it, or one that is to be written still.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import re
from itertools import islice
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any

from autograd_conformance.frameworks.base import Adapter
from autograd_conformance.frameworks.requirements import METHODS, METHODS_OF

SLIPS = (TypeError, AttributeError, KeyError, IndexError, NameError, NotImplementedError)
"""The exceptions that mistakes in an adapter show as."""

PLAIN = (tuple, list, dict, str)
_CALLED = re.compile(r"(\w+)\(\) (?:takes|missing|got) ")
_ALL_METHODS = frozenset(METHODS).union(*METHODS_OF.values())


def place(error: BaseException, adapter: Adapter) -> str | None:
    """The file and line of the adapter's that an exception came out of, if its traceback ends in one of its methods."""
    last = _last(error.__traceback__)
    if last is None or not _is_method(last.tb_frame, adapter):
        return None
    return f"{Path(last.tb_frame.f_code.co_filename).name}, line {last.tb_lineno}"


def is_adapters(error: BaseException, adapter: Adapter) -> bool:
    """Whether an exception is certainly a mistake of the adapter."""
    last = _last(error.__traceback__)
    if last is None or not isinstance(error, SLIPS):
        return False
    if not _is_method(last.tb_frame, adapter):
        return isinstance(error, TypeError) and _refuses_arguments(str(error), last.tb_frame, adapter)
    match error:
        case NameError():
            return True
        case NotImplementedError():  # a method that is still to be written
            return _operation(last) == "RAISE_VARARGS"
        case AttributeError():
            return error.obj is adapter or isinstance(error.obj, ModuleType)
        case _:
            return _is_plain_subscript(last, adapter)


def _last(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def _is_method(frame: FrameType, adapter: Adapter) -> bool:
    """Whether a frame is a call of a method of the adapter."""
    names = frame.f_code.co_varnames[:1]
    return bool(names) and frame.f_locals.get(names[0]) is adapter


def _refuses_arguments(message: str, frame: FrameType, adapter: Adapter) -> bool:
    """Whether a method of the adapter, written in Python, was not even entered."""
    called = _CALLED.search(message)
    if called is None or called[1] not in _ALL_METHODS or "self" not in frame.f_locals:
        return False
    return getattr(frame.f_locals["self"], "adapter", None) is adapter and inspect.ismethod(
        getattr(adapter, called[1], None)
    )


def _operation(at: TracebackType) -> str:
    """The name of the bytecode instruction that failed."""
    return dis.opname[at.tb_frame.f_code.co_code[at.tb_lasti]]


def _is_plain_subscript(at: TracebackType, adapter: Adapter) -> bool:
    """Whether the operation that failed looked something up in a tuple, a list, a dict or a text of Python's own."""
    code = at.tb_frame.f_code
    if _operation(at) != "BINARY_SUBSCR":
        return False
    line, end, first, behind = next(islice(code.co_positions(), at.tb_lasti // 2, None))
    if line is None or line != end:
        return False
    text = linecache.getline(code.co_filename, line).encode()[first:behind].decode()
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    return isinstance(node, ast.Subscript) and _type(node.value, at.tb_frame, adapter) in PLAIN


def _type(node: ast.expr, frame: FrameType, adapter: Adapter) -> type | None:
    """The type of what an expression gave, where that is known without evaluating it."""
    found: Any = None
    match node:
        case ast.Name(name):
            found = frame.f_locals.get(name, frame.f_globals.get(name))
        case ast.Attribute(ast.Name(name), attribute) if frame.f_locals.get(name) is adapter:
            found = inspect.getattr_static(adapter, attribute, None)
        case ast.Call(ast.Name("dict")) | ast.Dict():
            return dict
        case ast.Tuple():
            return tuple
        case ast.List() | ast.Call(ast.Name("list")):
            return list
    return None if found is None else type(found)
