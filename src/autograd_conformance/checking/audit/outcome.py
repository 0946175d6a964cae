"""The result of the audit, which runs each op alone: how many times each op can be differentiated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from autograd_conformance.reporting.records.failure import Category, ErrorSize, Signature
from autograd_conformance.reporting.records.terms import Budget

SETS = ("wrong", "widespread", "lost", "missing", "once", "twice", "untried")
"""Names of the attributes of `AuditResult` whose sets of ops are sent to the processes of the tests."""

Outcome = Literal["begun", "wrong", "missing", "once", "twice", "fine"]
"""The outcome of an op. `begun`: the process ended while the op ran. `wrong`: a value or first derivative is wrong, or
an error may be the framework's or the adapter's. `missing`: the device has no kernel for the op. `once`, `twice`: the
derivatives are right up to this order only. `fine`: nothing that ran is wrong.
"""

MANY = 0.2
"""If more than this fraction of all ops is faulty in one way, the ops are not left out, because the cause is probably
not the ops themselves.
"""

MOST = 0.5
"""If more than this fraction of all ops is faulty, in whatever ways, none is left out, as too few would be left."""


@dataclass(frozen=True, slots=True)
class FaultyValue:
    """The value or gradient that a fault is about, as text, so that it can be reported without running again."""

    name: str
    """Name of the value in the program's text."""
    is_gradient: bool
    """Whether it is the gradient that the value holds."""
    got: str = ""
    """The observed numbers; empty if the fault is not about numbers."""
    want: str = ""
    """The expected numbers."""
    exact: str = ""
    """The expected numbers with all digits."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The violation of one op that ran alone, with a program that shows it and is not shrunk."""

    program: Mapping[str, Any]
    """The program that shows the violation, in its JSON form."""
    rule: str
    """Slug of the violated rule."""
    observed: str
    """Observed outcome, in words."""
    at: int | None = None
    """Index of the failing instruction; None if the process ended."""
    allowed: tuple[tuple[str, str], ...] = ()
    """The allowed outcomes, in words, each with its rule."""
    deviation: Category | None = None
    """Category of the violation; None if the process ended."""
    error: ErrorSize | None = None
    """Size of the numerical error; None if the violation is not about numbers."""
    signature: Signature | None = None
    """The fault as data; None if the process ended."""
    value: FaultyValue | None = None
    """The faulty value; None if the fault is an error."""

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Fault:
        """Returns the fault that `asdict` turned into JSON data."""
        types = {"deviation": Category, "error": ErrorSize, "signature": Signature, "value": FaultyValue}
        return cls(**{name: types[name](**value) if value and name in types else value for name, value in form.items()})


@dataclass(frozen=True, slots=True)
class Undecided:
    """The violation of an op that is not blamed, because the framework seems to keep state between programs."""

    fault: Fault
    """The violation, which the op showed after other programs."""
    ran_alone: bool
    """Whether the program ran alone in a fresh process, where it passed; False if there was no time for it, and the
    program of another op passed there."""

    @property
    def why(self) -> str:
        """The reason why the op is not blamed, as a sentence for the author of an adapter."""
        if self.ran_alone:
            return f"{self.fault.observed}, but it {PASSES_ALONE}"
        return f"{self.fault.observed}; it was not run alone in a fresh process, where other ops pass: {KEEPS_STATE}"


KEEPS_STATE = "the framework, or the adapter's reset(), keeps state between programs"
"""The reason why a program goes wrong only after other programs."""

PASSES_ALONE = f"passes alone in a fresh process: {KEEPS_STATE}"
"""The same reason, with the observation that shows it."""


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The ops that violate a rule when they run alone, grouped by the lowest order of derivative that fails."""

    wrong: frozenset[str] = frozenset()
    """Ops whose values or first derivatives are wrong, or that raised an error that may be the framework's or the
    adapter's."""
    widespread: frozenset[str] = frozenset()
    """The wrong ops that are not left out of other programs, because many ops are wrong in the same way."""
    lost: frozenset[str] = frozenset()
    """Ops that ended the process, or timed out."""
    missing: frozenset[str] = frozenset()
    """Ops for which the device has no kernel, or lacks one for some shapes or attributes."""
    once: frozenset[str] = frozenset()
    """Ops whose second derivatives are wrong or not implemented."""
    twice: frozenset[str] = frozenset()
    """Ops whose third derivatives are wrong or not implemented."""
    untried: frozenset[str] = frozenset()
    """Ops that did not run alone, because the audit's part of the run's time was over."""
    faults: Mapping[str, Fault] = field(default_factory=dict)
    """The violation of each wrong or lost op, except wrong ops of which only an undecided error is known."""
    undecided: Mapping[str, Undecided] = field(default_factory=dict)
    """The ops that are not blamed for a violation, because the framework seems to keep state between programs."""
    programs: int = 0
    """Number of programs that the audit ran, with those of the ops that violate no rule."""
    cut: Budget | None = None
    """The budget of the run that ended before every op had run; None if all ran."""

    @classmethod
    def of(cls, outcomes: Mapping[str, Outcome], faults: Mapping[str, Fault]) -> AuditResult:
        """Groups ops by their outcomes, and keeps the faults of those that are wrong or ended the process."""

        def having(outcome: Outcome) -> frozenset[str]:
            return frozenset(op for op, found in outcomes.items() if found == outcome)

        wrong, lost = having("wrong"), having("begun")
        bad = {op: fault for op, fault in faults.items() if op in wrong | lost}
        common = _widespread(wrong, bad, outcomes)
        return cls(wrong, common, lost, having("missing"), having("once"), having("twice"), faults=bad)

    def with_mode(self, mode: AuditResult) -> AuditResult:
        """Merges this result with that of a mode of the framework, such as one that compiles, in which only the ops
        that pass here ran.
        """
        return AuditResult(
            self.wrong | mode.wrong,
            self.widespread | mode.widespread,
            self.lost | mode.lost,
            self.missing | mode.missing,
            self.once | mode.once,
            self.twice | mode.twice,
            self.untried | mode.untried,
            {**self.faults, **mode.faults},
            {**self.undecided, **mode.undecided},
            self.programs + mode.programs,
        )

    def not_blaming(self, undecided: Mapping[str, Undecided]) -> AuditResult:
        """Returns this result without the faults of some ops, which are undecided. An op that ended its process stays
        among the lost ones, which the programs of other tests do not use.
        """
        faults = {op: fault for op, fault in self.faults.items() if op not in undecided}
        wrong, widespread = self.wrong - {*undecided}, self.widespread - {*undecided}
        return replace(self, wrong=wrong, widespread=widespread, faults=faults, undecided=undecided)

    def to_json(self) -> dict[str, list[str]]:
        """Returns the sets of ops as JSON data, for sending to another process."""
        return {name: sorted(getattr(self, name)) for name in SETS}

    @classmethod
    def from_json(cls, form: Mapping[str, Collection[str]]) -> AuditResult:
        """Returns a result with the sets of ops that `to_json` of another process made, without faults and a number of
        programs.
        """
        wrong, widespread, lost, missing, once, twice, untried = (frozenset(form[name]) for name in SETS)
        return cls(wrong, widespread, lost, missing, once, twice, untried)


NOTHING_FOUND = AuditResult()
"""The result without an audit (which runs each op alone): no op is left out."""


def ops_at_fault(wrong: Collection[str], ops: Collection[str], most: float = MANY) -> frozenset[str]:
    """Returns the ops to leave out of programs: the wrong ones, or none if these are more than the fraction `most` of
    all ops.
    """
    return frozenset(wrong) if len(wrong) <= most * len(ops) else frozenset()


def _widespread(wrong: Collection[str], faults: Mapping[str, Fault], ops: Collection[str]) -> frozenset[str]:
    """Returns those of the wrong ops that are wrong in a way in which more than the fraction `MANY` of all ops is."""
    kinds = {op: _kind(faults.get(op)) for op in wrong}
    common = {kind for kind, count in Counter(kinds.values()).items() if count > MANY * len(ops)}
    return frozenset(op for op, kind in kinds.items() if kind in common)


def _kind(fault: Fault | None) -> Hashable:
    """Returns what an op does wrong, without what depends on the op; None if that is not known."""
    if fault is None or fault.deviation is None or fault.signature is None:
        return None
    signature = fault.signature
    if signature.meaning is not None:
        return signature.meaning
    what = (signature.got, signature.want) if signature.general else ()
    return fault.deviation.what, fault.deviation.error, *what
