"""Whose an exception is that an adapter does not know: its framework's, the adapter's own, or nobody can tell.

It is the framework's only if the framework was entered. The traceback says so where one of its frames is the
framework's. Of a framework that is compiled the adapter's own line is the last: then the operation that failed there
says it, a call of something of the framework's, or an operator on one of its values. What fails on plain things alone
is the adapter's bug. A framework that stands in the same file as its adapter cannot be told from it: there, only what
is certainly a bug of one of the adapter's methods is the adapter's.
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
from autograd_conformance.frameworks.blame.expressions import About, Expressions, failed, is_unentered
from autograd_conformance.frameworks.blame.ownership import Owner, Territory, place
from autograd_conformance.frameworks.requirements import METHODS, METHODS_OF

SLIPS = (TypeError, AttributeError, KeyError, IndexError, NameError, NotImplementedError)
"""The exceptions that bugs of an adapter show as where its framework stands in the same file."""
NOBODYS = (MemoryError, RecursionError)
"""The exceptions that plain things raise, too, where a framework uses up what there is."""
RAISES = ("RAISE_VARARGS", "RERAISE")
_CALLED = re.compile(r"(\w+)\(\) (?:takes|missing|got) ")
_ALL_METHODS = frozenset(METHODS).union(*METHODS_OF.values())


class Whose(Enum):
    """Whose an exception is."""

    FRAMEWORK = auto()
    ADAPTER = auto()
    UNKNOWN = auto()


@dataclass(frozen=True)
class Blame:
    """Whose an exception is, and the adapter's line that it came out of, if its traceback ends there."""

    whose: Whose
    place: str | None = None


def blame(error: BaseException, adapter: Adapter, values: Collection[object] = ()) -> Blame:
    """Whose an exception is that came out of a call of an adapter; `values` are some of its framework's."""
    territory = Territory.of(adapter, values)
    last = _last(error.__traceback__, territory)
    if last is None:
        return Blame(Whose.FRAMEWORK)
    owner = territory.owner(last.tb_frame)
    where = place(last.tb_frame.f_code, last.tb_lineno) if owner is Owner.ADAPTER else None
    match owner:
        case Owner.SUITE:
            refused = isinstance(error, TypeError) and _refuses_arguments(str(error), last.tb_frame, adapter)
            return Blame(Whose.ADAPTER if refused else Whose.FRAMEWORK)
        case Owner.ADAPTER | Owner.TEXT if territory.is_separate:
            return Blame(_separate(error, last, adapter, territory), where)
        case Owner.ADAPTER:
            return Blame(Whose.ADAPTER if _is_slip(error, last, adapter, territory) else Whose.FRAMEWORK, where)
    return Blame(Whose.FRAMEWORK)


def _last(traceback: TracebackType | None, territory: Territory) -> TracebackType | None:
    """The last entry of a traceback whose code somebody owns."""
    owned = (each for each in _entries(traceback) if territory.owner(each.tb_frame) is not Owner.NEUTRAL)
    return next(reversed(list(owned)), None)


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


# -- where the framework stands in other files than the adapter --------------------------------------------------------


def _separate(error: BaseException, last: TracebackType, adapter: Adapter, territory: Territory) -> Whose:
    """Whose an exception is that came out of the adapter's own code, or of code made from its templates."""
    if not isinstance(error, Exception) or isinstance(error, NOBODYS):
        return Whose.FRAMEWORK
    if _operation(last) in RAISES:
        return _raised(error, adapter, territory)
    is_text = territory.owner(last.tb_frame) is Owner.TEXT
    certain = Whose.UNKNOWN if is_text else Whose.ADAPTER  # the framework may lack what a template names
    match error:
        case NameError():
            return Whose.ADAPTER
        case AttributeError(obj=ModuleType()) | ImportError():
            return certain
        case AttributeError(obj=obj) if obj is not None:
            return Whose.FRAMEWORK if territory.holds(obj) else Whose.ADAPTER if obj is adapter else Whose.UNKNOWN
    expressions = Expressions(last.tb_frame, adapter, territory)
    node = failed(last)
    if node is None:
        return _without_source(error, last.tb_frame, expressions)
    return _of_expression(error, node, _operation(last), expressions)


def _raised(error: BaseException, adapter: Adapter, territory: Territory) -> Whose:
    """Whose an exception is that the adapter raised on purpose: it may pass on what its framework said."""
    if territory.holds(type(error)):
        return Whose.FRAMEWORK
    reason = error.__cause__ or error.__context__
    if reason is not None and reason.__traceback__ is not None:
        return blame(reason, adapter).whose
    return Whose.ADAPTER if isinstance(error, AssertionError | NotImplementedError) else Whose.UNKNOWN


def _without_source(error: BaseException, frame: FrameType, expressions: Expressions) -> Whose:
    """Whose an exception is that came out of code of which there are no lines."""
    if isinstance(error, TypeError) and _CALLED.search(str(error)):
        return Whose.UNKNOWN
    entered = any(map(expressions.is_frameworks, frame.f_locals.values()))
    return Whose.FRAMEWORK if entered else Whose.UNKNOWN


def _of_expression(error: BaseException, node: ast.expr, operation: str, expressions: Expressions) -> Whose:
    match node:
        case ast.Call() if operation.startswith(("CALL", "PRECALL")):
            return _of_call(error, node, expressions)
        case ast.Subscript(of) if operation.startswith("BINARY_SUBSCR"):
            return Whose.ADAPTER if expressions.is_container(of) else _whose(expressions.about(of))
        case _ if operation.startswith(("UNPACK", "STORE")):
            return Whose.UNKNOWN  # what is taken apart, or put there, is not in the expression
    return _whose(expressions.about(node))


def _of_call(error: BaseException, node: ast.Call, expressions: Expressions) -> Whose:
    """Whose the exception is of a call that entered no code of Python's."""
    called = _called(node.func, expressions)
    if isinstance(error, TypeError) and is_unentered(called):
        return Whose.UNKNOWN if expressions.territory.holds(called) else Whose.ADAPTER
    if expressions.about(node.func) is About.FRAMEWORK:
        return Whose.FRAMEWORK
    given = [expressions.value(each) for each in (*node.args, *(each.value for each in node.keywords))]
    if any(map(expressions.is_frameworks, given)):
        return Whose.FRAMEWORK  # its own code was asked for: to be made an array, or a number, say
    about = expressions.about(node)
    return Whose.UNKNOWN if about is About.FRAMEWORK else _whose(_plainly(node, about, expressions))


def _plainly(node: ast.Call, about: About, expressions: Expressions) -> About:
    """A call of a function that is known, on things that are, is about plain things."""
    arguments = (*node.args, *(each.value for each in node.keywords))
    known = [expressions.about(each) for each in (node.func, *arguments)]
    return About.PLAIN if all(each is About.PLAIN for each in known) else about


def _called(function: ast.expr, expressions: Expressions) -> object:
    """What is called, by the class of the value of which it is a method."""
    if isinstance(function, ast.Attribute):
        of = expressions.value(function.value)
        if expressions.territory.holds(of) and not isinstance(of, ModuleType | type):
            return inspect.getattr_static(type(of), function.attr, None)
    return expressions.value(function)


def _whose(about: About) -> Whose:
    match about:
        case About.FRAMEWORK:
            return Whose.FRAMEWORK
        case About.PLAIN:
            return Whose.ADAPTER
        case About.UNKNOWN:
            return Whose.UNKNOWN


# -- where it may stand in the same file -------------------------------------------------------------------------------


def _is_slip(error: BaseException, last: TracebackType, adapter: Adapter, territory: Territory) -> bool:
    """Whether an exception is certainly a bug of one of the adapter's methods."""
    if not isinstance(error, SLIPS) or not _is_method(last.tb_frame, adapter):
        return False
    match error:
        case NameError():
            return True
        case NotImplementedError():  # a method that is still to be written
            return _operation(last) == "RAISE_VARARGS"
        case AttributeError():
            return error.obj is adapter or isinstance(error.obj, ModuleType)
    node = failed(last) if _operation(last).startswith("BINARY_SUBSCR") else None
    return isinstance(node, ast.Subscript) and Expressions(last.tb_frame, adapter, territory).is_container(node.value)


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
