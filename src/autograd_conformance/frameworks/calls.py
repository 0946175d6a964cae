"""Calls of adapter methods outside of a program, such as `reset` or the probe. Any exception is the adapter's error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from autograd_conformance.frameworks.adapter import Adapter, Generator
from autograd_conformance.frameworks.environment.interrupts import is_users
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.programs.foreign.text import message, type_of

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Raised:
    """The exception that a call raised, which `attempt` returns in place of a result."""

    error: BaseException


def call_adapter(who: str, what: str, call: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Call a method of an adapter, and return its result.

    Raises `AdapterError`, with `what` as the name of the call, if the call raises. An exception that comes from a
    signal of the user is raised unchanged.
    """
    match attempt(call, *arguments, **options):
        case Raised(error):
            raise AdapterError(f"{who}: {what} raised {type_of(error)}: {message(error)}") from error
        case result:
            return result


def attempt(call: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T | Raised:
    """Returns the result of a call, or `Raised` with its exception. `AdapterError` and exceptions from a user's signal
    are raised.
    """
    try:
        return call(*arguments, **options)
    except AdapterError:
        raise
    except BaseException as error:
        if is_users(error):
            raise
        return Raised(error)


def reset(adapter: Adapter) -> None:
    """Calls an adapter's `reset`. Raises `AdapterError` if it raises."""
    call_adapter(adapter.name, "reset()", adapter.reset)


@dataclass(frozen=True, eq=False)
class CheckedGenerator:
    """A framework's random number generator. An exception of its methods is raised as `AdapterError`."""

    who: str
    """Name of the framework."""
    generator: Generator
    """The adapter's generator."""

    def seed(self, number: int) -> object:
        """Seed the generator."""
        return call_adapter(self.who, "random.seed()", self.generator.seed, number)

    def getstate(self) -> Any:
        """Return the generator's state."""
        return call_adapter(self.who, "random.getstate()", self.generator.getstate)

    def setstate(self, state: Any) -> object:
        """Restore a state of the generator."""
        return call_adapter(self.who, "random.setstate()", self.generator.setstate, state)
