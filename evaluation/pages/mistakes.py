"""`python -m evaluation.pages.mistakes [N]`: draw training loops, make each mistake in them, and
write docs/results/mistakes.md.

For each plan the loop is written twice, with the mistake and without. The model of the tape says what becomes of both;
where its answer differs, the mistake shows. Then PyTorch runs the loop with the mistake, and the judge says whether it
did what the model allows.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from autograd_conformance.checking.audit.programs import audit
from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.checking.session import Session
from autograd_conformance.known_differences import is_known
from autograd_conformance.programs.language import Instruction
from autograd_conformance.programs.observations import Kind, Observation, Raised
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reporting.render.markdown import environment
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.training import PATTERNS, LoopBug, Plan, plans, write
from autograd_conformance.strategies.training.patterns import Pattern

PAGE = Path(__file__).parents[2] / "docs" / "results" / "mistakes.md"
EACH = 300
"""Plans for each mistake, shared out among the patterns in which it can be made."""

SEED = 1
KINDS = (Kind.GRAPH_FREED, Kind.MODIFIED, Kind.NO_GRAD)
"""The errors that a mistake may end in."""

EITHER, OTHER, NOTHING = "may raise", "other parameters", "nothing"


@dataclass(frozen=True, slots=True)
class LoopOutcome:
    """What the model says of a loop."""

    must_raise: frozenset[Kind]
    """The errors that it has to have."""
    may_raise: frozenset[Kind]
    """The other errors that it may have."""
    parameters: tuple[np.ndarray, ...]
    """The values of its parameters at its end."""


class ErrorRecorder(ActionBuilder):
    """A draft that takes down the errors that the model allows for each instruction."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(_nothing, plan.dtype)
        self.must_raise: set[Kind] = set()
        self.may_raise: set[Kind] = set()

    def add(self, step: Instruction) -> int:
        at = super().add(step)
        kinds = [kind for kind in self.expectation.raises if kind in KINDS]
        if self.expectation.returns is None and kinds:
            self.must_raise.add(kinds[0])
        else:
            self.may_raise.update(kinds)
        return at


def _nothing(strategy: object) -> object:
    raise AssertionError(f"a plan leaves nothing to draw, not {strategy}")


def model_outcome(plan: Plan) -> tuple[ErrorRecorder, LoopOutcome]:
    """The draft of a plan, and what the model says of it."""
    recorder = ErrorRecorder(plan)
    loop = write(plan, recorder)
    parameters = tuple(recorder.reference.values[p] for leaves in loop.leaves for p in leaves)
    return recorder, LoopOutcome(
        frozenset(recorder.must_raise), frozenset(recorder.may_raise - recorder.must_raise), parameters
    )


def outcome(wrong: LoopOutcome, right: LoopOutcome) -> str:
    """What a mistake changes: the error that a loop has to end in, that it may have one, its parameters, or nothing."""
    for kind in KINDS:
        if kind in wrong.must_raise - right.must_raise:
            return kind.value
    if wrong.may_raise - right.may_raise - right.must_raise:
        return EITHER
    pairs = zip(wrong.parameters, right.parameters, strict=True)
    return OTHER if any(not np.allclose(one, other, 1e-6, 1e-9) for one, other in pairs) else NOTHING


@dataclass(slots=True)
class Row:
    """A mistake in one pattern, or in all: counts of what it changes, and what PyTorch did."""

    name: str
    counts: Counter[str]
    raised: int = 0
    observed: int = 0
    known: int = 0
    unspecified: int = 0

    @property
    def plans(self) -> int:
        """How many plans there were."""
        return self.counts.total()

    @property
    def changed(self) -> str:
        """The share of plans in which the outcome is another."""
        return self.share(*(set(self.counts) - {NOTHING}))

    def share(self, *outcomes: str) -> str:
        """The share of plans with some outcomes, in whole percent."""
        part = sum(self.counts[each] for each in outcomes)
        return f"{part / self.plans:.0%}" if part else ""

    def add(self, other: Row) -> None:
        """Count another row's plans in."""
        self.counts += other.counts
        self.raised, self.observed = self.raised + other.raised, self.observed + other.observed
        self.known, self.unspecified = self.known + other.known, self.unspecified + other.unspecified


def measured(mistake: LoopBug, pattern: Pattern, number: int, session: Session) -> Row:
    """One mistake in one pattern."""
    row = Row(pattern.name, Counter())

    @seed(SEED)
    @settings(
        max_examples=number, backend=BACKEND, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(plans(pattern.name, (mistake,)))
    def measure(plan: Plan) -> None:
        recorder, wrong = model_outcome(plan)
        _, right = model_outcome(plan.with_bugs())
        changed = outcome(wrong, right)
        row.counts[changed] += 1
        program = recorder.program()
        observation = session.target.observe(program)
        row.raised += changed == EITHER and _raises(observation)
        judgement = judge(program, observation, Reference(), session.target.capabilities)
        violation = judgement.violation
        if violation is None:
            row.unspecified += judgement.unspecified
            row.observed += not judgement.unspecified
        elif any(is_known(entry, program, violation) for entry in session.known):
            row.known += 1

    measure()
    return row


def _raises(observation: Observation) -> bool:
    return any(isinstance(seen.outcome, Raised) and seen.outcome.kind in KINDS for seen in observation)


def tables(each: int, session: Session) -> Iterator[tuple[LoopBug, Row, list[Row]]]:
    """For each mistake, the row of all its patterns, and a row for each."""
    for mistake in LoopBug:
        patterns = [p for p in PATTERNS.values() if any(mistake is m for m, _ in p.bugs)]
        rows = [measured(mistake, pattern, -(-each // len(patterns)), session) for pattern in patterns]
        total = Row(mistake.value, Counter())
        for row in rows:
            total.add(row)
        yield mistake, total, rows


def page(each: int) -> str:
    """The page, in GitHub's Markdown, ending in a line end."""
    session = Session("torch", PAGE.parents[2] / ".cache" / "mistakes")
    with warnings.catch_warnings(action="ignore"):
        session.audited = audit(session.target, session.drawable, thrice=False)
        session.prepare()
        found = list(tables(each, session))
    template = environment().get_template("mistakes.md.j2")
    shown = {"each": each, "seed": SEED, "kinds": [kind.value for kind in KINDS], "either": EITHER, "other": OTHER}
    return template.render(found=found, version=session.target.version.partition("+")[0], **shown).rstrip() + "\n"


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(int(sys.argv[1]) if len(sys.argv) > 1 else EACH), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
