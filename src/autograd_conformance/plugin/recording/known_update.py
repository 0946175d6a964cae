"""Writes the violations that a run found as known differences (`--update-known`).

Each new entry is read back by the reader of such files, and compared with the other violations of the same rule: an
entry must not cover these. A violation without a valid entry stays a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

from autograd_conformance.checking.check import RuleViolated, is_advice, judgement_of
from autograd_conformance.checking.session import Session
from autograd_conformance.failures.record import failure
from autograd_conformance.known_differences import Known, MalformedKnownDifferences, is_known
from autograd_conformance.known_differences.file import parsed, read
from autograd_conformance.known_differences.update import HEADER, Common, Finding, Signature
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program
from autograd_conformance.reporting.prose import counted
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Result
from autograd_conformance.rules.judge.judgement import waives_everything
from autograd_conformance.rules.violations.violation import Violation

UNNAMED = "nothing names the case"
"""The most frequent reason why a violation gets no entry: no key of an entry separates its case from others."""

TEST = "known differences"
"""Name of the test in the record of a violation that gets no entry."""


@dataclass(frozen=True)
class Shown:
    """A violation that the run found, and the violations that its witness program shows when it runs again."""

    finding: Finding
    session: Session

    @cached_property
    def program(self) -> Program:
        """The witness: the shortest program that showed the violation."""
        return parse(self.finding.witness, VOCABULARY)

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        """The violations of the witness program with the same features (rule, op, error, ...) as the one that was
        found.
        """
        return tuple(broken.violation for broken in self.broken)

    @cached_property
    def broken(self) -> tuple[RuleViolated, ...]:
        """The violations of the witness program that `violations` contains, as exceptions that can be explained in the
        report.
        """
        target = self.session.framework.target_of(self.finding.signature.rule).crash_as_error()
        observation = target.observe(self.program)
        judgement = judgement_of(self.program, observation, target, waives_everything)
        same = (each for each in judgement.waived if Signature.of(self.program, each) == self.finding.signature)
        return tuple(RuleViolated(self.program, observation, violation, target) for violation in same)


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A violation that the run found and that gets no entry, with the reason."""

    shown: Shown
    why: str

    @property
    def line(self) -> str:
        """The rule, the op, the witness program and the reason, on one line."""
        signature = self.shown.finding.signature
        op = f", {signature.op}" if signature.op else ""
        return f"{signature.rule}{op}: {self.shown.finding.witness}" + (f" ({self.why})" if self.why != UNNAMED else "")

    def records(self) -> Iterator[Failure | Result]:
        """Yields the failure, if the witness program still shows it, and the result, for the report."""
        finding = self.shown.finding
        for broken in self.shown.broken[:1]:
            yield failure(broken, TEST, self.shown.session)
        yield Result(
            test=f"{TEST}[{finding.signature.rule}]",
            rule=finding.signature.rule,
            op=finding.signature.op,
            verdict="fail",
            programs=finding.seen,
            exercised={finding.signature.rule: finding.seen},
            seconds=0.0,
            reason=finding.observed,
        )

    @property
    def fails(self) -> bool:
        """Whether the run fails because of this violation: always in a strict run, otherwise unless its rule is a
        SHOULD rule.
        """
        return self.shown.session.settings.strict or not is_advice(self.shown.finding.signature.rule)


@dataclass(frozen=True, slots=True)
class Update:
    """The violations that a run writes as entries to a file of known differences, and those that it cannot write."""

    written: tuple[Finding, ...] = ()
    unwritten: tuple[Unwritten, ...] = ()

    def lines(self) -> list[str]:
        """Returns lines about the violations that cannot be written, for the terminal and as comments in the file; none
        if all are written.
        """
        if not self.unwritten:
            return []
        ways = counted(len(self.unwritten), "way")
        head = f"{ways} of violating a rule could not be written as known differences, because {UNNAMED}:"
        return [head, *(f"  {each.line}" for each in self.unwritten)]


def update(path: Path, findings: Sequence[Finding], common: Common, session: Session, since: date) -> Update:
    """Adds an entry to a file of known differences for each violation whose case can be named; `since` is the day that
    the entry names. Creates the file if there is none, and leaves it as it was if the whole would be invalid.
    """
    all_ = [Shown(finding, session) for finding in findings]
    made = {each.finding: each.finding.entry(since, common) for each in all_}
    refused = {each.finding: _refused(each, made[each.finding], all_, path) for each in all_}
    written = tuple(finding for finding, why in refused.items() if why is None)
    update = Update(written, tuple(Unwritten(each, why) for each in all_ if (why := refused[each.finding]) is not None))
    try:
        _write(path, [made[finding] or "" for finding in written], update.lines())
    except MalformedKnownDifferences as error:
        return Update((), tuple(Unwritten(each, f"{error}") for each in all_))
    return update


def _refused(shown: Shown, text: str | None, all_: Sequence[Shown], path: Path) -> str | None:
    """Returns why an entry is not written: it is invalid, or it covers another violation too. None if it is written."""
    if text is None:
        return UNNAMED
    try:
        (entry,) = parsed(text, path)
    except MalformedKnownDifferences as error:
        return f"{error}".partition(": ")[2]
    others = [each for each in all_ if _differs(shown.finding.signature, each.finding.signature)]
    wide = next((each for each in others if _covers(entry, each)), None)
    return None if wide is None else f"the entry would also cover {wide.finding.signature.rule}: {wide.finding.witness}"


def _differs(one: Signature, other: Signature) -> bool:
    """Returns whether two violations break one rule in different ways: by different ops or outcomes, and not with the
    same error message.
    """
    same_message = one.message is not None and one.message == other.message
    return one.rule == other.rule and not same_message and _way(one) != _way(other)


def _way(signature: Signature) -> tuple[object, ...]:
    return signature.op, signature.raised, signature.message, signature.result_dtype, signature.wrong_shape


def _covers(entry: Known, shown: Shown) -> bool:
    return any(is_known(entry, shown.program, violation) for violation in shown.violations)


def _write(path: Path, entries: Sequence[str], unwritten: Sequence[str]) -> None:
    """Adds entries to a file, and comments about violations without an entry. Raises `MalformedKnownDifferences` and
    leaves the file as it was if the whole is invalid.
    """
    old = (path.read_text(encoding="utf-8") if path.exists() else "") or HEADER
    comments = "".join(f"# {line}\n" for line in unwritten)
    new = "".join(entries) + (f"\n{comments}" if comments else "")
    whole = old + ("" if old.endswith("\n") else "\n") + new
    parsed(whole, path)
    path.write_text(whole, encoding="utf-8")
    read(path)


__all__ = ["Update", "update"]
