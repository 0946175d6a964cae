"""`python -m evaluation.pages.mistakes [N]`: draws training loops with common bugs, and writes
`docs/results/mistakes.md`.

Each drawn loop is written twice, with the bug and without. The tape model computes the outcome of both; if the outcomes
differ, the bug has an effect. Then PyTorch runs the loop with the bug, and the judge checks that every outcome is
allowed.
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
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.known_differences import is_known
from autograd_conformance.programs.observations import Kind, Observation, Raised
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reporting.render.markdown import environment
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.randomness.choices import Choices
from autograd_conformance.strategies.training import PATTERNS, LoopBug, Plan, plans, write
from autograd_conformance.strategies.training.patterns import Pattern

PAGE = Path(__file__).parents[2] / "docs" / "results" / "mistakes.md"
EACH = 300
"""Number of drawn loops for each bug, divided among the patterns that can have it."""

SEED = 1
KINDS = (Kind.GRAPH_FREED, Kind.MODIFIED, Kind.NO_GRAD)
"""The kinds of errors that a bug may cause."""

EITHER, OTHER, NOTHING = "may raise", "other parameters", "nothing"


@dataclass(frozen=True, slots=True)
class LoopOutcome:
    """The outcome of a loop according to the tape model."""

    must_raise: frozenset[Kind]
    """The errors that the loop must raise."""
    may_raise: frozenset[Kind]
    """The other errors that the loop may raise."""
    parameters: tuple[np.ndarray, ...]
    """The final values of the loop's parameters."""


def _nothing(strategy: object) -> object:
    raise AssertionError(f"a plan leaves nothing to draw, not {strategy}")


def model_outcome(plan: Plan) -> tuple[Draft, LoopOutcome]:
    """The draft of a plan, and its outcome according to the tape model."""
    draft = Draft(Choices(_nothing), plan.dtype)
    loop = write(plan, draft)
    must_raise, may_raise = set[Kind](), set[Kind]()
    for expectation in draft.script.expectations:
        kinds = [kind for kind in expectation.raises if kind in KINDS]
        if expectation.returns is None and kinds:
            must_raise.add(kinds[0])
        else:
            may_raise.update(kinds)
    parameters = tuple(draft.reference.values[p] for leaves in loop.leaves for p in leaves)
    return draft, LoopOutcome(frozenset(must_raise), frozenset(may_raise - must_raise), parameters)


def outcome(wrong: LoopOutcome, right: LoopOutcome) -> str:
    """The effect of a bug: a certain error, a possible error, other final parameters, or nothing."""
    for kind in KINDS:
        if kind in wrong.must_raise - right.must_raise:
            return kind.value
    if wrong.may_raise - right.may_raise - right.must_raise:
        return EITHER
    pairs = zip(wrong.parameters, right.parameters, strict=True)
    return OTHER if any(not np.allclose(one, other, 1e-6, 1e-9) for one, other in pairs) else NOTHING


@dataclass(slots=True)
class Row:
    """A bug in one pattern or in all patterns: counts of its effects and of PyTorch's outcomes."""

    name: str
    counts: Counter[str]
    raised: int = 0
    observed: int = 0
    known: int = 0
    unspecified: int = 0

    @property
    def plans(self) -> int:
        """Number of loops."""
        return self.counts.total()

    @property
    def changed(self) -> str:
        """The share of loops that the bug changes, in whole percent."""
        return self.share(*(set(self.counts) - {NOTHING}))

    def share(self, *outcomes: str) -> str:
        """The share of loops with some effects, in whole percent; empty for none."""
        part = sum(self.counts[each] for each in outcomes)
        return f"{part / self.plans:.0%}" if part else ""

    def add(self, other: Row) -> None:
        """Add another row's counts."""
        self.counts += other.counts
        self.raised, self.observed = self.raised + other.raised, self.observed + other.observed
        self.known, self.unspecified = self.known + other.known, self.unspecified + other.unspecified


def measured(bug: LoopBug, pattern: Pattern, number: int, framework: FrameworkUnderTest) -> Row:
    """The row of a bug in one pattern."""
    row = Row(pattern.name, Counter())

    @seed(SEED)
    @settings(
        max_examples=number, backend=BACKEND, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(plans(pattern.name, (bug,)))
    def measure(plan: Plan) -> None:
        draft, wrong = model_outcome(plan)
        _, right = model_outcome(plan.with_bugs())
        changed = outcome(wrong, right)
        row.counts[changed] += 1
        program = draft.program()
        observation = framework.target.observe(program)
        row.raised += changed == EITHER and _raises(observation)
        judgement = judge(program, observation, Reference(), framework.target.capabilities)
        violation = judgement.violation
        if violation is None:
            row.unspecified += judgement.unspecified
            row.observed += not judgement.unspecified
        elif any(is_known(entry, program, violation) for entry in framework.known):
            row.known += 1

    measure()
    return row


def _raises(observation: Observation) -> bool:
    return any(isinstance(seen.outcome, Raised) and seen.outcome.kind in KINDS for seen in observation)


def tables(each: int, framework: FrameworkUnderTest) -> Iterator[tuple[LoopBug, Row, list[Row]]]:
    """Each bug with the total row of its patterns and a row for each pattern."""
    for bug in LoopBug:
        patterns = [p for p in PATTERNS.values() if any(bug is m for m, _ in p.bugs)]
        rows = [measured(bug, pattern, -(-each // len(patterns)), framework) for pattern in patterns]
        total = Row(bug.value, Counter())
        for row in rows:
            total.add(row)
        yield bug, total, rows


def page(each: int) -> str:
    """The page, in GitHub's Markdown, with a final newline."""
    framework = FrameworkUnderTest(Settings("torch"))
    with warnings.catch_warnings(action="ignore"):
        framework.adopt_audit(audit(framework.target, framework.drawable, thrice=False))
        framework.prepare()
        found = list(tables(each, framework))
    template = environment().get_template("mistakes.md.j2")
    shown = {"each": each, "seed": SEED, "kinds": [kind.value for kind in KINDS], "either": EITHER, "other": OTHER}
    return template.render(found=found, version=framework.target.version.partition("+")[0], **shown).rstrip() + "\n"


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(int(sys.argv[1]) if len(sys.argv) > 1 else EACH), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
