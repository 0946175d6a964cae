"""What an instruction's exception is: the framework's error of some kind, a bug of the adapter, or one of which nobody
can tell whose it is.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import assert_never

from autograd_conformance.frameworks import answers, blame
from autograd_conformance.frameworks.base import Adapter, HookRaised, Value
from autograd_conformance.frameworks.registry import BrokenAdapter
from autograd_conformance.programs.language import Instruction
from autograd_conformance.programs.observations import Kind, Raised


def raised(adapter: Adapter, step: Instruction, error: BaseException, values: Collection[Value] = ()) -> Raised:
    """The outcome of an instruction that raised, or `BrokenAdapter` where the adapter made a mistake; `values` are some
    of the framework's.
    """
    kind = Kind.HOOK_RAISED if _is_hooks(error) else _kind(adapter, error)
    if kind is not Kind.UNKNOWN:
        return Raised(kind, type(error).__name__, answers.message(error))
    return unknown(adapter, answers.call_of(step), error, values)


def unknown(adapter: Adapter, call: str, error: BaseException, values: Collection[Value] = ()) -> Raised:
    """The outcome of a call that raised what the adapter does not know, or `BrokenAdapter`."""
    message, found = answers.message(error), blame.blame(error, adapter, values)
    where = f" ({found.place})" if found.place else ""
    match found.whose:
        case blame.Whose.ADAPTER:
            what = f"{call} raised {type(error).__name__}: {message}{where}"
            raise BrokenAdapter(f"{adapter.name}: {what}") from error
        case blame.Whose.UNKNOWN:
            return Raised(Kind.UNDECIDED, type(error).__name__, f"{call}: {message}{where}")
        case blame.Whose.FRAMEWORK:
            if where and isinstance(error, blame.SLIPS):
                message = f"{message} (the traceback ends in the adapter: {found.place})"
            return Raised(Kind.UNKNOWN, type(error).__name__, message)
        case _:
            assert_never(found.whose)


def unread(adapter: Adapter, call: str, error: BaseException, values: Collection[Value] = ()) -> Raised:
    """The outcome of an instruction whose values could not be read: the framework's error where it computes what is
    read, or where the adapter knows the error. To look at anything else is not what it was told to do.
    """
    kind = Kind.HOOK_RAISED if _is_hooks(error) else _kind(adapter, error)
    if kind is not Kind.UNKNOWN:
        return Raised(kind, type(error).__name__, answers.message(error))
    found = unknown(adapter, call, error, values)
    computes = call == "read()" or found.kind is Kind.UNDECIDED
    return found if computes else Raised(Kind.UNDECIDED, found.type, f"{call}: {found.message}")


def _is_hooks(error: BaseException | None) -> bool:
    """Whether a hook of the program raised this, however it comes out."""
    while error is not None:
        if isinstance(error, HookRaised) or HookRaised.MESSAGE in answers.message(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _kind(adapter: Adapter, error: BaseException) -> Kind:
    """The kind that the adapter makes of an exception; one that has no text cannot be told."""
    try:
        kind = adapter.classify(error)
    except BaseException as inner:
        try:
            str(error)
        except BaseException:
            return Kind.UNKNOWN
        what = f"classify() of {type(error).__name__} raised {type(inner).__name__}: {answers.message(inner)}"
        raise BrokenAdapter(f"{adapter.name}: {what}") from inner
    if not isinstance(kind, Kind):
        answers.refuse(adapter, f"classify() of {type(error).__name__}", kind, "a Kind")
    return kind
