"""What an instruction's exception is: the framework's error of some kind, or a mistake of the adapter."""

from __future__ import annotations

from autograd_conformance.frameworks import answers, blame
from autograd_conformance.frameworks.base import Adapter, HookRaised
from autograd_conformance.frameworks.registry import BrokenAdapter
from autograd_conformance.programs.language import Instruction
from autograd_conformance.programs.observations import Kind, Raised


def raised(adapter: Adapter, step: Instruction, error: BaseException) -> Raised:
    """The outcome of an instruction that raised, or `BrokenAdapter` where the adapter made a mistake."""
    message = answers.message(error)
    kind = Kind.HOOK_RAISED if _is_hooks(error) else _kind(adapter, error)
    if kind is Kind.UNKNOWN and isinstance(error, blame.SLIPS):
        place = blame.place(error, adapter)
        if blame.is_adapters(error, adapter):
            where = f" ({place})" if place else ""
            what = f"{answers.call_of(step)} raised {type(error).__name__}: {message}{where}"
            raise BrokenAdapter(f"{adapter.name}: {what}") from error
        if place:
            message = f"{message} (the traceback ends in the adapter: {place})"
    return Raised(kind, type(error).__name__, message)


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
