"""The classes of claims: a claim of an article about autograd, and the programs that show if the claim is true.

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
    """The verdict on a claim of an article, which follows from the programs that confirm and refute the claim."""

    HOLDS = "holds"
    CONDITION = "holds under a condition"
    AS_WRITTEN = "false as written"
    """The article's own example refutes the claim, which may hold under a condition."""
    FALSE = "false"
    NOT_TESTABLE = "not testable"


@dataclass(frozen=True, slots=True)
class Raises:
    """Predicts, as the article does, that a line of a program raises an error of this kind; None means any kind. Lines
    are counted from 1.
    """

    line: int
    kind: Kind | None = None


@dataclass(frozen=True, slots=True)
class Returns:
    """Predicts, as the article does, that a line of a program returns without an error."""

    line: int


@dataclass(frozen=True, slots=True)
class HasGrad:
    """Predicts, as the article does, that a leaf has this gradient after a line of a program, in row-major order; None
    means no gradient.
    """

    line: int
    leaf: str
    values: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Saved:
    """Predicts, as the article does, how many saved tensors are alive after a line: none, or fewer than, as many as or
    more than after the line `than`.
    """

    line: int
    relation: str
    than: int | None = None


Prediction = Raises | Returns | HasGrad | Saved


@dataclass(frozen=True, slots=True)
class Case:
    """A program in the suite's text form, one instruction on each line, and the article's predictions for the program's
    lines.
    """

    program: str
    predicts: tuple[Prediction, ...]
    note: str = ""
    quoted: bool = False
    """True if the program is an example of the article, up to the line that the claim is about, perhaps with one more
    call that tests the claim, such as a call that the example contains as a comment.
    """


@dataclass(frozen=True, slots=True)
class Article:
    """An article about autograd: a short key, the title, the name of its text file in the collection of articles, the
    headings, and the code of the examples.
    """

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
        """Returns the verdict on the claim, if every case in `right` confirms and every case in `wrong` refutes the
        claim, as a test and every run check.
        """
        if any(case.quoted for case in self.wrong):
            return Verdict.AS_WRITTEN
        if self.right and self.wrong:
            return Verdict.CONDITION
        if self.right:
            return Verdict.HOLDS
        return Verdict.FALSE if self.wrong else Verdict.NOT_TESTABLE
