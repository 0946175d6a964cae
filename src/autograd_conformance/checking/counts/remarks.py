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
from autograd_conformance.reporting.prose import counted, shortened
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
            yield _of_refusal(refusal, count, self.legal)
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


def advice(refusal: Refusal, legal: Collection[Refusal]) -> str:
    """Returns what to do about an error that `classify` does not know: the line to add, or, if the line would also
    match one of the errors that `legal` calls raised, why there is none.
    """
    part = _longest_part(refusal)
    if any(part in each.message if part else each.type == refusal.type for each in legal):
        return "Legal calls raise it, too, so that a line of classify() would hide a fault of the framework"
    known = (
        f"if {json.dumps(part, ensure_ascii=False)} in str(error)" if part else f"if isinstance(error, {refusal.type})"
    )
    return f"If it is the expected error, add to classify(): {known}: return Kind.{refusal.expected.name}"


def _longest_part(refusal: Refusal) -> str:
    """Returns the longest part without numbers of the message of an error."""
    return max(refusal.message.split("#"), key=len).strip()


def _of_refusal(refusal: Refusal, count: int, legal: Collection[Refusal]) -> str:
    """Returns the remark on an error that the adapter does not know, with what to do about it."""
    message = f"{refusal.type}: {shortened(refusal.message, LONGEST)}"
    return (
        f"{counted(count, 'call')} had to raise an error ({refusal.expected.value}), and raised one that the adapter's "
        f"classify() does not know, which is accepted: {message} {advice(refusal, legal)}"
    )


def _plain(text: str) -> str:
    """Returns the first line of a text, with `#` for addresses and numbers, which differ from run to run."""
    first = text.strip().partition("\n")[0]
    return shortened(re.sub(r"(?<!line )\b(?:0x[0-9a-f]+|\d+(?:\.\d+)?)", "#", first), 2 * LONGEST)
