"""Remarks for the adapter's author: errors that the adapter's `classify` does not know, and values that the adapter
could not read.

Remarks are no verdicts. Each is counted and printed once, at the top of the report.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from autograd_conformance.programs import slugs
from autograd_conformance.programs.observations import Kind, Observation, Raised, undecided_error
from autograd_conformance.reporting.prose import counted, listed, shortened
from autograd_conformance.reporting.records.terms import UNKNOWN_ERROR
from autograd_conformance.rules.judge.judgement import Judgement
from autograd_conformance.tape.refusals import Refusal

SHOWN = 10
"""Number of remarks of each kind that are printed; the number of the others is printed."""
LONGEST = 120
"""Largest number of characters of a message that is printed."""


@dataclass(slots=True)
class Remarks:
    """The remarks for the adapter's author from one test, or from all tests so far."""

    refusals: Counter[Refusal] = field(default_factory=Counter)
    """Number of calls that raised an error which `classify` does not know, where an error was expected."""
    legal: set[Refusal] = field(default_factory=set)
    """The errors that `classify` does not know and that legal calls raised, as refusals of the kind `UNKNOWN`."""
    unobserved: Counter[str] = field(default_factory=Counter)
    """Number of programs in which the adapter could not read something, by the description of what and why, without
    numbers.
    """
    undecided: Counter[str] = field(default_factory=Counter)
    """Number of programs with an error that may be the framework's or the adapter's, by the error's type and message
    without numbers.
    """

    def note(self, observation: Observation) -> None:
        """Counts the values that could not be read, and the undecided error, in the observation of one program."""
        self.unobserved.update({_plain(each) for step in observation for each in step.unobserved})
        error = undecided_error(*observation)
        self.undecided.update([described(error)] if error is not None else [])

    def note_judgement(self, judgement: Judgement, observation: Observation) -> None:
        """Counts the errors of one program that `classify` does not know: those that were expected, and those of legal
        calls.
        """
        self.refusals.update(judgement.refusals)
        for violation in filter(None, (*judgement.waived, judgement.violation)):
            outcome = observation[violation.at].outcome
            is_legal = violation.rule == slugs.ERRORS_LEGAL_RETURNS
            if is_legal and isinstance(outcome, Raised) and outcome.kind is Kind.UNKNOWN:
                self.legal.add(Refusal.of(outcome, Kind.UNKNOWN))

    def add(self, other: Remarks) -> None:
        """Adds the counts of another test."""
        self.refusals.update(other.refusals)
        self.legal |= other.legal
        self.unobserved.update(other.unobserved)
        self.undecided.update(other.undecided)

    def lines(self) -> Iterator[str]:
        """Yields the remarks as lines of text for the report."""
        for refusal, count in self.refusals.most_common(SHOWN):
            yield _of_refusal(refusal, count, self)
        for words, count in self.unobserved.most_common(SHOWN):
            yield f"In {counted(count, 'program')} the adapter could not read something, which was not judged: {words}"
        for words, count in self.undecided.most_common(SHOWN):
            whose = "an error may be the framework's or the adapter's"
            yield f"In {counted(count, 'program')} {whose}: {words}"
        rest = sum(max(0, len(each) - SHOWN) for each in (self.refusals, self.unobserved, self.undecided))
        if rest:
            yield f"{counted(rest, 'more remark')} of these kinds"

    def to_json(self) -> dict[str, Any]:
        """Returns the remarks as JSON data, for sending to another process."""
        refusals = [[each.expected.value, each.type, each.message, count] for each, count in self.refusals.items()]
        legal = [[each.type, each.message] for each in self.legal]
        return {
            "refusals": refusals,
            "legal": legal,
            "unseen": dict(self.unobserved),
            "undecided": dict(self.undecided),
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Remarks:
        """Returns the remarks that `to_json` of another process made."""
        refusals = {Refusal(Kind(kind), type_, message): count for kind, type_, message, count in form["refusals"]}
        legal = {Refusal(Kind.UNKNOWN, type_, message) for type_, message in form["legal"]}
        return cls(Counter(refusals), legal, Counter(form["unseen"]), Counter(form["undecided"]))


def described(error: Raised) -> str:
    """Returns the type and message of an error that may be the framework's or the adapter's, without numbers."""
    return _plain(f"{error.type}: {error.message}")


def advice(refusal: Refusal, legal: Collection[Refusal], refusals: Collection[Refusal] = ()) -> str:
    """Returns what to do about an error that `classify` does not know: the line to add, or why there is none: it would
    also match one of the errors that `legal` calls raised, or one of the `refusals` that are of another kind.
    """
    possible = tuple(_conditions(refusal))
    if any(possible[0].matches(each) for each in legal):
        return "Legal calls raise it, too, so that a line of classify() would hide a fault of the framework"
    others = [each for each in refusals if each.expected is not refusal.expected]
    separate = next((each for each in possible if not any(each.matches(other) for other in others)), None)
    if separate is not None:
        line = f"if {separate.code}: return Kind.{refusal.expected.name}"
        return f"If it is the expected error, add to classify(): `{line}`"
    alike = sorted({each.expected.value for each in others if possible[-1].matches(each)})
    return f"Its type and message do not separate it from the error expected for {listed(alike)}, so there is no line"


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition of `classify` on an error: texts that its message contains, and its type if `type` is not empty."""

    texts: tuple[str, ...]
    type: str = ""

    def matches(self, refusal: Refusal) -> bool:
        """Whether the condition holds for an error."""
        return self.type in ("", refusal.type) and all(each in refusal.message for each in self.texts)

    @property
    def code(self) -> str:
        """The condition in Python."""
        of_type = [f"isinstance(error, {self.type})"] if self.type else []
        return " and ".join(
            [*of_type, *(f"{json.dumps(each, ensure_ascii=False)} in str(error)" for each in self.texts)]
        )


def _conditions(refusal: Refusal) -> Iterator[_Condition]:
    """Yields conditions that hold for an error, the shortest first and the strictest last."""
    parts = _parts(refusal.message)
    if parts:
        yield _Condition((max(parts, key=len),))
        yield _Condition(parts)
        yield _Condition((max(parts, key=len),), refusal.type)
    yield _Condition(parts, refusal.type)


def _parts(message: str) -> tuple[str, ...]:
    """Returns the parts of a message that are the same in each run and that a page shows as they are: without numbers,
    backticks and white space other than single blanks.
    """
    parts = (each.strip() for each in re.split(r"#|`|\s{2,}|[^\S ]", message))
    return tuple(dict.fromkeys(each for each in parts if any(map(str.isalpha, each))))


def _of_refusal(refusal: Refusal, count: int, remarks: Remarks) -> str:
    """Returns the remark on an error that the adapter does not know, with what to do about it."""
    message = f"{refusal.type}: {shortened(refusal.message, LONGEST)}".replace("`", "'")
    return (
        f"{counted(count, 'call')} had to raise an error ({refusal.expected.value}), and {UNKNOWN_ERROR}, "
        f"which is accepted: {message}. {advice(refusal, remarks.legal, remarks.refusals)}"
    )


def _plain(text: str) -> str:
    """Returns the first line of a text, with `#` for addresses and numbers, which differ from run to run."""
    first = text.strip().partition("\n")[0]
    return shortened(re.sub(r"(?<!line )\b(?:0x[0-9a-f]+|\d+(?:\.\d+)?)", "#", first), 2 * LONGEST)
