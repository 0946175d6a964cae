"""A claim of an article, and the programs that decide it.

A claim is what a document says in our own words. A case is a program together with what the document predicts of it: an
outcome at a line, a gradient after a line, or how many saved tensors are alive after a line. Whether the prediction
comes true is not written down: it is what running the program shows. The cases of a claim are of two kinds, those in
which the document is right and those in which it is wrong. Which kinds there are, and whether the document's own
example is among the wrong ones, is the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from autograd_conformance.programs.observations import Kind


class Verdict(Enum):
    """What running a claim's programs says of it."""

    HOLDS = "holds"
    CONDITION = "holds under a condition"
    AS_WRITTEN = "false as written"
    """The document's own example refutes it; there may be a condition under which it would hold."""
    FALSE = "false"
    NOT_TESTABLE = "not testable"


@dataclass(frozen=True, slots=True)
class Raises:
    """The document says that a line raises an error of a kind (None: of any kind). Lines count from 1."""

    line: int
    kind: Kind | None = None


@dataclass(frozen=True, slots=True)
class Returns:
    """The document says that a line returns."""

    line: int


@dataclass(frozen=True, slots=True)
class HasGrad:
    """The document says what a leaf's gradient is after a line (None: it holds none); the values are row-major."""

    line: int
    leaf: str
    values: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Saved:
    """The document says how many saved tensors are alive after a line, against after another one: fewer, as many, more,
    none.
    """

    line: int
    relation: str
    than: int | None = None


Prediction = Raises | Returns | HasGrad | Saved


@dataclass(frozen=True, slots=True)
class Case:
    """A program in the suite's text form, one instruction a line, and what the document predicts of it."""

    program: str
    predicts: tuple[Prediction, ...]
    note: str = ""
    quoted: bool = False
    """Whether it is an example of the article's as it stands there, up to the line that the claim is about; or up to
    there with one more call that asks what the claim says, such as one that the example leaves in a comment."""


@dataclass(frozen=True, slots=True)
class Article:
    """A document: a short key, its title and its file in the collection it comes from."""

    key: str
    title: str
    file: str
    sections: tuple[str, ...]
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The code of each section that has some, as programs: first as it is written (one round of a loop that goes over
    data, and smaller tensors), then, where a line or a flag is said to be needed, without it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim; `right` are the cases in which it comes true, `wrong` those in which it does not.

    `says` is the claim in our own words; `truth` what is really so, in a sentence or two for a reader who came with the
    error message; `condition` when the claim holds, where it does so sometimes, or what would have to be otherwise in
    the document for it to hold; `rules` the rules that it feeds;
    `situation` the strategy (a name in `strategies.articles` or `strategies.situations`) that generalises it.
    `untestable` gives the reason where no program decides the claim.
    """

    key: str
    article: str
    section: str
    says: str
    truth: str
    rules: tuple[str, ...] = ()
    right: tuple[Case, ...] = ()
    wrong: tuple[Case, ...] = ()
    condition: str = ""
    situation: str | None = None
    untestable: str = ""

    @property
    def verdict(self) -> Verdict:
        """What its programs say, provided that they run as listed (a test and every run see to that)."""
        if any(case.quoted for case in self.wrong):
            return Verdict.AS_WRITTEN
        if self.right and self.wrong:
            return Verdict.CONDITION
        if self.right:
            return Verdict.HOLDS
        return Verdict.FALSE if self.wrong else Verdict.NOT_TESTABLE
