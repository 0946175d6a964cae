"""Records: what a run says, one typed value at a time.

A run is a stream: one header, the rules that it judges, then results, failures, known differences and claims in any
order, one footer. All that is published (the terminal's summary, Markdown, the matrix, badges) is made from this stream
alone. The JSON Schema beside this file, ``records.schema.json``, is the published truth; `reporting.records.stream`
holds files to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from autograd_conformance.reporting.prose import shortened
from autograd_conformance.reporting.records.claims import ClaimRecord
from autograd_conformance.reporting.records.failure import Allowed, Failure
from autograd_conformance.reporting.records.terms import LATER, Level, Outcome, Source

VERSION = 1
"""The version of the record format: written into every header."""

LONGEST = 60
"""How many letters of a framework's name, and of its version, are printed."""


@dataclass(frozen=True, slots=True)
class Framework:
    """The framework under test, with what its adapter claims; `ops` counts the catalogue's ops that it supports, and
    `traits` names the legal answers in which it differs from PyTorch; `trait_sources` is where it documents them, each
    under the trait's name as its title. `limits` says of what ops and writes it takes less than the catalogue has.
    """

    name: str
    version: str
    capabilities: tuple[str, ...]
    ops: int
    missing_ops: tuple[str, ...]
    traits: tuple[str, ...] = field(default=(), metadata=LATER)
    trait_sources: tuple[Source, ...] = field(default=(), metadata=LATER)
    limits: tuple[str, ...] = field(default=(), metadata=LATER)

    @property
    def title(self) -> str:
        """Its name and version on one line, as they are printed: either may be of any length."""
        return f"{shortened(self.name, LONGEST)} {shortened(self.version, LONGEST)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first record: what was tested, with what, and how to do it again.

    `suite` is the suite's version, `started` an ISO 8601 time in UTC, `packages` maps a distribution to its version.
    In a `strict` run a broken SHOULD rule, and a known difference that is seen no longer, count as failures.
    `notes` say what the framework was found not to have though it is claimed, and how that was found.
    `variables` are the environment variables that were set and may change what the framework does; `environment` is
    what the framework ran on, a language or a package with its version each, where that was not `python` and
    `packages`.
    """

    version: int = VERSION
    suite: str
    framework: Framework
    seed: int | None
    profile: str
    dtypes: tuple[str, ...]
    device: str
    started: str
    python: str
    platform: str
    packages: Mapping[str, str]
    workers: int
    strict: bool = field(default=False, metadata=LATER)
    variables: Mapping[str, str] = field(default_factory=dict, metadata=LATER)
    environment: tuple[str, ...] = field(default=(), metadata=LATER)
    notes: tuple[str, ...] = field(default=(), metadata=LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRecord:
    """A rule that the run judges; `rule` is its slug, `needs` the capabilities without which it does not apply.

    `absent` says in words what else its situation needs and the framework does not claim to have, such as an op of
    several results; where it says anything, the rule does not apply.
    """

    rule: str
    family: str
    level: Level
    sentence: str
    needs: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    absent: tuple[str, ...] = field(default=(), metadata=LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One test's outcome; `exercised` says how often its programs exercised each rule, whatever rule it is for.

    The meaning of each `verdict` is in `reporting.analysis.verdicts`: ``adapter bug``, ``cannot be told``, ``error``
    say
    nothing about the framework, ``vacuous`` is a test whose programs could not be drawn, ``skipped`` one that somebody
    else's plugin skipped. It is ``known difference`` where the framework broke the rule only as its expectations file
    says: neither a pass nor a failure. It is ``cut short`` where the budget of the run ended before the test did, and
    what ran until then was right.
    `left_open` counts the programs that went on with something that the rules leave open: they were judged as far as
    they do not hang on it.
    `judged` counts how many of the programs' `instructions` were judged; relations compare whole programs, and count
    none.
    """

    test: str
    rule: str
    op: str | None = None
    verdict: Outcome
    programs: int
    exercised: Mapping[str, int] = field(default_factory=dict)
    left_open: int = 0
    instructions: int = field(default=0, metadata=LATER)
    judged: int = field(default=0, metadata=LATER)
    seconds: float
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRecord:
    """An entry of the framework's expectations file: a rule that it is known to break, for one op or (None) anywhere.

    `link` leads to where the difference is discussed. `seen` counts the programs of this run that showed it; 0 where
    programs exercised the rule means that the entry is stale. In `ended` of them nothing could be judged behind it.
    `since` is the day since when it is known.
    """

    rule: str
    op: str | None = None
    reason: str
    link: str | None = None
    since: str | None = field(default=None, metadata=LATER)
    seen: int
    ended: int = field(default=0, metadata=LATER)


@dataclass(frozen=True, slots=True)
class CoverageSetting:
    """An op in a dtype, recorded or not: in how many programs each action came after it."""

    dtype: str
    recorded: bool
    actions: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What an op met in this run, for every dtype and grad mode that it was drawn in."""

    op: str
    met: tuple[CoverageSetting, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What the framework did where the rules allow several outcomes of an instruction.

    `instruction` is its word in a program's JSON form, an outcome is ``returns`` or a kind of error, and `seen` counts
    how often each came about.
    """

    instruction: str
    allowed: tuple[Allowed, ...]
    seen: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """The last record: the run came to its end, or did not but could still say so.

    `verdict` is ``interrupted`` where some of its tests did not run at all, and ``cut short`` where they did but the
    budget of the run ended some before their time; `reason` says why. `not_run` counts the tests that were collected
    and did not run, `deselected` those that options such as ``-k`` left out from the beginning; `selection` says that a
    part of the suites was run, whether by such options or because files or tests were named or ignored. `missing_ops`
    are those of the framework's ops that the device was found to have no kernels of. `notes` are what the run has to
    say to the adapter's author: errors that the adapter does not know, and what could not be looked at.
    """

    verdict: Literal["complete", "cut short", "interrupted"]
    finished: str
    seconds: float
    tests: int
    programs: int
    exit_code: int
    reason: str | None = field(default=None, metadata=LATER)
    not_run: int = field(default=0, metadata=LATER)
    deselected: int = field(default=0, metadata=LATER)
    missing_ops: tuple[str, ...] = field(default=(), metadata=LATER)
    notes: tuple[str, ...] = field(default=(), metadata=LATER)
    selection: bool = field(default=False, metadata=LATER)


Record = Header | RuleRecord | Result | Failure | KnownRecord | ClaimRecord | Coverage | Behaviour | Footer


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run; a footer of None means that the run was cut off before it could write one."""

    header: Header
    rules: tuple[RuleRecord, ...] = ()
    results: tuple[Result, ...] = ()
    failures: tuple[Failure, ...] = ()
    footer: Footer | None = None
    known: tuple[KnownRecord, ...] = ()
    claims: tuple[ClaimRecord, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    behaviours: tuple[Behaviour, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known before all verdicts, a line each."""
        return (*self.header.notes, *(self.footer.notes if self.footer else ()))

    @property
    def programs(self) -> int:
        """How many programs the run's results account for."""
        return sum(result.programs for result in self.results)
