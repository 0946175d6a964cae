"""Finds out whether an error is about something that a framework does not have, or an error of what it has."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import Parameter, signature
from traceback import extract_tb, walk_tb
from types import ModuleType

from autograd_conformance.frameworks.torchlike import interface
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.programs.own_numpy import np

REFUSALS = re.compile(
    r"not (yet )?(been )?(implemented|supported)|unsupported|supported only|only supported|no kernel"
    r"|incompatible (function|constructor) arguments"
    r"|(unexpected|invalid) keyword|(positional|required) arguments?|takes (no|exactly|at most|at least|from|\d)"
    r"|got multiple values|not differentiable|no derivative|object is not callable"
    r"|object cannot be interpreted as an integer|bad operand type|is not subscriptable"
    r"|can only be (an? )?(float|int|number|scalar)",
    re.IGNORECASE,
)
"""The words of messages about something that a framework does not have, or about the signature of a call."""

SHAPES = re.compile(
    r"expect(s|ed)? .*\b(shape|rank|dimension|\dd\b)|must have (shape|rank)|only (supports?|accepts?)", re.IGNORECASE
)
"""The words of messages about the shapes that a function takes."""

OF_SHAPES = re.compile(r"shape|broadcast|dimension|size|mismatch", re.IGNORECASE)
"""The words of messages about operands of different shapes."""

OF_A_MODULE = re.compile(r"module '[\w.]+' has no attribute ")
"""The words of an error about a missing name of a module, which a module's own `__getattr__` raises without the module.
"""

UNSETTABLE = re.compile(r"has no setter|can't set attribute|is not writable")
"""The words of errors about an attribute that a framework's tensors have, but do not let a program set."""

BACKWARD = ("backward", "grad")
"""The methods of adapters that differentiate, and the functions of frameworks that they call."""


def refusal(error: BaseException, of_shapes: bool = False) -> str | None:
    """Returns why an error says that something is missing, or, with `of_shapes`, that a function does not take the
    shapes of its operands; None if it does not say so.
    """
    match error:
        case NotImplementedError() | ImportError():
            says = True
        case AttributeError(obj=list() | tuple() as given) if given and all(
            "Tensor" in type(x).__name__ for x in given
        ):
            says = True  # a program gave several roots, and the framework takes them for a tensor
        case TypeError() | AttributeError() if _below_backward(error):
            says = False  # the framework's own derivative made the call, so the fault is in its code
        case AssertionError():
            says = _innermost(error)[1].startswith("assert isinstance")
        case AttributeError(obj=obj):
            # a name that the framework's own code does not find on another object is a fault of that code; but a dict
            # is a parameter group that a program gave, which an optimizer without groups takes for a tensor, and an
            # array may be what the framework has as a gradient
            says = (
                isinstance(obj, ModuleType | type | dict | np.ndarray | np.generic)
                or OF_A_MODULE.match(str(error)) is not None
                or _innermost(error)[0].startswith("<")
                or "Tensor" in type(obj).__name__
                or UNSETTABLE.search(str(error)) is not None
            )
        case _:
            says = any(each.search(str(error)) for each in ((REFUSALS, SHAPES) if of_shapes else (REFUSALS,)))
    return f"{type_of(error)}: {message(error).partition(chr(10))[0]}" if says else None


def _below_backward(error: BaseException) -> bool:
    """Whether the framework's code raised an error while it computed derivatives. An error about the arguments of the
    backward call, or about a name that the module does not have, is not one.
    """
    codes = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    ours = [code.co_filename == interface.__file__ for code in codes]
    calls = any(own and code.co_name in BACKWARD for own, code in zip(ours, codes))
    if not calls or ours[-1] or any(f"{name}()" in str(error) for name in BACKWARD):
        return False
    entered = codes[len(ours) - ours[::-1].index(True)]  # the framework's function that the suite's code called
    return entered.co_name != "__getattr__"


def first_is_a_flag(backward: Callable[..., object]) -> str | None:
    """Returns the name of the first argument of a function if it is True or False by default, as an argument for a
    gradient is not; None otherwise, and for a compiled function without a signature.
    """
    try:
        arguments = signature(backward).parameters.values()
    except (TypeError, ValueError):
        return None
    first = next((each for each in arguments if each.kind is not Parameter.KEYWORD_ONLY), None)
    return first.name if first is not None and isinstance(first.default, bool) else None


def _innermost(error: BaseException) -> tuple[str, str]:
    """Returns the name of the file whose code raised an error, ``<string>`` for code that was made from a template, and
    the line that raised it, empty if the file cannot be read.
    """
    frames = extract_tb(error.__traceback__)
    return (frames[-1].filename, frames[-1].line or "") if frames else ("", "")
