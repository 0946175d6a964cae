"""The check of one program, or of two that are related: write it down, run it, judge it, count what it tested, complain
if a rule is broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, assert_never

from hypothesis.errors import UnsatisfiedAssumption

from autograd_conformance.checking.counts.coverage import Pair, pairs
from autograd_conformance.checking.counts.remarks import Remarks
from autograd_conformance.checking.counts.tally import Tally
from autograd_conformance.checking.support.compiled_regions import compiled_regions
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment.process_end import ENDED, Crashed, TimedOut
from autograd_conformance.known_differences import Known, is_known
from autograd_conformance.known_differences.clauses import Clause, in_common
from autograd_conformance.known_differences.update import Finding, Signature
from autograd_conformance.ops.rows.shapes import form
from autograd_conformance.programs.language import Leaf, Program
from autograd_conformance.programs.observations import Kind, Observation, Raised, is_inconclusive, region_steps
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES, Level
from autograd_conformance.rules.explanation.words import observed_text
from autograd_conformance.rules.judge.choices import Choice
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.judge.judgement import Waiver, waives_nothing
from autograd_conformance.rules.relations.relation import Related, Relation, relate
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.strategies.building.draft import UnsupportedShape
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.pool import Pool

AGAIN = 3
"""How often a program is run again to see whether the framework itself computes the same bits each time."""


class RuleViolated(AssertionError):
    """A rule was broken; raised once per failing program, told apart by rule so that shrinking keeps to one."""

    def __init__(
        self,
        program: Program,
        observation: Observation,
        violation: Violation,
        target: Target,
        related: Related | None = None,
    ) -> None:
        super().__init__(f"{violation.rule}: {observed_text(violation)}")
        self.program = program
        """The program, or the first of two that are related."""
        self.observation = observation
        """What was observed of it."""
        self.violation = violation
        """The first difference from what the rules allow."""
        self.target = target
        """What ran it."""
        self.related = related
        """Both programs, where the rule relates two."""


@lru_cache(maxsize=None)
def _broken(rule: str, op: str | None) -> type[RuleViolated]:
    """A class of its own for each rule: Hypothesis tells bugs apart by the type of the exception."""
    return type(f"RuleViolated[{rule}{', ' + op if op else ''}]", (RuleViolated,), {})


@dataclass(repr=False)  # pytest and Hypothesis write down what a failing test was given
class Check:
    """Checks programs for one test, and keeps the test's counts."""

    target: Target
    """What runs the programs."""
    known: tuple[Known, ...] = ()
    """The differences that are counted, not raised."""
    rule: str | None = None
    """The rule that the test is about."""
    strict: bool = True
    """Whether a broken SHOULD is raised, too, not only noted."""
    leaves_out: Callable[[str, str | None], bool] | None = None
    """Where what is broken becomes a known difference: whether an op that breaks a rule is left out elsewhere."""
    pool: Pool | None = None
    """What says which programs are worth their functions, where these cost much."""
    programs: int = 0
    """How many programs were checked, two that are related counted as one."""
    exercised: Counter[str] = field(default_factory=Counter)
    """How often each rule was put to the test."""
    differences: Counter[Known] = field(default_factory=Counter)
    """How often each known difference was seen."""
    ended: Counter[Known] = field(default_factory=Counter)
    """How often nothing could be judged behind it."""
    advice: dict[str, RuleViolated] = field(default_factory=dict)
    """For each SHOULD that is broken and only noted, the shortest program that breaks it."""
    noticed: Callable[[RuleViolated], object] | None = None
    """Called with the first program that broke a rule, before it is shrunk."""
    shortest: RuleViolated | None = None
    """Of the programs that broke a rule, the shortest: what drew them may die of another error while it shrinks one."""
    findings: dict[Signature, Finding] = field(default_factory=dict)
    """The differences that become known."""
    found: dict[Signature, RuleViolated] = field(default_factory=dict)
    """The shortest program that shows each of them."""
    common: dict[str, frozenset[Clause]] = field(default_factory=dict)
    """Where differences become known: what all programs that kept a rule have in common, for each rule."""
    articles: dict[str, str] = field(default_factory=dict)
    """For each claim of an article that was tried, what the framework showed of it."""
    left_open: int = 0
    """How many programs went on with something that the rules leave unspecified."""
    instructions: int = 0
    """How many instructions the programs have that were judged by themselves, not beside another one."""
    judged: int = 0
    """How many of them were judged: those before what the rules leave open, or nothing could be judged behind."""
    pairs: Counter[Pair] = field(default_factory=Counter)
    """In how many programs each op came before each action."""
    choices: Counter[Choice] = field(default_factory=Counter)
    """How often each outcome was chosen where the rules allow several."""
    absent: Counter[str] = field(default_factory=Counter)
    """What was said, in how many programs, of kernels that the device does not have."""
    remarks: Remarks = field(default_factory=Remarks)
    """What is to be said to the adapter's author."""

    def __call__(self, case: Program | Drawn | Related) -> None:
        """Run and judge a program, or two related programs. Raises `RuleViolated` for the first violation that is not a
        known difference.
        """
        if self.pool is not None and not self.pool.accept(lambda: compiled_regions(case, self.target)):
            raise UnsatisfiedAssumption  # it needs a function for itself: another one is drawn
        match case:
            case Related():
                self._relate(case)
            case Drawn(program, reference):
                self._judge(program, reference)
            case Program():
                self._judge(case)
            case _:
                assert_never(case)

    def _judge(self, program: Program, reference: Reference | None = None) -> None:
        """Judge one program by the reference that it was drawn with, or by one of its own."""
        self._count(program)
        observation = self.target.observe(program)
        self._note(observation)
        shown: set[Known | Signature] = set()
        excuses = partial(self._excuses, program, observation, shown)
        reference = _reference(program, self.target, reference)
        judgement = judge(program, observation, reference, self.target.capabilities, excuses)
        self.exercised.update(judgement.exercised)
        self.remarks.refusals.update(judgement.refusals)
        if self.pool is not None:
            self.pool.record_relevance(self.rule in judgement.exercised)
        self.left_open += judgement.unspecified
        self.instructions += len(program)
        self.judged += judgement.judged
        self.choices.update(judgement.choices)
        self.differences.update(each for each in shown if isinstance(each, Known))
        if judgement.ended_by:
            self.ended.update(filter(None, [self._entry(program, judgement.ended_by)]))
        if judgement.violation:
            self._complain(program, observation, judgement.violation)
        if self.leaves_out is not None:
            broken = {each.rule for each in shown}
            self._note_kept(program, observation, [rule for rule in judgement.exercised if rule not in broken])

    def _note_kept(self, program: Program, observation: Observation, rules: Iterable[str]) -> None:
        """Note what a program that kept some rules has in common with the others that did."""
        left = [rule for rule in rules if self.common.get(rule, True)]
        if not left:
            return
        known = {*left} <= self.common.keys()
        among = {clause for rule in left for clause in self.common[rule]} if known else None
        found = in_common(program, region_steps(observation), among)
        self.common.update({rule: self.common.get(rule, found) & found for rule in left})

    def tally(self) -> Tally:
        """The counts that are added up over all tests."""
        number = {entry: k for k, entry in enumerate(self.known)}
        seen = Counter({number[entry]: count for entry, count in self.differences.items()})
        ended = Counter({number[entry]: count for entry, count in self.ended.items()})
        found = list(self.findings.values())
        return Tally(self.articles, seen, self.pairs, ended, found, self.choices, self.remarks, self.common)

    def _relate(self, related: Related) -> None:
        self._count(related.first)
        observation, other = self.target.observe(related.first), self.target.observe(related.second)
        self._note((*observation, *other))
        relation = related_as(related, observation, other, self.target)
        self.exercised.update([related.rule] if relation.decided else [])
        if self.pool is not None:
            self.pool.record_relevance(relation.decided)
        if relation.violation:
            alone = ((related.first, observation), (related.second, other))
            entry = self._entry(related.first, relation.violation) or self._entry_alone(alone)
            if entry is None:
                self._complain(related.first, observation, relation.violation, related)
            else:
                self.differences[entry] += 1

    def _count(self, program: Program) -> None:
        if self.target.traits.scalars and any(isinstance(step, Leaf) and step.value.shape for step in program):
            raise UnsupportedShape("the framework has no tensors of several elements")
        forms = {form(step.value.shape) for step in program if isinstance(step, Leaf)} if self.target.absent else set()
        if forms.intersection(self.target.absent):
            raise UnsupportedShape(
                f"the framework has no leaves that are {', '.join(sorted(forms & {*self.target.absent}))}"
            )
        self.programs += 1
        self.pairs.update(pairs(program))

    def _note(self, observation: Observation) -> None:
        """Count what is said of the kernel that a program could not go on without, in its first sentence, and what the
        adapter's author is to know.
        """
        self.remarks.note(observation)
        raised = (seen.outcome for seen in observation if isinstance(seen.outcome, Raised))
        said = [each.message for each in raised if each.kind is Kind.NO_KERNEL]
        self.absent.update(message.partition(". ")[0] for message in said[:1])

    def _complain(
        self, program: Program, observation: Observation, violation: Violation, related: Related | None = None
    ) -> None:
        broken = _broken(violation.rule, violation.op)(program, observation, violation, self.target, related)
        if self.shortest is None and self.noticed is not None:
            self.noticed(broken)
        if self.shortest is None or len(program) < len(self.shortest.program):
            self.shortest = broken
        raise broken

    def _entry(self, program: Program, violation: Violation) -> Known | None:
        """The known difference that a violation is, if it is one."""
        return next((entry for entry in self.known if is_known(entry, program, violation)), None)

    def _entry_alone(self, programs: Iterable[tuple[Program, Observation]]) -> Known | None:
        """The known difference that one of some programs shows by itself, if one does: what it gives is no measure for
        another.
        """
        for program, observation in programs:
            violation = first_violation(program, observation, self.target)
            entry = None if violation is None else self._entry(program, violation)
            if entry is not None:
                return entry
        return None

    def _excuses(
        self, program: Program, observation: Observation, shown: set[Known | Signature], violation: Violation
    ) -> bool:
        """Whether a violation is known, becomes known, or breaks a SHOULD that is only noted; what is known of it is
        `shown` then.
        """
        entry = self._entry(program, violation)
        if entry is not None:
            shown.add(entry)
            return True
        if self.leaves_out is None and (self.strict or not is_advisory(violation)):
            return False
        broken = _broken(violation.rule, violation.op)(program, observation, violation, self.target)
        if self.leaves_out is None:
            least = self.advice.setdefault(violation.rule, broken)
            if len(program) < len(least.program):
                self.advice[violation.rule] = broken
            return True
        seen = int(Signature.of(program, violation) not in shown)
        known = self.findings.get(Signature.of(program, violation))
        left_out = self.leaves_out(violation.rule, violation.op)
        finding = Finding.of(program, violation, left_out, seen, known.clauses if known else None)
        least = self.found.setdefault(finding.about, broken)
        if len(program) < len(least.program):
            self.found[finding.about] = broken
        self.findings[finding.about] = known.joined(finding) if known else finding
        shown.add(finding.about)
        return True


def related_as(related: Related, one: Observation, other: Observation, target: Target) -> Relation:
    """What two observations say of two related programs; bits are not compared where the framework itself computes
    other ones each time: each of the two programs is asked again, for either may have been seen with the rarer ones.
    """
    if is_inconclusive(*one, *other):
        return Relation(None, False)
    relation = relate(related, one, other)
    if relation.violation and any(region_steps(each) for each in (one, other)):
        programs = ((related.first, one), (related.second, other))
        if any(_left_open(program, observation, target) for program, observation in programs):
            return Relation(None, False)  # what is a view within a unit, and what a write there changes, nobody sees
    if relation.violation and related.exact:
        first, second = zip(*related.same, strict=True) if related.same else ((), ())
        for program, seen, same in ((related.first, one, first), (related.second, other, second)):
            itself = replace(related, first=program, second=program, same=tuple((at, at) for at in same))
            if any(relate(itself, seen, target.observe(program)).violation for _ in range(AGAIN)):
                return relate(related, one, other, deterministic=False)
    return relation


def _left_open(program: Program, observation: Observation, target: Target) -> bool:
    """Whether the rules leave something open in what was observed of a program."""
    return judge(program, observation, _reference(program, target), target.capabilities).unspecified


def passes(program: Program, target: Target) -> bool:
    """Whether a program breaks no rule."""
    return violation_of(program, target) is None


def violation_of(program: Program, target: Target) -> Violation | None:
    """The first violation of a program, run on its own."""
    return first_violation(program, target.observe(program), target)


def first_violation(
    program: Program, observation: Observation, target: Target, excuses: Waiver = waives_nothing
) -> Violation | None:
    """The first violation in what was observed of a program on a target, but for those that are excused."""
    return judge(program, observation, _reference(program, target), target.capabilities, excuses).violation


def is_advisory(violation: Violation) -> bool:
    """Whether what is broken is a SHOULD."""
    return is_advice(violation.rule)


def is_advice(rule: str) -> bool:
    """Whether a rule is a SHOULD: a run in which it is broken fails only where it is strict."""
    return RULES[rule].level is Level.SHOULD


def _reference(program: Program, target: Target, drawn: Reference | None = None) -> Reference:
    """What a program is judged with: what it was `drawn` with, if anything; where it depends on what is seen, the judge
    computes its own.
    """
    return Reference(None, target.traits) if program.stateful else drawn or Reference(program, target.traits)


def violation_in(error: BaseException) -> RuleViolated | None:
    """The broken rule in what a test raised."""
    return _in(error, RuleViolated)


def process_end_in(error: BaseException) -> Crashed | TimedOut | None:
    """The end of a framework's process in what a test raised."""
    return _in(error, ENDED)


def _in(error: BaseException, wanted: Any) -> Any:
    """An exception in what a test raised, which Hypothesis wraps when it does not replay."""
    if isinstance(error, wanted):
        return error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((found for found in (_in(each, wanted) for each in inner) if found is not None), None)
