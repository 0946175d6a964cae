"""Records of failures: a program that broke a rule, the violation, and the explanation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from autograd_conformance.reporting.records.flow import GradientFlow
from autograd_conformance.reporting.records.terms import LATER, FailureVerdict, Level, Source


@dataclass(frozen=True, slots=True)
class Allowed:
    """An outcome that the rules allow, with the slug of the rule that allows it."""

    outcome: str
    rule: str


@dataclass(frozen=True, slots=True)
class ExplanationStep:
    """One step of an explanation: a line of the code (from 1), and its consequence for the expected value."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ErrorSize:
    """Size of a numerical error: `largest` is the largest absolute error, `bound` the largest that rounding explains,
    and `units` their quotient, infinite if `bound` is 0.
    """

    largest: float
    bound: float
    units: float
    digits: float | None = field(default=None, metadata=LATER)
    """Number of right decimal digits of the wrong element that has the fewest; None if the record does not say."""
    of: float | None = field(default=None, metadata=LATER)
    """Number of decimal digits of the dtype: 16 for float64, 7 for float32."""


@dataclass(frozen=True, slots=True)
class Votes:
    """The values (as text) computed by the framework, by the reference and by finite differences, and a sentence that
    says which of them agree.
    """

    framework: str
    reference: str
    finite_differences: str
    decision: str


@dataclass(frozen=True, slots=True)
class LineGroup:
    """Lines of a program that belong together: a region, whose instructions run as one compiled or checkpointed
    function, or an iteration of a loop.

    Records call a region ``unit``.
    """

    kind: Literal["unit", "iteration"]
    lines: tuple[int, ...]


Severity = Literal["value", "crash", "lost error", "wrong error", "form"]
"""Damage to the user, the worst first: silently wrong numbers; a process that crashed or hangs; a missing error; an
unexpected error; wrong dtypes, layouts, flags or memory.
"""


@dataclass(frozen=True, slots=True)
class Category:
    """Category of a violation, in words that never change between versions."""

    severity: Severity
    what: str
    """Kind of difference: ``other gradient``, ``returned``."""
    error: str | None = None
    """Kind of the missing error, or of the unexpected one; None if the violation is not about errors."""


ENDING = "ending"
"""The stage of a signature if the program ended its process or did not come back."""

_UNKNOWN = re.compile(r"raised an error that the adapter's `classify` does not know \((.*)\)", re.DOTALL)
"""The observed outcome of a call that raised an error of no kind that the adapter names."""

EMPTY = "an operand without elements"
UNBATCHED = "an operand without a batch"

OF_OPERANDS = frozenset({EMPTY, UNBATCHED})
"""The meanings of errors that only operands of a special shape show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The fault that a failure shows, as data that is equal in all failures of one fault, whatever their programs, ops
    and tests are.
    """

    stage: str
    """The kind of the failing instruction, as programs in JSON name it: ``apply``, ``write``, ``backward``."""
    general: bool
    """Whether failures of different ops with this signature have one cause; wrong numbers usually do not."""
    got: str | None = None
    """The observed shape, flag, error or pattern of the numbers; None if the kind of difference says
    it all.
    """
    want: str | None = None
    """The shape, dtype or kind of error that the rules allow in its place; None if that follows from the rest."""
    diagnosis: str | None = None
    """The name of the diagnosis, without the numbers of lines; None if there is none."""
    meaning: str | None = field(default=None, metadata=LATER)
    """The fault in the words of the suite, such as ``an operand without a batch``, where that is known; failures of
    whatever ops, rules and messages with one meaning have one cause."""

    @property
    def special(self) -> str | None:
        """The meaning if it is about operands of a special shape, such as those without a batch; else None."""
        return self.meaning if self.meaning in OF_OPERANDS else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """Result of running a failure again: the program, up to a few times in one fresh process, and the script in
    another.
    """

    runs: int
    """Number of times that the program ran again, all in one fresh process; 0 if the budget of the run was used up."""
    failed: int
    """Number of reruns of the program that broke the same rule, or ended the process, as the failure did."""
    after: int | None = None
    """If the program alone did not fail again: the number of earlier programs of the run, as few as the search found,
    after which it fails in a fresh process; None if it does not fail after them either.
    """
    printed: str = ""
    """Output of the failure's script in a fresh process."""
    trouble: str | None = None
    """Error of the script's process, if it did not exit normally."""
    code: bool | None = None
    """Whether the printed code fails in the same way when it is run line by line instead of the adapter's calls.

    None if this was not tried or could not be observed.
    """
    hashes: str | None = field(default=None, metadata=LATER)
    """The value of PYTHONHASHSEED that the failure requires; None if it does not depend on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartViolation:
    """A rule that one of two programs breaks, in a failure of another rule, which compares these two programs."""

    rule: str
    op: str | None = None
    deviation: Category
    """Category of the violation."""
    diagnosis: str | None = None
    second: bool = field(default=False, metadata=LATER)
    """Whether the program that breaks the rule is the second of the two compared programs."""
    at: int | None = field(default=None, metadata=LATER)
    """Index of the failing instruction in its program, from 0."""
    flow: GradientFlow | None = field(default=None, metadata=LATER)
    """Gradients that the failing backward call computed, and the tensors that its ops had saved."""
    signature: Signature | None = field(default=None, metadata=LATER)
    """The fault as data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A violation of a rule, with the reduced program and its explanation. Reports leave out what is None or empty."""

    verdict: FailureVerdict
    rule: str
    level: Level
    sentence: str
    """The text of the broken rule."""
    sources: tuple[Source, ...] = ()
    test: str
    """Pytest's id of the test that found the failure."""
    op: str | None = None
    program: Mapping[str, Any]
    """JSON form of the program, or of both programs if the rule relates two."""
    at: int | None = None
    """Index of the failing instruction in its program, from 0."""
    observed: str
    allowed: tuple[Allowed, ...] = ()
    code: str
    """The program in the framework's own code, a line for each instruction: instruction `at` is on line ``at + 1``."""
    loop: str = ""
    """Runnable code of the program with its repetitions as loops; empty if nothing repeats."""
    other: str | None = None
    """Code of the program that `code` must agree with, if the rule relates two programs."""
    why: tuple[ExplanationStep, ...] = ()
    error: ErrorSize | None = None
    votes: Votes | None = None
    diagnosis: str | None = None
    variation: str | None = None
    """Phrase about the nearest program that passes, such as ``passes with foreach=False``."""
    script: str
    """Script that needs only the framework and prints the violation; empty if the framework has no printed code."""
    replay: str | None = None
    """Path of the file with the failing program, which ``--replay`` runs again."""
    command: str | None = None
    """Command that runs the program again."""
    alone: Confirmation | None = field(default=None, metadata=LATER)
    """Result of running the failure again in fresh processes."""
    deviation: Category | None = field(default=None, metadata=LATER)
    """Category of the violation."""
    cured: tuple[str, ...] = field(default=(), metadata=LATER)
    """Ops whose removal from the program was tried and made the failure disappear."""
    flow: GradientFlow | None = field(default=None, metadata=LATER)
    """Gradients that the failing backward call computed, and the tensors that its ops had saved."""
    groups: tuple[LineGroup, ...] = field(default=(), metadata=LATER)
    parts: tuple[PartViolation, ...] = field(default=(), metadata=LATER)
    """Other rules that the programs break, if the failure's rule compares two programs with each other."""
    signature: Signature | None = field(default=None, metadata=LATER)
    """The fault as data; None in records of older versions, and if the process ended."""
    counted: bool = field(default=False, metadata=LATER)
    """Whether the failure was only counted, because another one with the same cause was reduced, varied and run again,
    or because the time for that was used up.
    """
    base: str | None = field(default=None, metadata=LATER)
    """The op of which all ops of the program are forms, such as ``linear`` for ``linear_bias``; None if the program has
    ops of several functions."""
    stage: str | None = field(default=None, metadata=LATER)
    """The stage of the program's line that is wrong; None if it is the stage of the rule."""
    pair: str | None = field(default=None, metadata=LATER)
    """The replay file of two related programs, one of which is this program, if their results differ because of this
    failure; None for other failures.
    """

    @property
    def plainly_observed(self) -> str:
        """The observed outcome without the suite's words about the adapter, which a framework's maintainers do not
        know.
        """
        return _UNKNOWN.sub(r"raised \1", self.observed)

    @property
    def ends_process(self) -> bool:
        """Whether the program ended its process, or did not come back in time."""
        return self.verdict in ("crash", "timeout")
