"""Records: what a run says, one typed value at a time, and the exact JSON form of each.

A run is a stream: one header, the rules that it judges, then results, failures, known differences and claims in any
order, one footer. All that is published (the terminal's summary, Markdown, the matrix, badges) is made from this stream
alone. The JSON Schema beside this file, ``records.schema.json``, is the published truth; `reports.stream` holds files
to it.

A JSON form has a field ``record`` that names its type, then every field of the type in order; absent ones are null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, get_args

from autograd_conformance.reports.claims import ClaimProgram, ClaimRecord
from autograd_conformance.reports.flow import GradientFlow, SavedTensor, ValueGradient
from autograd_conformance.reports.prose import shortened

VERSION = 1
"""The version of the record format: written into every header."""

Level = Literal["MUST", "SHOULD", "INFO"]
Wrong = Literal["fail", "crash", "timeout", "flaky"]
Outcome = Literal[
    "pass", "fail", "known difference", "not applicable", "crash", "timeout", "flaky", "error", "cut short"
]

LONGEST = 60
"""How many letters of a framework's name, and of its version, are printed."""

WRONG: tuple[Wrong, ...] = get_args(Wrong)
"""The verdicts that speak against a framework, worst first."""


LATER = {"later": True}
"""Marks a field that came after the first form of its record: it is left out of the JSON form where it says nothing."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a rule comes from: a document's title, and the section or address in it."""

    title: str
    where: str


@dataclass(frozen=True, slots=True)
class Framework:
    """The framework under test, with what its adapter claims; `ops` counts the catalogue's ops that it supports, and
    `traits` names the legal answers in which it differs from PyTorch; `trait_sources` is where it documents them, each
    under the trait's name as its title.
    """

    name: str
    version: str
    capabilities: tuple[str, ...]
    ops: int
    missing_ops: tuple[str, ...]
    traits: tuple[str, ...] = field(default=(), metadata=LATER)
    trait_sources: tuple[Source, ...] = field(default=(), metadata=LATER)

    @property
    def title(self) -> str:
        """Its name and version on one line, as they are printed: either may be of any length."""
        return f"{shortened(self.name, LONGEST)} {shortened(self.version, LONGEST)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first record: what was tested, with what, and how to do it again.

    `suite` is the suite's version, `started` an ISO 8601 time in UTC, `packages` maps a distribution to its version.
    In a `strict` run a broken SHOULD rule, and a known difference that is seen no longer, count as failures.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRecord:
    """A rule that the run judges; `rule` is its slug, `needs` the capabilities without which it does not apply."""

    rule: str
    family: str
    level: Level
    sentence: str
    needs: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One test's outcome; `exercised` says how often its programs exercised each rule, whatever rule it is for.

    `verdict` ``error`` means that the adapter or the suite failed: it says nothing about the framework. It is ``known
    difference`` where the framework broke the rule only as its expectations file says: neither a pass nor a failure.
    It is ``cut short`` where the budget of the run ended before the test did, and what ran until then was right.
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


@dataclass(frozen=True, slots=True)
class Allowed:
    """An outcome that the rules allow, and the slug of the rule that it rests on."""

    outcome: str
    rule: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an explanation: what the given line of the code forces (lines count from 1)."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Error:
    """How far a value is from the right one: the largest absolute error, its bound, and their quotient in `units`."""

    largest: float
    bound: float
    units: float


@dataclass(frozen=True, slots=True)
class Votes:
    """The three votes on a value, and what they decide together."""

    framework: str
    reference: str
    finite_differences: str
    decision: str


@dataclass(frozen=True, slots=True)
class Group:
    """Lines of a program that belong together: a `unit` is run as one, an `iteration` is one of a loop's."""

    kind: Literal["unit", "iteration"]
    lines: tuple[int, ...]


Severity = Literal["value", "crash", "lost error", "wrong error", "form"]
"""What a failure costs the user, worst first: silently wrong numbers, an ended or hanging process, an error that had to
be raised and was not, an error that is not the right one, and last dtypes, layouts, flags and memory.
"""


@dataclass(frozen=True, slots=True)
class Deviation:
    """In which way a framework differs from the rules, as words that never change."""

    severity: Severity
    """How bad it is."""
    what: str
    """The kind of difference: ``other gradient``, ``returned``."""
    error: str | None = None
    """The kind of the error that was due, where none was raised, or that was raised, where it may not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """What came of a failure in processes of its own, where nothing else had run.

    Its program was run `runs` times in one, and failed as it had before in `failed` of them. Where that is none,
    `after` is how many of the programs that had run before have to run first, in the shortest sequence that was found;
    None where it failed after none. `printed` is what the script printed in another process, and `trouble` how that
    ended, where it did not end well. `code` says whether the program's printed code fails as it does, run line by line
    in place of the adapter's calls and judged by the same rules; None where that was not tried or cannot be seen.
    """

    runs: int
    failed: int
    after: int | None = None
    printed: str = ""
    trouble: str | None = None
    code: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one of two related programs breaks by itself: `at` is the index of the failing instruction, `flow` says how
    the gradient went through it.
    """

    rule: str
    op: str | None = None
    deviation: Deviation
    diagnosis: str | None = None
    second: bool = field(default=False, metadata=LATER)
    at: int | None = field(default=None, metadata=LATER)
    flow: GradientFlow | None = field(default=None, metadata=LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One way in which the framework breaks a rule: the shrunk program and everything that explains it.

    `program` is the program's JSON form and `at` the index of the failing instruction. `code` is the same program in
    the framework's own code, one line per instruction, so that instruction `at` stands on line ``at + 1``; `loop` is
    that with its repetitions as loops, to be run as it stands, empty where nothing repeats, and `other` the code of the
    program that it ought to agree with, where the rule relates two (`program` then holds both). `variation` is a phrase
    such as ``passes with foreach=False``. `script` is the program with the framework alone, its lines numbered in
    comments, and prints what is wrong; it is empty where the framework has no code of its own. `replay` is a program
    file's path, `command` the command that runs it again. `alone` says whether it fails where nothing else ran.
    `deviation` is `observed` as data, and `cured` names the ops without which the program does not show it: each was
    tried. `flow` says how the gradient went through the failing call, and `groups` which lines belong together. `parts`
    is what programs that a rule relates break by themselves. What is not known is None, and reports leave it out.
    """

    verdict: Wrong
    rule: str
    level: Level
    sentence: str
    sources: tuple[Source, ...] = ()
    test: str
    op: str | None = None
    program: Mapping[str, Any]
    at: int | None = None
    observed: str
    allowed: tuple[Allowed, ...] = ()
    code: str
    loop: str = ""
    other: str | None = None
    why: tuple[Step, ...] = ()
    error: Error | None = None
    votes: Votes | None = None
    diagnosis: str | None = None
    variation: str | None = None
    script: str
    replay: str | None = None
    command: str | None = None
    alone: Alone | None = field(default=None, metadata=LATER)
    deviation: Deviation | None = field(default=None, metadata=LATER)
    cured: tuple[str, ...] = field(default=(), metadata=LATER)
    flow: GradientFlow | None = field(default=None, metadata=LATER)
    groups: tuple[Group, ...] = field(default=(), metadata=LATER)
    parts: tuple[Part, ...] = field(default=(), metadata=LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
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
class Setting:
    """An op in a dtype, recorded or not: in how many programs each action came after it."""

    dtype: str
    recorded: bool
    actions: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What an op met in this run, for every dtype and grad mode that it was drawn in."""

    op: str
    met: tuple[Setting, ...]


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
    and did not run, `deselected` those that options such as ``-k`` left out from the beginning. `missing_ops` are those
    of the framework's ops that the device was found to have no kernels of.
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


Record = Header | RuleRecord | Result | Failure | Known | ClaimRecord | Coverage | Behaviour | Footer

NAMES: dict[type[Record], str] = {
    Header: "header",
    RuleRecord: "rule",
    Result: "result",
    Failure: "failure",
    Known: "known",
    ClaimRecord: "claim",
    Coverage: "coverage",
    Behaviour: "behaviour",
    Footer: "footer",
}
"""The value of the field ``record`` for each type; rules, results, failures and known differences hold a rule's slug in
``rule``.
"""


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run; a footer of None means that the run was cut off before it could write one."""

    header: Header
    rules: tuple[RuleRecord, ...] = ()
    results: tuple[Result, ...] = ()
    failures: tuple[Failure, ...] = ()
    footer: Footer | None = None
    known: tuple[Known, ...] = ()
    claims: tuple[ClaimRecord, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    behaviours: tuple[Behaviour, ...] = ()

    @property
    def programs(self) -> int:
        """How many programs the run's results account for."""
        return sum(result.programs for result in self.results)


def encode(record: Record) -> dict[str, Any]:
    """The record's JSON form, ready for `json.dumps`; infinities and NaN in an error become strings."""
    return {"record": NAMES[type(record)], **_plain(record)}


def decode(form: Mapping[str, Any]) -> Record:
    """The record that a JSON form stands for; the form is taken to satisfy the schema."""
    values = {name: value for name, value in form.items() if name != "record"}
    match form["record"]:
        case "header":
            framework = values["framework"]
            lists = _tuples(framework, "capabilities", "missing_ops", "traits")
            sources = _each(Source, framework.get("trait_sources", []))
            framework = {**framework, **lists, "trait_sources": sources}
            return Header(**{**values, **_tuples(values, "dtypes", "environment"), "framework": Framework(**framework)})
        case "rule":
            return RuleRecord(**{**values, **_tuples(values, "needs"), "sources": _each(Source, values["sources"])})
        case "result":
            return Result(**values)
        case "failure":
            nested = {
                "sources": _each(Source, values["sources"]),
                "allowed": _each(Allowed, values["allowed"]),
                "why": _each(Step, values["why"]),
                "error": values["error"] and Error(**{name: float(v) for name, v in values["error"].items()}),
                "votes": values["votes"] and Votes(**values["votes"]),
                "alone": Alone(**values["alone"]) if values.get("alone") else None,
                "deviation": Deviation(**values["deviation"]) if values.get("deviation") else None,
                "cured": tuple(values.get("cured", ())),
                "parts": tuple(_part(each) for each in values.get("parts", ())),
                "groups": tuple(Group(each["kind"], tuple(each["lines"])) for each in values.get("groups", ())),
                "flow": _flow(values["flow"]) if values.get("flow") else None,
            }
            return Failure(**{**values, **nested})
        case "known":
            return Known(**values)
        case "claim":
            return ClaimRecord(**{**values, "programs": _each(ClaimProgram, values["programs"])})
        case "coverage":
            return Coverage(**{**values, "met": _each(Setting, values["met"])})
        case "behaviour":
            return Behaviour(**{**values, "allowed": _each(Allowed, values["allowed"])})
        case "footer":
            return Footer(**{**values, **_tuples(values, "missing_ops")})
        case kind:
            raise ValueError(f"unknown record {kind!r}")


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        shown = (each for each in fields(value) if not each.metadata or getattr(value, each.name))
        return {each.name: _plain(getattr(value, each.name)) for each in shown}
    match value:
        case tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return dict(value)  # JSON already: a program's form belongs to its own codec
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


def _part(form: Mapping[str, Any]) -> Part:
    flow = _flow(form["flow"]) if form.get("flow") else None
    return Part(**{**form, "deviation": Deviation(**form["deviation"]), "flow": flow})


def _flow(form: Mapping[str, Any]) -> GradientFlow:
    gradients = [{**each, "through": tuple(each["through"])} for each in form["gradients"]]
    return GradientFlow(gradients=_each(ValueGradient, gradients), saved=_each(SavedTensor, form["saved"]))


def _tuples(values: Mapping[str, Any], *names: str) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(values[name]) for name in names if name in values}


def _each(make: type, forms: list[dict[str, Any]]) -> tuple[Any, ...]:
    return tuple(make(**form) for form in forms)
