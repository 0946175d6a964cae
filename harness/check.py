"""The check of one program, or of two that are related: write it down, run it, judge it, count what it tested, complain
if a rule is broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from autograd_conformance.frameworks.base import Framework
from autograd_conformance.frameworks.runner import Run, run
from autograd_conformance.harness.coverage import Met, met
from autograd_conformance.harness.known import Known
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.programs.language import Apply, Instruction, Leaf, Program, Step
from autograd_conformance.programs.observations import Observation
from autograd_conformance.programs.operands import grouped
from autograd_conformance.reference.reference import Reference, reference_of
from autograd_conformance.rules.catalogue import Capability
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.judge.violation import Violation
from autograd_conformance.rules.relations.relation import Related, Relation, relate

AGAIN = 3
"""How often a program is run again to see whether the framework itself computes the same bits each time."""

MOVING = (
    "optimizers/formula", "optimizers/groups", "optimizers/skips", "optimizers/remembers", "optimizers/variants",
)  # fmt: skip
"""The rules that say where a step moves a leaf to."""


class Broken(AssertionError):
    """A rule was broken; raised once per failing program, told apart by rule so that shrinking keeps to one.

    `framework` is what was run; `related` the two programs where the rule relates two, `program` being the first.
    """

    def __init__(
        self,
        program: Program,
        observation: Observation,
        violation: Violation,
        framework: Framework | None = None,
        related: Related | None = None,
    ) -> None:
        super().__init__(f"{violation.rule}: {violation.observed}")
        self.program, self.observation, self.violation = program, observation, violation
        self.framework, self.related = framework, related


@lru_cache(maxsize=None)
def _broken(rule: str, op: str | None) -> type[Broken]:
    """A class of its own for each rule: Hypothesis tells bugs apart by the type of the exception."""
    return type(f"Broken[{rule}{', ' + op if op else ''}]", (Broken,), {})


@dataclass
class Check:
    """Checks programs for one test, and keeps the test's counts."""

    framework: Framework
    claims: Collection[Capability]
    known: tuple[Known, ...] = ()
    run: Run = run
    programs: int = 0
    exercised: Counter[str] = field(default_factory=Counter)
    differences: Counter[Known] = field(default_factory=Counter)
    articles: dict[str, str] = field(default_factory=dict)
    left_open: int = 0
    met: Counter[Met] = field(default_factory=Counter)

    def __call__(self, program: Program | Related) -> None:
        """Run and judge `program`; raise `Broken` at the first rule that it breaks and that is no known difference."""
        self.programs += 1
        self.met.update(met(program.first if isinstance(program, Related) else program))
        if isinstance(program, Related):
            self._relate(program)
            return
        observation = self.run(program, self.framework)
        judgement = judge(program, observation, _reference(program), self.claims)
        self.exercised.update(judgement.exercised)
        self.left_open += judgement.unspecified
        if judgement.violation:
            self._complain(program, observation, judgement.violation)

    def _relate(self, related: Related) -> None:
        observation, other = self.run(related.first, self.framework), self.run(related.second, self.framework)
        relation = related_as(related, observation, other, self.framework, self.run)
        self.exercised.update([related.rule] if relation.decided else [])
        if relation.violation:
            self._complain(related.first, observation, relation.violation, related)

    def _complain(
        self, program: Program, observation: Observation, violation: Violation, related: Related | None = None
    ) -> None:
        for entry in self.known:
            if is_known(entry, program, violation):
                self.differences[entry] += 1
                return
        broken = _broken(violation.rule, violation.op)
        raise broken(program, observation, violation, self.framework, related)


def related_as(
    related: Related, one: Observation, other: Observation, framework: Framework, run: Run = run
) -> Relation:
    """What two observations say of two related programs; bits are not compared where the framework itself computes
    other ones each time.
    """
    relation = relate(related, one, other)
    if relation.violation and related.exact:
        itself = replace(related, second=related.first, same=tuple((at, at) for at, _ in related.same))
        if any(relate(itself, one, run(related.first, framework)).violation for _ in range(AGAIN)):
            return relate(related, one, other, steady=False)
    return relation


def companion(framework: Framework) -> Framework | None:
    """The companion that counts a framework's saved tensors, if it has one and does not count them itself."""
    made = getattr(framework, "counting", None)
    return made() if made and Capability.COUNTS_SAVED not in framework.claims else None


def is_known(entry: Known, program: Program, violation: Violation) -> bool:
    """Whether a violation is the difference that an entry lists."""
    ops = {violation.op} if violation.op else {step.op for step in program if isinstance(step, Apply)}
    if entry.rule not in (violation.rule, _general(entry, violation)) or entry.op not in (None, *ops):
        return False
    if entry.elements is not None:
        leaf = None if violation.subject is None else program[violation.subject.at]
        if not isinstance(leaf, Leaf) or len(leaf.value.data) != entry.elements:
            return False
    if entry.nan and (violation.got is None or not np.isnan(violation.got).any()):
        return False
    if entry.zero is not None and not _may_be_zero(program, entry.op, entry.zero):
        return False
    if entry.raised is not None and not violation.observed.startswith(f"raised: {entry.raised} ("):
        return False
    if entry.message is not None and entry.message not in violation.observed:
        return False
    if entry.after is not None and not _stands_before(program, violation.at, entry.after):
        return False
    if entry.views and not _views(program, violation.at):
        return False
    if entry.step is not None and not _is_step(program[violation.at], entry.step):
        return False
    if entry.relative is None:
        return True
    if violation.got is None or violation.want is None:
        return False
    allowed = entry.relative * np.abs(violation.want).max() + entry.absolute
    return bool(np.abs(violation.got - violation.want).max() <= allowed)


def _general(entry: Known, violation: Violation) -> str | None:
    """The general rule of which the broken one is a special case: that a legal call returns, where the entry says which
    error it raises instead; that gradients are right, where it says which op's are not; where a step moves leaves to,
    where it says which step's.
    """
    if entry.step and violation.rule in MOVING:
        return entry.rule if entry.rule in MOVING else None
    unheard = entry.message and violation.observed.startswith("raised: unknown")
    if unheard or (("returns", violation.rule) in violation.allowed and (entry.message or entry.raised)):
        return "errors/legal-returns"
    return "gradients/graph" if entry.op and violation.observed.endswith("another gradient") else None


def _may_be_zero(program: Program, op: str | None, operand: int) -> bool:
    """Whether an operand of one of an op's uses may hold a zero: a leaf that does, or something computed."""
    uses = (step.args[operand] for step in program if isinstance(step, Apply) and step.op == op)
    made = (program[ref.at] for ref in uses)
    return any(not isinstance(step, Leaf) or 0 in step.value.data for step in made)


def _stands_before(program: Program, at: int, what: str) -> bool:
    """Whether an op, or a step as `_is_step` describes it, stands before an instruction."""
    before = program.instructions[:at]
    return any((isinstance(step, Apply) and step.op == what) or _is_step(step, what) for step in before)


def _is_step(step: Instruction, described: str) -> bool:
    """Whether an instruction is the step of an optimizer that has all of some settings, for one of its leaves;
    `own:lr` stands for a parameter group with an lr of its own.
    """
    optimizer, *settings = described.split()
    if not isinstance(step, Step) or step.optimizer != optimizer:
        return False
    owned = {f"own:{key}" for _, own in step.groups for key, _ in own}
    return any(owned.union(f"{key}={value!r}" for key, value in all_).issuperset(settings) for _, all_ in grouped(step))


def _views(program: Program, at: int) -> bool:
    """Whether instruction `at` makes a view, or, where it applies no op, any other does."""
    steps = (program[at],) if isinstance(program[at], Apply) else program
    return any(isinstance(step, Apply) and step.op in VIEWS for step in steps)


def passes(program: Program, framework: Framework, claims: Collection[Capability], run: Run = run) -> bool:
    """Whether a program breaks no rule."""
    return violation_of(program, framework, claims, run) is None


def violation_of(
    program: Program, framework: Framework, claims: Collection[Capability], run: Run = run
) -> Violation | None:
    """The first violation of a program, run on its own."""
    return judged(program, run(program, framework), claims)


def judged(program: Program, observation: Observation, claims: Collection[Capability]) -> Violation | None:
    """The first violation in what was observed of a program."""
    return judge(program, observation, _reference(program), claims).violation


def _reference(program: Program) -> Reference:
    """What a program is judged with; where it depends on what is seen, the judge computes its own."""
    return Reference() if program.stateful else reference_of(program)


def broken_in(error: BaseException) -> Broken | None:
    """The broken rule in what a test raised, which Hypothesis wraps when it does not replay."""
    if isinstance(error, Broken):
        return error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((broken for broken in map(broken_in, inner) if broken is not None), None)
