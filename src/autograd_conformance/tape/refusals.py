"""Errors of which an adapter does not know what they say: where one is due, such a call was refused all the same.

Then what is missing is a line of the adapter's `classify`, and no rule is broken. It is otherwise where the adapter
claims to know every error of its framework, where the error is an accident that no framework refuses a call by, and
where the rules expect the call to return.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.observations import Kind, Raised, StepObservation
from autograd_conformance.tape.graph import Expectation

ACCIDENTS = frozenset(
    {
        "AttributeError", "BufferError", "Crashed", "EOFError", "FloatingPointError", "GeneratorExit", "IndexError",
        "KeyError", "KeyboardInterrupt", "MemoryError", "NameError", "OverflowError", "RecursionError", "StopIteration",
        "SystemError", "SystemExit", "TimedOut", "UnboundLocalError", "UnicodeDecodeError", "ZeroDivisionError",
    }
)  # fmt: skip
"""The types of errors that programs run into, and no framework refuses a call by; the ends of processes among them."""

UNSUPPORTED = re.compile(
    r"not (?:yet |been |currently )*(?:implement|support)|n['o]t support|unsupported|unimplemented"
    r"|no (?:gradient|derivative|grad)\w* (?:is |was |rule |function |formula )*(?:defined|registered|implemented)",
    re.IGNORECASE,
)
"""What errors say that refuse what is not there."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that was refused, by an error that the adapter does not know."""

    expected: Kind
    """The kind of error that is due."""
    type: str
    message: str

    @classmethod
    def of(cls, raised: Raised, expected: Kind) -> Refusal:
        """The refusal in an outcome; numbers, which are other ones each time, are left out of its message."""
        first = raised.message.strip().partition("\n")[0]
        return cls(expected, raised.type, re.sub(r"\d+(?:\.\d+)?", "#", first)[:200])


def kind_of_unknown_error(
    observed: StepObservation, expectation: Expectation, capabilities: Collection[Capability]
) -> Kind | None:
    """The kind of error that an unknown one counts as; None where it counts as what it is."""
    raised = observed.outcome
    if not isinstance(raised, Raised) or raised.kind is not Kind.UNKNOWN or len(observed.region) > 1:
        return None
    if Capability.KNOWS_ERRORS in capabilities or Kind.UNKNOWN in expectation.raises or raised.type in ACCIDENTS:
        return None
    if expectation.returns is None:
        return next(iter(expectation.raises), None)
    unsupported = raised.type == "NotImplementedError" or UNSUPPORTED.search(raised.message)
    return Kind.NOT_IMPLEMENTED if unsupported and Kind.NOT_IMPLEMENTED in expectation.raises else None


def with_known_kind(
    observed: StepObservation, expectation: Expectation, capabilities: Collection[Capability]
) -> StepObservation:
    """What was observed, with the kind of error that it counts as."""
    kind = kind_of_unknown_error(observed, expectation, capabilities)
    if kind is None:
        return observed
    assert isinstance(observed.outcome, Raised)
    return replace(observed, outcome=replace(observed.outcome, kind=kind))
