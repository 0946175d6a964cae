"""Frameworks whose exceptions cannot be stored unchanged, and adapters that raise outside of a program.

Each is the worked example with one change. `tests/checking/test_unruly.py` contains the expected results.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from autograd_conformance.frameworks.adapter import HookRaised
from autograd_conformance.processes import guard
from examples import tiny
from examples.tiny_adapter import Tiny
from tests.frameworks.adapters.misbehaving import during_second_backward, raising


def linked(*errors: BaseException, by: str = "__cause__") -> BaseException:
    """A cycle of exceptions, each raised from the next."""
    for one, other in zip(errors, (*errors[1:], errors[0]), strict=True):
        setattr(one, by, other)
    return errors[0]


class Endless(Exception):
    """An exception whose cause is always a new exception of its class."""

    @property
    def __cause__(self) -> Endless:  # type: ignore[override]
        return Endless()


class Secretive(Exception):
    """An exception whose cause cannot be read."""

    @property
    def __cause__(self) -> None:  # type: ignore[override]
        raise ValueError("no cause")


def freed(by: Callable[[BaseException], BaseException]) -> Callable[[], None]:
    """A framework's action: it raises the expected error after a change to it."""

    def deed() -> None:
        raise by(tiny.GraphFreed("freed"))

    return deed


def in_group(error: BaseException) -> BaseException:
    group = BaseExceptionGroup("several", [error, KeyError(1)])
    error.__context__ = group
    error.__cause__ = group
    return error


HalfACharacter = during_second_backward(raising(RuntimeError("cannot open t\udce9.bin")))
EscapesTerminal = during_second_backward(raising(RuntimeError("\x1b[31mred\x00")))
LongText = during_second_backward(lambda: raising(RuntimeError("x" * 10**8))())
OddName = during_second_backward(raising(type("Odd\x1b", (Exception,), {})("odd")))

CircleOfOne = during_second_backward(freed(lambda error: linked(error)))
CircleOfTwo = during_second_backward(freed(lambda error: linked(error, ValueError("b"))))
CircleOfThree = during_second_backward(freed(lambda error: linked(error, ValueError("b"), KeyError("c"))))
CircleOfContexts = during_second_backward(freed(lambda error: linked(error, ValueError("b"), by="__context__")))
CircleOfGroups = during_second_backward(freed(in_group))
EndlessCauses = during_second_backward(raising(Endless()))
SecretiveCauses = during_second_backward(raising(Secretive()))
HooksInGroup = during_second_backward(lambda: raising(ExceptionGroup("several", [HookRaised(HookRaised.MESSAGE)]))())

SwitchesWatchdogOff = during_second_backward(lambda: (faulthandler.cancel_dump_traceback_later(), time.sleep(1e6)))
StopsItself = during_second_backward(lambda: os.kill(os.getpid(), signal.SIGSTOP))
BlocksAlarms = during_second_backward(
    lambda: (
        faulthandler.cancel_dump_traceback_later(),
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()),
        time.sleep(1e6),
    )
)
ClosesEverything = during_second_backward(lambda: os.closerange(3, 200))


class WarnsHalf(Tiny):
    """It warns about a file with an invalid name."""

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
        with warnings.catch_warnings(action="always"):
            warnings.warn("t\udce9.bin", UserWarning, stacklevel=2)
        super().backward(roots, cotangents, retain_graph)


class Odd(UserWarning):
    """A warning that cannot be unpickled."""

    def __init__(self, one: int, *, other: int) -> None:
        super().__init__(one, other)


class WarnsOddly(Tiny):
    """It warns with its own class."""

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
        warnings.warn(Odd(1, other=2), stacklevel=2)
        super().backward(roots, cotangents, retain_graph)


def later(method: str, error: Callable[[], BaseException], after: int = 7) -> Callable[..., Tiny]:
    """An adapter one of whose methods raises from some call of each process on."""

    class Later(Tiny):
        def __init__(self, device: str = "cpu") -> None:
            super().__init__(device)
            self.calls = 0

    def raises(self: Any, *arguments: Any) -> Any:
        self.calls += 1
        if self.calls > after:
            raise error()
        before = getattr(Tiny, method, None)
        return None if before is None else before(self, *arguments)

    setattr(Later, method, raises)
    return Later


SkipsInReset = later("reset", lambda: pytest.skip.Exception("not now"))
InterruptsInReset = later("reset", KeyboardInterrupt)
ExitsInReset = later("reset", lambda: SystemExit(0))
EndsPytestInReset = later("reset", lambda: pytest.exit.Exception("enough", 0))
ClosesInPrepare = later("prepare", GeneratorExit)
SkipsInPrepare = later("prepare", lambda: pytest.skip.Exception("not now"))
HalfInPrepare = later("prepare", lambda: OSError("t\udce9.bin"))


class RandomExits(Tiny):
    """Its random number generator exits."""

    class Generator:
        def seed(self, number: int) -> None:
            raise SystemExit(0)

        def getstate(self) -> int:
            return 0

        def setstate(self, state: int) -> None:
            pass

    random = Generator()


class CounterSkips(Tiny):
    """Its counter of saved tensors skips the test."""

    def saved_tensor_counter(self) -> Any:
        raise pytest.skip.Exception("not today")


class ClassifySkips(Tiny):
    """`classify` skips the test for the expected error."""

    def classify(self, error: BaseException) -> Any:
        if isinstance(error, tiny.GraphFreed):
            raise pytest.skip.Exception("not today")
        return super().classify(error)


ClosesSome = during_second_backward(lambda: os.closerange(8, 60))


def close_all_but_the_pipe() -> None:
    """Closes the files of pytest and of the suite, but not the pipe by which the run says how it ended."""
    pipe = guard._Pipe.writing
    os.closerange(3, pipe)
    os.closerange(max(3, pipe + 1), 60)


ClosesAllButItsPipe = during_second_backward(close_all_but_the_pipe)


class ClosesLater(Tiny):
    """It closes files from its fiftieth program on."""

    programs = 0

    def reset(self) -> None:
        self.programs += 1
        if self.programs == 50:
            os.closerange(3, 200)
