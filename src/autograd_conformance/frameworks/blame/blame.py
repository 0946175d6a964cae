"""Determines who raised an exception that the adapter does not recognise: the framework, the adapter, or unknown.

An exception is the framework's if its traceback enters a frame of the framework. A compiled framework has no frames, so
the traceback ends in the adapter. The failing expression then decides: if it calls into the framework or uses one of
the framework's values, the exception is the framework's; if it involves only plain Python values, it is an adapter bug.
If the framework and its adapter share a file, frames cannot separate them. The exception is then an adapter bug only if
it is certainly a bug of one of the adapter's methods.
"""

from __future__ import annotations

import ast
import dis
import inspect
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from types import FrameType, ModuleType, TracebackType

from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.blame.expressions import (
    Expressions,
    Subject,
    failing_expression,
    is_python_function,
)
from autograd_conformance.frameworks.blame.ownership import Owner, Ownership, place
from autograd_conformance.frameworks.loading.older_adapters import RENAMED
from autograd_conformance.frameworks.loading.requirements import METHODS, METHODS_OF

ADAPTER_BUGS = (TypeError, AttributeError, KeyError, IndexError, NameError, NotImplementedError)
"""Types of exceptions that a bug of an adapter usually raises. If framework and adapter share a file, no other
exception counts as an adapter bug; a message about one says if its traceback ends in the adapter.
"""
RESOURCE_ERRORS = (MemoryError, RecursionError)
"""Exceptions that plain Python code also raises when a framework exhausts memory or the stack. They count as the
framework's.
"""
RAISES = ("RAISE_VARARGS", "RERAISE")
_CALLED = re.compile(r"(\w+)\(\) (?:takes|missing|got) ")
_ALL_METHODS = frozenset(METHODS).union(RENAMED, *METHODS_OF.values())


class Origin(Enum):
    """The party that raised an exception."""

    FRAMEWORK = auto()
    ADAPTER = auto()
    UNKNOWN = auto()


@dataclass(frozen=True)
class Blame:
    """The party that raised an exception, and the line of the adapter that raised it, if the traceback ends in the
    adapter.
    """

    origin: Origin
    place: str | None = None


def blame(error: BaseException, adapter: Adapter, values: Collection[object] = ()) -> Blame:
    """Determine who raised an exception of an adapter's call. `values` are some of the framework's values."""
    ownership = Ownership.of(adapter, values)
    last = _last(error.__traceback__, ownership)
    if last is None:
        return Blame(Origin.FRAMEWORK)
    owner = ownership.owner(last.tb_frame)
    where = place(last.tb_frame.f_code, last.tb_lineno) if owner is Owner.ADAPTER else None
    match owner:
        case Owner.SUITE:
            refused = isinstance(error, TypeError) and _refuses_arguments(str(error), last.tb_frame, adapter)
            return Blame(Origin.ADAPTER if refused or _is_undefined(error, last.tb_frame) else Origin.FRAMEWORK)
        case Owner.ADAPTER | Owner.GENERATED if ownership.is_separate:
            return Blame(_origin_of_separate(error, last, adapter, ownership), where)
        case Owner.ADAPTER:
            return Blame(
                Origin.ADAPTER if _is_adapter_bug(error, last, adapter, ownership) else Origin.FRAMEWORK, where
            )
    return Blame(Origin.FRAMEWORK)


def _last(traceback: TracebackType | None, ownership: Ownership) -> TracebackType | None:
    """Returns the last traceback entry whose code belongs to the suite, the adapter, the framework or
    generated code.
    """
    owned = (each for each in _entries(traceback) if ownership.owner(each.tb_frame) is not Owner.NEUTRAL)
    return next(reversed(list(owned)), None)


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


# -- the framework and the adapter have separate files -----------------------------------------------------------------


def _origin_of_separate(error: BaseException, last: TracebackType, adapter: Adapter, ownership: Ownership) -> Origin:
    """Returns the origin of an exception in the adapter's own code, or in code generated from its templates."""
    if not isinstance(error, Exception) or isinstance(error, RESOURCE_ERRORS):
        return Origin.FRAMEWORK
    if _operation(last) in RAISES:
        return _origin_of_raised(error, adapter, ownership)
    is_text = ownership.owner(last.tb_frame) is Owner.GENERATED
    certain = Origin.UNKNOWN if is_text else Origin.ADAPTER  # the framework may lack what a template names
    match error:
        case NameError():
            return Origin.ADAPTER
        case AttributeError(obj=ModuleType()) | ImportError():
            return certain
        case AttributeError(obj=obj) if obj is not None:
            if ownership.is_frameworks(obj):
                return Origin.FRAMEWORK
            return Origin.ADAPTER if obj is adapter else Origin.UNKNOWN
    expressions = Expressions(last.tb_frame, adapter, ownership)
    node = failing_expression(last)
    if node is None:
        return _origin_without_source(error, last.tb_frame, expressions)
    return _origin_of_expression(error, node, _operation(last), expressions)


def _origin_of_raised(error: BaseException, adapter: Adapter, ownership: Ownership) -> Origin:
    """Returns the origin of an exception from a `raise` statement of the adapter, which may pass on a framework's
    error.
    """
    if ownership.is_frameworks(type(error)):
        return Origin.FRAMEWORK
    reason = error.__cause__ or error.__context__
    if reason is not None and reason.__traceback__ is not None:
        return blame(reason, adapter).origin
    return Origin.ADAPTER if isinstance(error, AssertionError | NotImplementedError) else Origin.UNKNOWN


def _origin_without_source(error: BaseException, frame: FrameType, expressions: Expressions) -> Origin:
    """Returns the origin of an exception in code without source lines: the framework if a local variable of the code is
    one of the framework's values and the error is not about the arguments of a call, else unknown.
    """
    if isinstance(error, TypeError) and _CALLED.search(str(error)):
        return Origin.UNKNOWN
    entered = any(map(expressions.is_frameworks, frame.f_locals.values()))
    return Origin.FRAMEWORK if entered else Origin.UNKNOWN


def _origin_of_expression(error: BaseException, node: ast.expr, operation: str, expressions: Expressions) -> Origin:
    match node:
        case ast.Call() if operation.startswith(("CALL", "PRECALL")):
            return _origin_of_call(error, node, expressions)
        case ast.Subscript(of) if operation.startswith("BINARY_SUBSCR"):
            return Origin.ADAPTER if expressions.is_container(of) else _origin(expressions.subject(of))
        case _ if operation.startswith(("UNPACK", "STORE")):
            return Origin.UNKNOWN  # the expression does not contain the unpacked or stored value
    return _origin(expressions.subject(node))


def _origin_of_call(error: BaseException, node: ast.Call, expressions: Expressions) -> Origin:
    """Returns the origin of an exception in a call that entered no Python code."""
    called = _called(node.func, expressions)
    if isinstance(error, TypeError) and is_python_function(called):
        return Origin.UNKNOWN if expressions.ownership.is_frameworks(called) else Origin.ADAPTER
    if expressions.subject(node.func) is Subject.FRAMEWORK:
        return Origin.FRAMEWORK
    given = [expressions.value(each) for each in (*node.args, *(each.value for each in node.keywords))]
    if any(map(expressions.is_frameworks, given)):
        return Origin.FRAMEWORK  # the call ran the value's own code, such as a conversion to an array
    subject = expressions.subject(node)
    return (
        Origin.UNKNOWN if subject is Subject.FRAMEWORK else _origin(_subject_if_all_plain(node, subject, expressions))
    )


def _subject_if_all_plain(node: ast.Call, subject: Subject, expressions: Expressions) -> Subject:
    """Returns `PLAIN` for a known function with known arguments, all of them plain; the given subject
    for other calls.
    """
    arguments = (*node.args, *(each.value for each in node.keywords))
    known = [expressions.subject(each) for each in (node.func, *arguments)]
    return Subject.PLAIN if all(each is Subject.PLAIN for each in known) else subject


def _called(function: ast.expr, expressions: Expressions) -> object:
    """Returns the called function, if it can be read without running code; for a method of a framework's value, the
    attribute of the value's class.
    """
    if isinstance(function, ast.Attribute):
        of = expressions.value(function.value)
        if expressions.ownership.is_frameworks(of) and not isinstance(of, ModuleType | type):
            return inspect.getattr_static(type(of), function.attr, None)
    return expressions.value(function)


def _origin(subject: Subject) -> Origin:
    match subject:
        case Subject.FRAMEWORK:
            return Origin.FRAMEWORK
        case Subject.PLAIN:
            return Origin.ADAPTER
        case Subject.UNKNOWN:
            return Origin.UNKNOWN


# -- the framework and the adapter may share a file --------------------------------------------------------------------


def _is_adapter_bug(error: BaseException, last: TracebackType, adapter: Adapter, ownership: Ownership) -> bool:
    """Whether an exception is certainly a bug of one of the adapter's methods."""
    if not isinstance(error, ADAPTER_BUGS) or not _is_method(last.tb_frame, adapter):
        return False
    match error:
        case NameError():
            return True
        case NotImplementedError():  # a method without an implementation
            return _operation(last) == "RAISE_VARARGS"
        case AttributeError():
            return error.obj is adapter or isinstance(error.obj, ModuleType)
    node = failing_expression(last) if _operation(last).startswith("BINARY_SUBSCR") else None
    return isinstance(node, ast.Subscript) and Expressions(last.tb_frame, adapter, ownership).is_container(node.value)


def _is_method(frame: FrameType, adapter: Adapter) -> bool:
    """Whether a frame is a call of a method of the adapter."""
    names = frame.f_code.co_varnames[:1]
    return bool(names) and frame.f_locals.get(names[0]) is adapter


def _is_undefined(error: BaseException, frame: FrameType) -> bool:
    """Whether a frame is a call of a method of `Adapter` without a default, which the adapter does not define."""
    return isinstance(error, NotImplementedError) and frame.f_globals.get("__name__") == Adapter.__module__


def _refuses_arguments(message: str, frame: FrameType, adapter: Adapter) -> bool:
    """Whether a Python method of the adapter rejected its arguments, so that its body never ran."""
    called = _CALLED.search(message)
    if called is None or called[1] not in _ALL_METHODS or "self" not in frame.f_locals:
        return False
    return getattr(frame.f_locals["self"], "adapter", None) is adapter and inspect.ismethod(
        getattr(adapter, called[1], None)
    )


def _operation(at: TracebackType) -> str:
    """Returns the name of the bytecode instruction that failed."""
    return dis.opname[at.tb_frame.f_code.co_code[at.tb_lasti]]
