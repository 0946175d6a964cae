"""Errors that an adapter cannot classify: where the rules expect an error, an unclassified one counts as that error.

Such an error shows that the adapter's `classify` lacks a line; it breaks no rule. There are three exceptions: the
adapter claims to know every error of its framework; the error is an accident, by which no framework refuses a call; or
the rules let the call return as well, and the error does not say why it may raise.
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
"""Types of errors that occur by accident and by which no framework refuses a call; ends of processes are among them."""

SAYS = {
    Kind.NOT_IMPLEMENTED: re.compile(
        r"not (?:yet |been |currently )*(?:implement|support)|n['o]t support|unsupported|unimplemented"
        r"|no (?:gradient|derivative|grad)\w* (?:is |was |rule |function |formula )*(?:defined|registered|implemented)",
        re.IGNORECASE,
    ),
    Kind.MODIFIED: re.compile(
        r"(?:modif|mutat|chang|overwrit|written)\w*\b.{0,40}\bin[- ]?place"
        r"|in[- ]?place.{0,40}\b(?:modif|mutat|chang|writ)"
        r"|\bversion\b.{0,40}\bexpected|expected.{0,40}\bversion\b",
        re.IGNORECASE,
    ),
    Kind.GRAPH_FREED: re.compile(
        r"\b(?:already|been|was) (?:\w+ )?(?:freed|released|cleared|consumed)\b|second time", re.IGNORECASE
    ),
}
"""For some kinds of errors, the pattern of phrases in a message that say so, searched where a call may also return."""

_MISTAKEN = {Kind.NON_SCALAR_ROOT: Kind.COTANGENT_SHAPE}
"""Kinds that a message may name although a call is refused for another reason: both are about the cotangent's shape."""

_SHAPE = re.compile(r"[(\[]\s*#(?:\s*,\s*#)*,?\s*[)\]]|(?<!\w)\(\s*\)|\[\s*\]")
"""A shape, or a list of numbers, after `#` took the place of each number; the brackets of a call are none."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that was refused by an error that the adapter cannot classify."""

    expected: Kind
    """The kind of error that the rules expect."""
    type: str
    message: str

    @classmethod
    def of(cls, raised: Raised, expected: Kind) -> Refusal:
        """Returns the refusal in an outcome, with at most 200 characters of the first line of its message. Numbers and
        shapes in that line, which differ between runs, are replaced by `#`.
        """
        first = raised.message.strip().partition("\n")[0]
        return cls(expected, raised.type, _SHAPE.sub("#", re.sub(r"\d+(?:\.\d+)?", "#", first))[:200])


def kind_of_unknown_error(
    observed: StepObservation, expectation: Expectation, capabilities: Collection[Capability]
) -> Kind | None:
    """Returns the kind of error that an unclassified or mistaken error counts as; None if it counts as what it is."""
    raised = observed.outcome
    if not isinstance(raised, Raised) or len(observed.region) > 1 or Capability.KNOWS_ERRORS in capabilities:
        return None
    if raised.kind in _MISTAKEN and raised.kind not in expectation.raises:
        return _MISTAKEN[raised.kind] if _MISTAKEN[raised.kind] in expectation.raises else None
    if raised.kind is not Kind.UNKNOWN or Kind.UNKNOWN in expectation.raises or raised.type in ACCIDENTS:
        return None
    if expectation.returns is None:
        return next(iter(expectation.raises), None)
    if raised.type == "NotImplementedError" and Kind.NOT_IMPLEMENTED in expectation.raises:
        return Kind.NOT_IMPLEMENTED
    return next(
        (kind for kind, words in SAYS.items() if kind in expectation.raises and words.search(raised.message)), None
    )


def with_known_kind(
    observed: StepObservation, expectation: Expectation, capabilities: Collection[Capability]
) -> StepObservation:
    """Returns the observation, with the kind of error that an unclassified error counts as."""
    kind = kind_of_unknown_error(observed, expectation, capabilities)
    if kind is None:
        return observed
    assert isinstance(observed.outcome, Raised)
    return replace(observed, outcome=replace(observed.outcome, kind=kind))
