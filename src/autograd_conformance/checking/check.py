"""The check of one program, or of two related programs: runs the programs, judges what was observed, counts what was
tested, and raises an exception at a violation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, TypeVar, assert_never

from hypothesis.errors import UnsatisfiedAssumption

from autograd_conformance.checking.counts.coverage import Pair, pairs
from autograd_conformance.checking.counts.remarks import Remarks
from autograd_conformance.checking.counts.tally import Tally
from autograd_conformance.checking.other_runs import other_runs
from autograd_conformance.checking.support.compiled_regions import compiled_regions
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment.process_end import ENDED, Crashed, TimedOut
from autograd_conformance.interactions.meetings import Meeting, meetings
from autograd_conformance.known_differences import Known, is_known
from autograd_conformance.known_differences.clauses import Clause, in_common
from autograd_conformance.known_differences.update import Finding, Signature
from autograd_conformance.ops.rows.shapes import form
from autograd_conformance.programs.editing import computation
from autograd_conformance.programs.language import Leaf, Program
from autograd_conformance.programs.observations import Kind, Observation, Raised, is_inconclusive, region_steps
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES, Level
from autograd_conformance.rules.judge.choices import Choice
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.judge.judgement import Judgement, Waiver, waives_nothing
from autograd_conformance.rules.relations.relation import Related, Relation, relate
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness.pool import Pool
from autograd_conformance.strategies.building.unsupported import UnsupportedShape

REPEATS = 3
"""Number of further runs of each of two related programs, if their bits differ, that decide whether the framework
repeats its own bits."""


class RuleViolated(AssertionError):
    """Raised when a program violated a rule. Each rule and op has its own subclass, so that Hypothesis shrinks a
    program only to programs with a violation of the same rule and op.
    """

    def __init__(
        self,
        program: Program,
        observation: Observation,
        violation: Violation,
        target: Target,
        related: Related | None = None,
    ) -> None:
        super().__init__(f"{violation.rule}: {violation.observed_text()}")
        self.program = program
        """The program that violated the rule, or the first of two related programs."""
        self.observation = observation
        """The outcomes, gradients and other values that were observed when that program ran."""
        self.violation = violation
        """The first difference from the allowed outcomes."""
        self.target = target
        """The framework, or server of a framework, that ran the program."""
        self.related = related
        """Both programs, if the rule compares two; else None."""

    @property
    def size(self) -> int:
        """Number of instructions of the program, or of both related programs."""
        return len(self.program) if self.related is None else len(self.related.first) + len(self.related.second)


@lru_cache(maxsize=None)
def _violation_class(rule: str, op: str | None) -> type[RuleViolated]:
    """Returns the exception class of a rule and op. Hypothesis distinguishes bugs by the type of the exception."""
    return type(f"RuleViolated[{rule}{', ' + op if op else ''}]", (RuleViolated,), {})


Key = TypeVar("Key")

LONGEST_COMPARED = 40
"""Programs of more instructions are not searched for clauses that `--update-known` could use: the time grows with the
square of their number, and the shorter programs of a rule are enough.
"""


@dataclass(repr=False)  # pytest and Hypothesis print the arguments of a failing test
class Check:
    """Checks the programs of one test, and counts what the test has tested."""

    target: Target
    """The target that runs the programs."""
    known: tuple[Known, ...] = ()
    """Violations that the user has listed as known differences; these are counted and not raised."""
    rule: str | None = None
    """Slug of the rule that the test is about; None outside the suite's tests."""
    strict: bool = True
    """Whether a violation of a SHOULD rule is raised as well, and not only reported."""
    leaves_out: Callable[[Slug, str | None], bool] | None = None
    """With `--update-known`, decides for a violated rule and op whether the tests of other rules leave out this op;
    None without the option.
    """
    pool: Pool | None = None
    """If compiling is expensive, decides which drawn programs run, so that many share one compiled function; else None.
    """
    skipped: frozenset[str] = frozenset()
    """Slugs of the rules that the user skips: their violations are not reported, and no program counts for them."""
    only_values: bool = False
    """Whether programs run without their calls and other actions, since all first gradients go wrong."""
    programs: int = 0
    """Number of checked programs; two related programs count as one."""
    exercised: Counter[str] = field(default_factory=Counter)
    """Number of times that the checked programs tested each rule, by the rule's slug."""
    differences: Counter[Known] = field(default_factory=Counter)
    """Number of programs that showed each known difference."""
    ended: Counter[Known] = field(default_factory=Counter)
    """Number of programs whose judging a known difference ended early, by that difference."""
    advice: dict[str, RuleViolated] = field(default_factory=dict)
    """For each violated SHOULD rule that is only reported, the shortest program that violates it."""
    on_violation: Callable[[RuleViolated], object] | None = None
    """Called with the first violation, before Hypothesis shrinks its program."""
    is_repeated: Callable[[Program, Violation], bool] | None = None
    """Whether a failure with the cause of a violation was recorded: then the program counts as far as it was judged,
    and the test continues. None if each violation ends a test.
    """
    repeated: list[RuleViolated] = field(default_factory=list)
    """The violations that did not end the test because their cause was recorded, one for each rule and op."""
    shortest: RuleViolated | None = None
    """The violation with the shortest program so far. It is kept because Hypothesis may end with another error, or the
    test's share of the budget may end, while Hypothesis shrinks.
    """
    findings: dict[Signature, Finding] = field(default_factory=dict)
    """With `--update-known`, the violations that become known differences, by the features that an entry describes."""
    found: dict[Signature, RuleViolated] = field(default_factory=dict)
    """For each of these violations that become known differences, the one with the shortest program."""
    common: dict[str, frozenset[Clause]] = field(default_factory=dict)
    """For each rule, the clauses (a key of a known difference and its value, such as `("makes_view", True)`) that are
    true of all programs that kept the rule; only with `--update-known`.
    """
    articles: dict[str, str] = field(default_factory=dict)
    """The result of each tested claim that an article makes about autograd, by the claim's key."""
    unspecified: int = 0
    """Number of programs in which the rules leave some outcome unspecified."""
    instructions: int = 0
    """Number of instructions of the programs that were judged; related programs are compared instead, and do not count.
    """
    judged: int = 0
    """Number of those instructions that were judged. Judging a program may end at an unspecified outcome, and ends at a
    known difference after which the judge cannot continue from the framework's state.
    """
    pairs: Counter[Pair] = field(default_factory=Counter)
    """Number of programs in which each pair of an op and a later instruction of another kind, such as backward,
    occurred.
    """
    meetings: set[Meeting] = field(default_factory=set)
    """The sets of facts that held together in the programs, without those in `reported`."""
    reported: set[Meeting] = field(default_factory=set)
    """The sets of facts that held together in earlier programs of this process, which all its checks share."""
    choices: Counter[Choice] = field(default_factory=Counter)
    """Number of times that the framework chose each outcome where the rules allow several."""
    missing_kernels: Counter[str] = field(default_factory=Counter)
    """Number of programs that needed an op which the device has no kernel for, by the first sentence of the framework's
    message.
    """
    remarks: Remarks = field(default_factory=Remarks)
    """Remarks for the adapter's author, such as errors that the adapter cannot classify."""

    def __call__(self, case: Program | Drawn | Related) -> None:
        """Runs and judges a program, or two related programs. Raises `RuleViolated` for the first violation that is not
        a known difference.
        """
        if self.pool is not None and not self.pool.accept(lambda: compiled_regions(case, self.target)):
            raise UnsatisfiedAssumption  # it needs a new compiled region: another program is drawn
        match case:
            case Related():
                self._relate(case)
            case Drawn(program) if self.only_values:
                self._judge(computation(program))
            case Drawn(program, reference):
                self._judge(program, reference)
            case Program():
                self._judge(case)
            case _:
                assert_never(case)

    def _judge(self, program: Program, reference: Reference | None = None) -> None:
        """Judges one program, with the exact values that were computed when it was drawn, if there are any."""
        self._count(program)
        observation = self.target.observe(program)
        self._note(observation)
        reference = _reference(program, self.target, reference)
        waives = partial(self._waives, program)
        others = other_runs(self.target)
        judgement = judge(program, observation, reference, self.target.capabilities, waives, others)
        waived_rules = self._record_waived(program, observation, judgement.waived)
        self.exercised.update(rule for rule in judgement.exercised if rule not in self.skipped)
        self.remarks.note_judgement(judgement, observation)
        if self.pool is not None:
            self.pool.record_relevance(self.rule in judgement.exercised)
        self.unspecified += judgement.unspecified
        self.instructions += len(program)
        self.judged += judgement.judged
        self.choices.update(judgement.choices)
        if judgement.ended_by:
            self.ended.update(filter(None, [self._entry(program, judgement.ended_by)]))
        if judgement.violation and not (reference.was_drawn and is_outside_domains(program, self.target)):
            self._raise(program, observation, judgement.violation)
        if self.leaves_out is not None:
            kept = [rule for rule in judgement.exercised if rule not in waived_rules]
            self._update_common(program, observation, kept)

    def _update_common(self, program: Program, observation: Observation, rules: Iterable[str]) -> None:
        """Removes from the common clauses of the given rules, which a program kept, those that are not true of the
        program.
        """
        left = [rule for rule in rules if self.common.get(rule, True)]
        if not left or len(program) > LONGEST_COMPARED:
            return
        old, regions = [rule for rule in left if rule in self.common], region_steps(observation)
        if len(old) < len(left):  # a rule's first program: all clauses that it has, of which there may be thousands
            first = in_common(program, regions, None)
            self.common.update({rule: first for rule in left if rule not in old})
        if old:
            found = in_common(program, regions, {clause for rule in old for clause in self.common[rule]})
            self.common.update({rule: self.common[rule] & found for rule in old})

    def tally(self) -> Tally:
        """Returns the counts that are added up over all tests."""
        number = {entry: k for k, entry in enumerate(self.known)}
        differences = Counter({number[entry]: count for entry, count in self.differences.items()})
        ended = Counter({number[entry]: count for entry, count in self.ended.items()})
        found = list(self.findings.values())
        return Tally(
            self.articles, differences, self.pairs, ended, found, self.choices, self.remarks, self.meetings, self.common
        )

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
            entry = self._entry(related.first, relation.violation) or self._entry_of_either(alone)
            if entry is None:
                self._raise(related.first, observation, relation.violation, related)
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
        new = {*meetings(program)} - self.reported
        self.reported |= new
        self.meetings |= new

    def _note(self, observation: Observation) -> None:
        """Collects remarks for the adapter's author, and counts messages about missing kernels."""
        self.remarks.note(observation)
        raised = (step.outcome for step in observation if isinstance(step.outcome, Raised))
        messages = [each.message for each in raised if each.kind is Kind.NO_KERNEL]
        self.missing_kernels.update(message.partition(". ")[0] for message in messages[:1])

    def _raise(
        self, program: Program, observation: Observation, violation: Violation, related: Related | None = None
    ) -> None:
        broken = _violation_class(violation.rule, violation.op)(program, observation, violation, self.target, related)
        is_first = self.shortest is None
        if self.shortest is None or broken.size <= self.shortest.size:  # of two, Hypothesis ran the simpler one later
            self.shortest = broken
        if is_first and self.on_violation is not None:
            self.on_violation(broken)
        raise broken

    def _entry(self, program: Program, violation: Violation) -> Known | None:
        """Returns the known difference that covers a violation; None if there is none."""
        return next((entry for entry in self.known if is_known(entry, program, violation)), None)

    def _entry_of_either(self, programs: Iterable[tuple[Program, Observation]]) -> Known | None:
        """Returns the known difference that one of two related programs shows when it is judged separately; None if
        neither does. A program with a known difference is no measure for the other.
        """
        for program, observation in programs:
            violation = first_violation(program, observation, self.target)
            entry = None if violation is None else self._entry(program, violation)
            if entry is not None:
                return entry
        return None

    def _waives(self, program: Program, violation: Violation) -> bool:
        """Returns whether a violation is not raised: it is a known difference, becomes one, violates a SHOULD rule in
        a run that is not strict, or violates a rule that the user skips.
        """
        if violation.rule in self.skipped:
            return True
        becomes_known = self.leaves_out is not None or (is_advisory(violation) and not self.strict)
        return becomes_known or self._entry(program, violation) is not None or self._is_repeated(program, violation)

    def _is_repeated(self, program: Program, violation: Violation) -> bool:
        return self.is_repeated is not None and self.is_repeated(program, violation)

    def _record_waived(self, program: Program, observation: Observation, waived: Iterable[Violation]) -> set[str]:
        """Records the violations of a program that are not raised: the known differences that it showed, the SHOULD
        rules that it violated, and the violations that become known differences. Returns the rules of the known
        differences and of those that become known.
        """
        shown, findings = set[Known](), set[Signature]()
        for violation in waived:
            if violation.rule in self.skipped:
                continue
            entry = self._entry(program, violation)
            if entry is not None:
                shown.add(entry)
                continue
            broken = _violation_class(violation.rule, violation.op)(program, observation, violation, self.target)
            if self.leaves_out is None and self._is_repeated(program, violation):
                if type(broken) not in map(type, self.repeated):
                    self.repeated.append(broken)
                continue
            if self.leaves_out is None:
                _keep_shortest(self.advice, violation.rule, broken)
                continue
            signature = Signature.of(program, violation)
            known = self.findings.get(signature)
            left_out = self.leaves_out(violation.rule, violation.op)
            count = int(signature not in findings)
            finding = Finding.of(program, violation, left_out, count, known.clauses if known else None)
            _keep_shortest(self.found, signature, broken)
            self.findings[signature] = known.joined(finding) if known else finding
            findings.add(signature)
        self.differences.update(shown)
        return {each.rule for each in shown} | {each.rule for each in findings}


def _keep_shortest(kept: dict[Key, RuleViolated], key: Key, broken: RuleViolated) -> None:
    """Stores a violation under a key, unless the violation stored there has a program of the same length or a shorter
    one.
    """
    if key not in kept or len(broken.program) < len(kept[key].program):
        kept[key] = broken


def related_as(related: Related, one: Observation, other: Observation, target: Target) -> Relation:
    """Compares the observations of two related programs.

    Relations that are exact compare bits. If the bits differ, each program runs again a few times; if the framework
    does not repeat its own bits, the values are compared within error bounds instead.
    """
    if is_inconclusive(*one, *other):
        return Relation(None, False)
    relation = relate(related, one, other)
    if relation.violation and any(region_steps(each) for each in (one, other)):
        programs = ((related.first, one), (related.second, other))
        if any(_is_unspecified(program, observation, target) for program, observation in programs):
            return Relation(None, False)  # views and writes inside a region are not observable
    if relation.violation and related.exact:
        first, second = zip(*related.same, strict=True) if related.same else ((), ())
        for program, observation, same in ((related.first, one, first), (related.second, other, second)):
            itself = replace(related, first=program, second=program, same=tuple((at, at) for at in same))
            if any(relate(itself, observation, target.observe(program)).violation for _ in range(REPEATS)):
                return relate(related, one, other, deterministic=False)
    return relation


def _is_unspecified(program: Program, observation: Observation, target: Target) -> bool:
    """Returns whether the rules leave some outcome in the observation of a program unspecified."""
    return judgement_of(program, observation, target).unspecified


def passes(program: Program, target: Target) -> bool:
    """Runs a program and returns whether it violates no rule."""
    return violation_of(program, target) is None


def violation_of(program: Program, target: Target) -> Violation | None:
    """Runs a program and returns its first violation; None if there is none."""
    return first_violation(program, target.observe(program), target)


def judgement_of(
    program: Program, observation: Observation, target: Target, waives: Waiver = waives_nothing
) -> Judgement:
    """Judges what was observed when a program ran. `waives` decides which violations are only noted, such as known
    differences.
    """
    reference = _reference(program, target)
    return judge(program, observation, reference, target.capabilities, waives, other_runs(target))


def first_violation(
    program: Program, observation: Observation, target: Target, waives: Waiver = waives_nothing
) -> Violation | None:
    """Returns the first violation in the observation of a program that `waives` does not waive; None without one."""
    return judgement_of(program, observation, target, waives).violation


def is_advisory(violation: Violation) -> bool:
    """Returns whether a violation is of a SHOULD rule."""
    return is_advice(violation.rule)


def is_advice(rule: str) -> bool:
    """Returns whether a rule is a SHOULD rule. A violation of such a rule fails only a strict run."""
    return RULES[rule].level is Level.SHOULD


def is_outside_domains(program: Program, target: Target) -> bool:
    """Returns whether an op of a drawn program is computed where it is not smooth. Strategies do not draw such
    programs; if one does, the fault is the strategy's, and the program shows nothing about the framework.
    """
    return not program.stateful and Reference(program, target.traits).is_outside_domains


def _reference(program: Program, target: Target, drawn: Reference | None = None) -> Reference:
    """Returns the exact values to judge a program with: those that it was drawn with, or new ones. Values that depend
    on observed state are left to the judge.
    """
    return Reference(None, target.traits) if program.stateful else drawn or Reference(program, target.traits)


def violation_in(error: BaseException) -> RuleViolated | None:
    """Returns the violation in the exception of a test; None if there is none."""
    return _in(error, RuleViolated)


def process_end_in(error: BaseException) -> Crashed | TimedOut | None:
    """Returns the crash or timeout of a framework's process in the exception of a test; None if there is none."""
    return _in(error, ENDED)


def _in(error: BaseException, wanted: Any) -> Any:
    """Returns the exception of the wanted type within the exception of a test, or None. Hypothesis wraps failures that
    do not replay in a group.
    """
    if isinstance(error, wanted):
        return error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((found for found in (_in(each, wanted) for each in inner) if found is not None), None)
