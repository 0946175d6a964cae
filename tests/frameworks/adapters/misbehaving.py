"""Frameworks that disturb their process, and adapters with one bug: the worked example with one change.

`tests/plugin/test_misbehaviour.py` contains the expected results.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from examples import tiny
from examples.tiny_adapter import Tiny

HERE = ("tests.frameworks.adapters.misbehaving", "examples.tiny")
"""Modules of the misbehaving framework: this one, beside its adapter, and the example's."""
SECONDS = 600
"""Seconds for which a process runs that a framework leaves running."""


class Speechless(Exception):
    """An exception whose `str()` raises."""

    def __str__(self) -> str:
        raise ValueError("no text")


def raising(error: BaseException | type[BaseException]) -> Callable[[], None]:
    """A framework's action: it raises an exception."""

    def deed() -> None:
        raise error

    return deed


def during_backward(deed: Callable[[], object]) -> Callable[..., Tiny]:
    """A framework that runs an action during each backward call."""
    return _walking(lambda root: True, deed)


def during_second_backward(deed: Callable[[], object]) -> Callable[..., Tiny]:
    """A framework that runs an action where it should refuse a second call from a root, so that no op is the cause."""
    return _walking(lambda root: root.freed, deed)


def _walking(when: Callable[[tiny.Tensor], bool], deed: Callable[[], object]) -> Callable[..., Tiny]:
    class Walking(Tiny):
        packages = HERE

        def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
            if when(roots[0]):
                framework(deed)
            super().backward(roots, cotangents, retain_graph)

    return Walking


def framework(deed: Callable[[], object]) -> None:
    """Represents a framework's own code: exceptions in it are the framework's, not the adapter's."""
    deed()


def helper(**options: Any) -> Callable[[], None]:
    def deed() -> None:
        left(subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({SECONDS})"], **options).pid)

    return once(deed)


def once(deed: Callable[[], object]) -> Callable[[], None]:
    """An action that runs once in a process."""
    done: list[int] = []

    def first() -> None:
        if os.getpid() not in done:
            done.append(os.getpid())
            deed()

    return first


def left(process: int) -> None:
    """Record a process that is left running, so that it can be killed."""
    if "LEFT_BEHIND" in os.environ:
        with open(os.environ["LEFT_BEHIND"], "a") as file:
            print(process, file=file)


def thread() -> None:
    threading.Thread(target=time.sleep, args=(SECONDS,), daemon=False).start()


def fork() -> None:
    """Fork; the child returns like its parent."""
    os.fork()


def fork_and_sleep() -> None:
    child = os.fork()
    if not child:
        time.sleep(SECONDS)
    left(child)


def allocate() -> None:
    np.ones((1 << 62,))


def in_worker(number: int) -> None:
    """Represents another program that sends a signal to a worker. It sends none when the worker's program runs
    again.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.kill(os.getpid(), number)


def recurse() -> None:
    recurse()


Exits = during_second_backward(raising(SystemExit(0)))
ExitsNumbered = during_second_backward(lambda: sys.exit(3))
Stops = during_second_backward(raising(KeyboardInterrupt))
Closes = during_second_backward(raising(GeneratorExit))
Escapes = during_second_backward(raising(type("Escape", (BaseException,), {})("out of here")))
Skips = during_second_backward(lambda: pytest.skip("not today"))
Fails = during_second_backward(lambda: pytest.fail("so be it"))
EndsPytest = during_second_backward(lambda: pytest.exit("enough", returncode=0))
IsSpeechless = during_second_backward(raising(Speechless()))
OutOfMemory = during_second_backward(allocate)
Recurses = during_second_backward(recurse)
Asserts = during_second_backward(raising(AssertionError("so much for that")))
StopsIterating = during_second_backward(raising(StopIteration()))

Interrupted = during_second_backward(lambda: os.kill(os.getpid(), signal.SIGINT))

Leaves = during_second_backward(lambda: os._exit(0))
LeavesNumbered = during_second_backward(lambda: os._exit(7))
LeavesAsTheAudit = during_second_backward(lambda: os._exit(93))
LeavesAsAnAdapterError = during_second_backward(lambda: os._exit(10))
Segfaults = during_second_backward(lambda: os.kill(os.getpid(), signal.SIGSEGV))
ReadsNull = during_second_backward(lambda: ctypes.string_at(0))
Aborts = during_second_backward(os.abort)
IsKilled = during_second_backward(lambda: os.kill(os.getpid(), signal.SIGKILL))
IsKilledOutside = during_second_backward(lambda: in_worker(signal.SIGKILL))
IsQuitOutside = during_second_backward(lambda: in_worker(signal.SIGQUIT))
SegfaultsInWorkers = during_second_backward(lambda: in_worker(signal.SIGSEGV))
Terminates = during_second_backward(lambda: os.kill(os.getpid(), signal.SIGTERM))
Hangs = during_second_backward(lambda: time.sleep(1e6))

LeavesAHelper = during_backward(helper())
LeavesAThread = during_backward(once(thread))
Forks = during_backward(fork)
ForksOnce = during_backward(once(fork))
LeavesAChild = during_backward(once(fork_and_sleep))
ClosesFiles = during_backward(once(lambda: [os.close(number) for number in (0, 1, 2)]))
Prints = during_backward(lambda: os.write(1, b"garbage \xff\n"))
ChangesFolder = during_backward(lambda: os.chdir("/"))
SeedsRandom = during_backward(lambda: np.random.seed(0))
RaisesFloatingPoint = during_backward(lambda: np.seterr(all="raise"))
DeafensItself = during_backward(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))


class LeavesAtOnce(Tiny):
    """Loading the framework ends the process."""

    def __init__(self, device: str = "cpu") -> None:
        os._exit(0)


class LeavesInWorkers(Tiny):
    """Loading the framework for the second time ends the process."""

    def __init__(self, device: str = "cpu") -> None:
        if "PYTEST_XDIST_WORKER" in os.environ:
            os._exit(0)


class UnlikeInWorkers(Tiny):
    """Loading the framework for the second time raises."""

    def __init__(self, device: str = "cpu") -> None:
        if "PYTEST_XDIST_WORKER" in os.environ:
            raise OSError("the device is taken")


class LeavesInSmoke(Tiny):
    """The first leaf ends the process."""

    def leaf(self, data: Any, requires_grad: bool) -> Any:
        os._exit(0)


class LooksLater(Tiny):
    """The framework computes when a value is read, as lazy frameworks do, and then raises."""

    packages = HERE

    def read(self, value: Any) -> np.ndarray:
        if isinstance(value, np.ndarray):
            framework(raising(RuntimeError("the gradient cannot be computed after all")))
        return super().read(value)


class Huge(Tiny):
    """Its gradient has 10^12 elements that share one address."""

    def gradient(self, leaf: Any) -> Any:
        return None if leaf.grad is None else np.broadcast_to(np.float64(1), (10**6, 10**6))

    def read(self, value: Any) -> np.ndarray:
        return value if isinstance(value, np.ndarray) else super().read(value)

    def identity(self, gradient: Any) -> int:
        return 1


class HugeCopied(Huge):
    """The same, and its adapter copies the gradient."""

    def read(self, value: Any) -> np.ndarray:
        return Tiny.read(self, value)


class WritesCotangent(Tiny):
    """The framework writes to the cotangent."""

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
        super().backward(roots, cotangents, retain_graph)
        for cotangent in cotangents:
            if cotangent is not None:
                cotangent *= 2


# -- adapters ----------------------------------------------------------------------------------------------------------


def answering(method: str, answer: Any, when: Callable[..., bool] = lambda *_: True) -> Callable[..., Tiny]:
    """An adapter one of whose methods returns an invalid value, if `when` accepts its arguments."""

    def wrong(self: Tiny, *arguments: Any) -> Any:
        right = getattr(Tiny, method)(self, *arguments)
        return (answer(right) if callable(answer) else answer) if when(*arguments) else right

    return type("Wrong", (Tiny,), {method: wrong})


def declaring(**attributes: Any) -> Callable[..., Tiny]:
    """An adapter with an invalid attribute."""
    return type("Declares", (Tiny,), attributes)


def of_exp(op: str, *_: Any) -> bool:
    return op == "exp"


def of_gradient(value: Any, *_: Any) -> bool:
    return isinstance(value, np.ndarray)


NoName = declaring(name=None)
LongName = declaring(name="x" * 1000)
PathName = declaring(name="../../evil")
NumberVersion = declaring(version=3)
LongVersion = declaring(version="1" * 100_000)
LinesVersion = declaring(version="1.0\n2.0")
NumberOps = declaring(ops=3)
TextOps = declaring(ops="sin")
NumbersOps = declaring(ops=(1, 2))
NumberCapabilities = declaring(capabilities=3)
TextCapabilities = declaring(capabilities=("detach",))
TextDtypes = declaring(dtypes="float64")
NoDtypes = declaring(dtypes=None)
TextDialect = declaring(dialect="python")

ReadsText = answering("read", "[1, 2]", of_gradient)
ReadsNone = answering("read", None, of_gradient)
ReadsList = answering("read", lambda right: right.tolist())
AppliesNone = answering("apply", None, of_exp)
AppliesTensor = answering("apply", lambda right: right[0], of_exp)
AppliesNoResult = answering("apply", (), of_exp)
AppliesTwice = answering("apply", lambda right: (*right, *right), of_exp)
AppliesNoTensor = answering("apply", (None,), of_exp)
TellsNoDtype = answering("dtype", np.dtype("float64"), of_gradient)
TellsTextIdentity = answering("identity", "a")
RequiresText = answering("requires_grad", "yes")
RequiresTextLater = answering("requires_grad", "yes", lambda value: value.inputs != ())
DetachesNothing = answering("detach", None)
ClassifiesText = answering("classify", "freed", lambda error: isinstance(error, tiny.GraphFreed))


class ReadsLive(Tiny):
    """`read` returns the array itself."""

    def read(self, value: Any) -> np.ndarray:
        return value.data if isinstance(value, tiny.Tensor) else value


class ReadsLiveGradients(Tiny):
    """`read` returns the array itself, for gradients only."""

    def read(self, value: Any) -> np.ndarray:
        return value if isinstance(value, np.ndarray) else super().read(value)


class Subscripts(Tiny):
    """The adapter uses the attributes, which are a tuple of pairs, as a dict."""

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        return (tiny.sum(operands[0], attrs["dim"]),) if op == "sum" else super().apply(op, operands, attrs)


class AsksWrongly(Tiny):
    """The adapter makes an invalid call of NumPy before it calls its framework."""

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        return (np.zeros("two"),) if op == "exp" else super().apply(op, operands, attrs)  # type: ignore[call-overload]


class Misnames(Tiny):
    """The adapter uses an undefined name."""

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
        rots[0].backward()  # type: ignore[name-defined]  # noqa: F821


class MissesOp(Tiny):
    """The adapter claims an op that its framework's module does not have."""

    ops = Tiny.ops | {"cos"}
    dialect = None


class MissesArgument(Tiny):
    """`zero_grad` does not accept `set_to_none`."""

    def zero_grad(self, leaves: Any) -> None:  # type: ignore[override]
        super().zero_grad(leaves, True)


class ResetRaises(Tiny):
    """`reset` raises from its second call on."""

    resets = 0

    def reset(self) -> None:
        self.resets += 1
        if self.resets > 3:
            raise RuntimeError("nothing to reset")


class ClassifyRaises(Tiny):
    """`classify` raises for an error that it does not recognise."""

    def classify(self, error: BaseException) -> Any:
        if isinstance(error, tiny.GraphFreed):
            raise LookupError("which error is that?")
        return super().classify(error)
