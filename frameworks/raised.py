"""What an instruction's exception is: the framework's error of some kind, or a mistake of the adapter."""

from __future__ import annotations

from autograd_conformance.frameworks import answers, blame
from autograd_conformance.frameworks.base import Adapter, HookRaised
from autograd_conformance.frameworks.interrupts import is_users
from autograd_conformance.frameworks.registry import BrokenAdapter
from autograd_conformance.programs.language import Instruction
from autograd_conformance.programs.observations import Kind, Raised
from autograd_conformance.programs.wording import message as message_of
from autograd_conformance.programs.wording import type_of, whole_message

MOST = 100
"""How many exceptions are looked at that one came out of: a framework may make them as they are looked at."""


def raised(adapter: Adapter, step: Instruction, error: BaseException) -> Raised:
    """The outcome of an instruction that raised, or `BrokenAdapter` where the adapter made a mistake."""
    message = message_of(error)
    kind = Kind.HOOK_RAISED if _is_hooks(error) else _kind(adapter, error)
    if kind is Kind.UNKNOWN and isinstance(error, blame.SLIPS):
        place = blame.place(error, adapter)
        if blame.is_adapters(error, adapter):
            where = f" ({place})" if place else ""
            what = f"{answers.call_of(step)} raised {type_of(error)}: {message}{where}"
            raise BrokenAdapter(f"{adapter.name}: {what}") from error
        if place:
            message = f"{message} (the traceback ends in the adapter: {place})"
    return Raised(kind, type_of(error), message)


def _is_hooks(error: BaseException) -> bool:
    """Whether a hook of the program raised this, however it comes out."""
    return any(isinstance(each, HookRaised) or HookRaised.MESSAGE in whole_message(each) for each in chain(error))


def chain(error: BaseException) -> list[BaseException]:
    """An exception, those that it was raised from, and those that it groups, each once: they may go in a circle."""
    found: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting and len(found) < MOST:
        each = waiting.pop(0)
        if isinstance(each, BaseException) and not any(each is other for other in found):
            found.append(each)
            waiting += _causes(each)
    return found


def _causes(error: BaseException) -> list[object]:
    """What an exception was raised from, or groups."""
    try:
        grouped = list(error.exceptions)[:MOST] if isinstance(error, BaseExceptionGroup) else []
        return [error.__context__ if error.__cause__ is None else error.__cause__, *grouped]
    except BaseException:  # it says so itself, and may say anything
        return []


def _kind(adapter: Adapter, error: BaseException) -> Kind:
    """The kind that the adapter makes of an exception; one that has no text cannot be told."""
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
        raise BrokenAdapter(f"{adapter.name}: {what}") from inner
    if not isinstance(kind, Kind):
        answers.refuse(adapter, f"classify() of {type_of(error)}", kind, "a Kind")
    return kind
