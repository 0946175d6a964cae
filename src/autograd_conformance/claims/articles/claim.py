"""The classes of claims: a claim of an article, and the programs that decide it.

A claim is a statement of the article in the suite's words. A case is a program with the article's prediction for it: an
outcome of a line, a gradient after a line, or a number of saved tensors after a line. Whether the prediction is true is
not stored: running the program shows it. A claim has two kinds of cases, those in which the article is right and those
in which it is wrong. The verdict follows from which kinds exist, and from whether the article's own example is among
the wrong cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.slugs import Slug


class Verdict(Enum):
    """The verdict on a claim, from its programs."""

    HOLDS = "holds"
    CONDITION = "holds under a condition"
    AS_WRITTEN = "false as written"
    """The article's own example refutes the claim, which may hold under a condition."""
    FALSE = "false"
    NOT_TESTABLE = "not testable"


@dataclass(frozen=True, slots=True)
class Raises:
    """The article says that a line raises an error of a kind; None means any kind. Lines are counted from 1."""

    line: int
    kind: Kind | None = None


@dataclass(frozen=True, slots=True)
class Returns:
    """The article says that a line returns."""

    line: int


@dataclass(frozen=True, slots=True)
class HasGrad:
    """The article says that a leaf has this gradient after a line; None means no gradient. Values are in row-major
    order.
    """

    line: int
    leaf: str
    values: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Saved:
    """The article says how many saved tensors are alive after a line, relative to another line: fewer, as many, more or
    none.
    """

    line: int
    relation: str
    than: int | None = None


Prediction = Raises | Returns | HasGrad | Saved


@dataclass(frozen=True, slots=True)
class Case:
    """A program in the suite's text form, one instruction on each line, and the article's predictions for it."""

    program: str
    predicts: tuple[Prediction, ...]
    note: str = ""
    quoted: bool = False
    """True if the program is an example of the article, up to the line that the claim is about. It may end with one
    more call that tests the claim, such as a call that the example contains as a comment.
    """


@dataclass(frozen=True, slots=True)
class Article:
    """An article: a short key, its title, and its file in the collection."""

    key: str
    title: str
    file: str
    sections: tuple[str, ...]
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The code of each section, as programs. The first is the example as written, with one iteration of loops over data
    and with smaller tensors. If the article says that a line or flag is needed, another program omits it.
    """


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of an article.

    `says` is the claim in the suite's words. `truth` states the facts in a sentence or two, for a reader who came with
    the error message. `condition` says when the claim holds, or how the article would have to differ for it to hold.
    `rules` are the rules about the same behaviour. `situation` is the strategy in `strategies.articles` or
    `strategies.situations` that generalises the claim. `right` are the cases in which the claim is true, `wrong` those
    in which it is not. `untestable` is the reason why no program decides the claim.
    """

    key: str
    article: str
    section: str
    says: str
    truth: str
    rules: tuple[Slug, ...] = ()
    right: tuple[Case, ...] = ()
    wrong: tuple[Case, ...] = ()
    condition: str = ""
    situation: str | None = None
    untestable: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict, if all cases are as listed. A test and every run check that they are."""
        if any(case.quoted for case in self.wrong):
            return Verdict.AS_WRITTEN
        if self.right and self.wrong:
            return Verdict.CONDITION
        if self.right:
            return Verdict.HOLDS
        return Verdict.FALSE if self.wrong else Verdict.NOT_TESTABLE
