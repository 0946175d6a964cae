"""Types of the records of a run.

A run writes one header, a record for each rule, then results, failures, known differences, claims, coverage and
behaviours in any order, and one footer. Every report is made from these records alone. Field names are the JSON keys,
which never change. ``records.schema.json`` in this folder is the published schema; `reporting.records.stream` checks
files against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from autograd_conformance.reporting.prose import shortened
from autograd_conformance.reporting.records.claims import ClaimRecord
from autograd_conformance.reporting.records.failure import Allowed, Failure
from autograd_conformance.reporting.records.terms import LATER, Budget, Level, Outcome, Source

VERSION = 1
"""Version of the record format, written into every header."""

LONGEST = 60
"""Maximum number of characters of a framework's name, and of its version, that reports print."""


@dataclass(frozen=True, slots=True)
class Framework:
    """The framework under test, with the claims of its adapter."""

    name: str
    version: str
    capabilities: tuple[str, ...]
    """Names of the capabilities that the framework's adapter claims."""
    ops: int
    """Number of the suite's ops that the framework supports."""
    missing_ops: tuple[str, ...]
    """Ops of the suite that the framework does not support."""
    traits: tuple[str, ...] = field(default=(), metadata=LATER)
    """Names of behaviours in which the framework differs from PyTorch, as its documentation says, and which the rules
    therefore allow.
    """
    trait_sources: tuple[Source, ...] = field(default=(), metadata=LATER)
    """Documentation of the behaviours in `traits`; the title of each source is the name of the behaviour."""
    limits: tuple[str, ...] = field(default=(), metadata=LATER)
    """Ops and in-place ops of which the framework accepts fewer variants than the suite has: ``sum: keepdim False``."""

    @property
    def title(self) -> str:
        """Name and version on one line, each shortened to `LONGEST` characters."""
        return f"{shortened(self.name, LONGEST)} {shortened(self.version, LONGEST)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first record of a run: the framework, the settings, and the environment."""

    version: int = VERSION
    suite: str
    """Version of the suite."""
    framework: Framework
    seed: int | None
    profile: str
    dtypes: tuple[str, ...]
    device: str
    started: str
    """Start of the run, an ISO 8601 time in UTC."""
    python: str
    platform: str
    packages: Mapping[str, str]
    """Versions of those packages of a fixed list (such as torch, jax, numpy and pytest) that are installed, by name."""
    workers: int
    stages: tuple[str, ...] = field(default=(), metadata=LATER)
    """Names of the stages of the run, in their order."""
    strict: bool = field(default=False, metadata=LATER)
    """Whether a broken SHOULD rule, or a stale known difference, fails the run."""
    variables: Mapping[str, str] = field(default_factory=dict, metadata=LATER)
    """Environment variables that were set and may change the framework's behaviour."""
    environment: tuple[str, ...] = field(default=(), metadata=LATER)
    """Language or packages, with versions, that the framework ran on if not `python` and `packages`."""
    notes: tuple[str, ...] = field(default=(), metadata=LATER)
    """Claimed features that the framework was found not to have, and the check that found it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRecord:
    """A rule of the suite's catalogue; a run has a record for each rule, also for rules that do not apply to the
    framework.
    """

    rule: str
    """Slug of the rule, such as ``lifetime/default-frees``."""
    family: str
    level: Level
    sentence: str
    """Text of the rule."""
    needs: tuple[str, ...] = ()
    """Capabilities without which the rule does not apply."""
    sources: tuple[Source, ...] = ()
    absent: tuple[str, ...] = field(default=(), metadata=LATER)
    """Other missing requirements in words, such as an op with several results; with any, the rule does not apply."""
    stage: str | None = field(default=None, metadata=LATER)
    """Name of the stage to which the rule belongs, such as ``first gradients``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of one test."""

    test: str
    """Pytest's id of the test."""
    rule: str
    """Slug of the rule that the test is for."""
    op: str | None = None
    verdict: Outcome
    """Outcome of the test. `reporting.analysis.verdicts` has the meaning of each word."""
    programs: int
    """Number of programs that the test ran."""
    exercised: Mapping[str, int] = field(default_factory=dict)
    """For each rule, not only the test's own, the number of programs that exercised it."""
    left_open: int = 0
    """Number of programs that used something unspecified; instructions that depend on it were not judged."""
    instructions: int = field(default=0, metadata=LATER)
    """Number of instructions of all programs; 0 for relations, which compare whole programs."""
    judged: int = field(default=0, metadata=LATER)
    """Number of instructions of all programs that were judged."""
    seconds: float
    reason: str | None = None
    """Explanation of the verdict, if it is not a pass."""
    stage: str | None = field(default=None, metadata=LATER)
    """Name of the test's stage, if it is not that of its rule, and of the gates (smallest programs) of a stage that is
    wholly broken.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRecord:
    """An entry of the file of known differences: a rule that the framework is known to break."""

    rule: str
    op: str | None = None
    """Op that the difference is about; None if it is not about one op."""
    reason: str
    link: str | None = None
    """Address of a discussion of the difference."""
    since: str | None = field(default=None, metadata=LATER)
    """Day since when the difference is known."""
    seen: int
    """Number of programs that showed the difference. If 0 although programs exercised the rule, the entry is stale."""
    ended: int = field(default=0, metadata=LATER)
    """Number of programs that showed the difference and whose later instructions could therefore not be judged."""


@dataclass(frozen=True, slots=True)
class CoverageSetting:
    """Coverage of an op in one dtype and one grad mode."""

    dtype: str
    recorded: bool
    """Whether the op was recorded in the graph."""
    actions: Mapping[str, int]
    """For each action (an instruction that is not an op, such as ``backward``), the number of programs in which the
    action came after the op.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Coverage of an op: for each dtype and grad mode, the actions (instructions that are not ops, such as
    ``backward``) that came later in some program.
    """

    op: str
    met: tuple[CoverageSetting, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """Counts of the observed outcomes of one kind of instruction, in all places where the rules allow several
    outcomes.
    """

    instruction: str
    """Name of the instruction, as in a program's JSON form: ``backward``, ``write``."""
    allowed: tuple[Allowed, ...]
    """Allowed outcomes: ``returns``, or a kind of error."""
    seen: Mapping[str, int]
    """Number of times that each outcome was observed."""

    def count(self, outcome: str) -> int:
        """Number of times that an outcome was observed."""
        return self.seen.get(outcome, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interactions:
    """The facts that held together, of one instruction and one value that it touches, in the programs of a run."""

    facts: tuple[str, ...]
    """All facts, such as ``backward: create_graph`` and ``value: hooked``, in alphabetical order."""
    meetings: tuple[tuple[int, ...], ...]
    """The sets of facts that held together, each as increasing positions in `facts`, without those that another one
    contains.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """The last record of a run. A run that was killed has none."""

    verdict: Literal["complete", "cut short", "interrupted"]
    """``interrupted`` if some tests did not run; ``cut short`` if the budget of the run ended some tests early;
    otherwise ``complete``.
    """
    finished: str
    """End of the run, an ISO 8601 time in UTC."""
    seconds: float
    tests: int
    programs: int
    exit_code: int
    reason: str | None = field(default=None, metadata=LATER)
    """Why the run is not complete."""
    not_run: int = field(default=0, metadata=LATER)
    """Number of tests that were collected and did not run."""
    deselected: int = field(default=0, metadata=LATER)
    """Number of tests that options such as ``-k`` left out."""
    missing_ops: tuple[str, ...] = field(default=(), metadata=LATER)
    """Ops that the framework claims, but for which the device has no kernels."""
    notes: tuple[str, ...] = field(default=(), metadata=LATER)
    """Notes for the adapter's author: errors that the adapter does not classify, and values that it could not read."""
    selection: bool = field(default=False, metadata=LATER)
    """Whether only a part of the suites ran, because of options or because files or tests were named or ignored."""
    cut_in_audit: Budget | None = field(default=None, metadata=LATER)
    """The budget that ended while each op was tested alone, before the tests; None if none did."""


Record = (
    Header | RuleRecord | Result | Failure | KnownRecord | ClaimRecord | Coverage | Behaviour | Interactions | Footer
)


@dataclass(frozen=True, slots=True)
class Report:
    """All records of a run; the footer is None if the run was killed."""

    header: Header
    rules: tuple[RuleRecord, ...] = ()
    results: tuple[Result, ...] = ()
    failures: tuple[Failure, ...] = ()
    footer: Footer | None = None
    known: tuple[KnownRecord, ...] = ()
    claims: tuple[ClaimRecord, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    behaviours: tuple[Behaviour, ...] = ()
    interactions: Interactions | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the header, which a reader needs before the verdicts, one line each."""
        return self.header.notes

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes of the footer, on what the run noticed beside the verdicts, one line each."""
        return self.footer.notes if self.footer else ()

    @property
    def programs(self) -> int:
        """Number of programs that all tests of the run ran."""
        return sum(result.programs for result in self.results)
