"""What a run has to say to an adapter's author, beside all verdicts: errors that `classify` does not know, and what
could not be looked at. Each is counted, and said once, at the top of the report.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from autograd_conformance.programs.observations import Kind, Observation, Raised, undecided_error
from autograd_conformance.reporting.prose import counted, shortened
from autograd_conformance.tape.refusals import Refusal

SHOWN = 10
"""How many remarks of a kind are said; the rest is counted."""
LONGEST = 120
"""How many characters of a message are shown."""


@dataclass(slots=True)
class Remarks:
    """The remarks of one test, or of all tests so far."""

    refusals: Counter[Refusal] = field(default_factory=Counter)
    """How often calls were refused by errors that the adapter does not know."""
    unseen: Counter[str] = field(default_factory=Counter)
    """In how many programs something could not be looked at, in words, less their numbers."""
    undecided: Counter[str] = field(default_factory=Counter)
    """In how many programs an error came out of which nobody can tell whose it is, in words."""

    def note(self, observation: Observation) -> None:
        """Count what an observation has to say."""
        self.unseen.update({_plain(each) for seen in observation for each in seen.unobserved})
        error = undecided_error(*observation)
        self.undecided.update([described(error)] if error is not None else [])

    def add(self, other: Remarks) -> None:
        """Add the counts of other tests."""
        self.refusals.update(other.refusals)
        self.unseen.update(other.unseen)
        self.undecided.update(other.undecided)

    def lines(self) -> Iterator[str]:
        """What is said, a line each."""
        for refusal, count in self.refusals.most_common(SHOWN):
            yield _of_refusal(refusal, count)
        for words, count in self.unseen.most_common(SHOWN):
            yield f"In {counted(count, 'program')} something could not be looked at, and was not judged: {words}"
        for words, count in self.undecided.most_common(SHOWN):
            whose = "it cannot be told whether an error is the framework's or the adapter's"
            yield f"In {counted(count, 'program')} {whose}: {words}"
        rest = sum(max(0, len(each) - SHOWN) for each in (self.refusals, self.unseen, self.undecided))
        if rest:
            yield f"And {counted(rest, 'more remark')} of these kinds"

    def to_json(self) -> dict[str, Any]:
        """As plain data, which crosses processes."""
        refusals = [[each.expected.value, each.type, each.message, count] for each, count in self.refusals.items()]
        return {"refusals": refusals, "unseen": dict(self.unseen), "undecided": dict(self.undecided)}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Remarks:
        """From plain data."""
        refusals = {Refusal(Kind(kind), type_, message): count for kind, type_, message, count in form["refusals"]}
        return cls(Counter(refusals), Counter(form["unseen"]), Counter(form["undecided"]))


def described(error: Raised) -> str:
    """An error of which nobody can tell whose it is, in words, less its numbers."""
    return _plain(f"{error.type}: {error.message}")


def _of_refusal(refusal: Refusal, count: int) -> str:
    """The remark on an error that the adapter does not know, with the line that is to be added."""
    part = max(refusal.message.split("#"), key=len).strip()
    known = (
        f"if {json.dumps(part, ensure_ascii=False)} in str(error)" if part else f"if isinstance(error, {refusal.type})"
    )
    message = f"{refusal.type}: {shortened(refusal.message, LONGEST)}"
    return (
        f"{counted(count, 'call')} had to be refused ({refusal.expected.value}), and raised an error that "
        f"the adapter's classify() does not know, which counts as refused: {message} "
        f"If that is what it means, add to classify(): {known}: return Kind.{refusal.expected.name}"
    )


def _plain(text: str) -> str:
    """The first line of a text without what is another one each time: addresses and numbers."""
    first = text.strip().partition("\n")[0]
    return shortened(re.sub(r"(?<!line )\b(?:0x[0-9a-f]+|\d+(?:\.\d+)?)", "#", first), 2 * LONGEST)
