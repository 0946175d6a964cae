"""Turns an exception into an outcome: a framework error of some kind, an undecided one, or `AdapterError` for a bug."""

from __future__ import annotations

from collections.abc import Collection
from typing import assert_never

from autograd_conformance.frameworks.adapter import Adapter, HookRaised, Value
from autograd_conformance.frameworks.blame import blame
from autograd_conformance.frameworks.environment.interrupts import is_users
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.reading import validation
from autograd_conformance.programs.foreign.text import message as message_of
from autograd_conformance.programs.foreign.text import type_of, whole_message
from autograd_conformance.programs.language import Instruction
from autograd_conformance.programs.observations import Kind, Raised

MOST = 100
"""Maximum number of chained exceptions that are examined; reading a chain may create new exceptions."""


REMARK = " (the traceback ends in the adapter: "
"""The beginning of the suite's remark after a message of the framework; a place and a bracket follow."""


def without_remark(text: str) -> str:
    """Returns the framework's own message, without the remark of the suite."""
    return text.partition(REMARK)[0]


def raised_outcome(adapter: Adapter, step: Instruction, error: BaseException, values: Collection[Value] = ()) -> Raised:
    """Returns the outcome of an instruction that raised. Raises `AdapterError` for an adapter bug.

    `values` are some of the framework's values. Judging ends at a result cut into another number of parts: if no
    instruction before it is at fault, the framework or the adapter is.
    """
    miscounted = next((each for each in chain(error) if isinstance(each, validation.OtherCount)), None)
    if miscounted is not None:
        return Raised(Kind.UNDECIDED, type_of(miscounted), message_of(miscounted))
    kind = Kind.HOOK_RAISED if _is_hooks(error) else _kind(adapter, error)
    if kind is not Kind.UNKNOWN:
        return Raised(kind, type_of(error), message_of(error))
    return unknown_outcome(adapter, validation.call_of(step), error, values)


def unknown_outcome(adapter: Adapter, call: str, error: BaseException, values: Collection[Value] = ()) -> Raised:
    """Returns the outcome of a call that raised an exception that the adapter does not recognise; raises `AdapterError`
    if the adapter has a bug.
    """
    message, found = message_of(error), blame.blame(error, adapter, values)
    where = f" ({found.place})" if found.place else ""
    match found.origin:
        case blame.Origin.ADAPTER:
            what = f"{call} raised {type_of(error)}: {message}{where}"
            raise AdapterError(f"{adapter.name}: {what}") from error
        case blame.Origin.UNKNOWN:
            return Raised(Kind.UNDECIDED, type_of(error), f"{call}: {message}{where}")
        case blame.Origin.FRAMEWORK:
            if where and isinstance(error, blame.ADAPTER_BUGS):
                message = f"{message}{REMARK}{found.place})"
            return Raised(Kind.UNKNOWN, type_of(error), message)
        case _:
            assert_never(found.origin)


def unread_outcome(adapter: Adapter, call: str, error: BaseException, values: Collection[Value] = ()) -> Raised:
    """Returns the outcome of an instruction whose result could not be read.

    The framework raised the error if the adapter recognises it, or if `read()` failed: reading elements may compute
    them. Any other failing call only inspects the value, so the outcome is undecided.
    """
    kind = Kind.HOOK_RAISED if _is_hooks(error) else _kind(adapter, error)
    if kind is not Kind.UNKNOWN:
        return Raised(kind, type_of(error), message_of(error))
    found = unknown_outcome(adapter, call, error, values)
    computes = call == "read()" or found.kind is Kind.UNDECIDED
    return found if computes else Raised(Kind.UNDECIDED, found.type, f"{call}: {found.message}")


def _is_hooks(error: BaseException) -> bool:
    """Whether an exception contains the one that a hook of the program raised."""
    return any(isinstance(each, HookRaised) or HookRaised.MESSAGE in whole_message(each) for each in chain(error))


def chain(error: BaseException) -> list[BaseException]:
    """Returns an exception with those that it was raised from and those that it groups, each once; a chain may be
    cyclic.
    """
    found: list[BaseException] = []
    pending: list[object] = [error]
    while pending and len(found) < MOST:
        each = pending.pop(0)
        if isinstance(each, BaseException) and not any(each is other for other in found):
            found.append(each)
            pending += _causes(each)
    return found


def _causes(error: BaseException) -> list[object]:
    """Returns the exceptions that another one was raised from or groups."""
    try:
        grouped = list(error.exceptions)[:MOST] if isinstance(error, BaseExceptionGroup) else []
        return [error.__context__ if error.__cause__ is None else error.__cause__, *grouped]
    except BaseException:  # an exception's attributes may be properties that raise
        return []


def _kind(adapter: Adapter, error: BaseException) -> Kind:
    """Returns the adapter's kind of an exception; `UNKNOWN` if `classify` fails because the exception has no text."""
    try:
        kind = adapter.classify(error)
    except BaseException as inner:
        if is_users(inner):
            raise
        try:
            str(error)
        except BaseException:
            return Kind.UNKNOWN
        what = f"classify() of {type_of(error)} raised {type_of(inner)}: {message_of(inner)}"
        raise AdapterError(f"{adapter.name}: {what}") from inner
    if not isinstance(kind, Kind):
        validation.refuse(adapter, f"classify() of {type_of(error)}", kind, "a Kind")
    return kind
