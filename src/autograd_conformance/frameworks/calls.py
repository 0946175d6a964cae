"""Calls of an adapter's methods that are no part of a program: whatever they raise is the adapter's error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from autograd_conformance.frameworks.adapter import Generator
from autograd_conformance.frameworks.environment.interrupts import is_users
from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.programs.foreign.text import message, type_of

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Raised:
    """An exception that a call raised."""

    error: BaseException


def call_adapter(who: str, what: str, call: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """What a call gives; `AdapterError`, which says `what` was called, where it raises, whatever that is. What a
    signal of the user's brought is raised on.
    """
    match attempt(call, *arguments, **options):
        case Raised(error):
            raise AdapterError(f"{who}: {what} raised {type_of(error)}: {message(error)}") from error
        case result:
            return result


def attempt(call: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T | Raised:
    """The result of a call of an adapter, or what it raised, but for an adapter's bug and a signal of the user's."""
    try:
        return call(*arguments, **options)
    except AdapterError:
        raise
    except BaseException as error:
        if is_users(error):
            raise
        return Raised(error)


@dataclass(frozen=True, eq=False)
class CheckedGenerator:
    """A framework's random number generator, whose errors are the adapter's."""

    who: str
    """The framework's name."""
    generator: Generator
    """The generator that the adapter gives."""

    def seed(self, number: int) -> object:
        """Seed it."""
        return call_adapter(self.who, "random.seed()", self.generator.seed, number)

    def getstate(self) -> Any:
        """Its state."""
        return call_adapter(self.who, "random.getstate()", self.generator.getstate)

    def setstate(self, state: Any) -> object:
        """Put a state back."""
        return call_adapter(self.who, "random.setstate()", self.generator.setstate, state)
