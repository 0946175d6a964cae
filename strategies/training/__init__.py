"""Training loops, correct or with typical bugs. A `Plan` has all choices of a loop; a `Pattern` is a kind of loop."""

from __future__ import annotations

from hypothesis import strategies as st

from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness.choices import Choices, Draw
from autograd_conformance.strategies.training import losses, second_order, several  # noqa: F401 (they register their patterns)
from autograd_conformance.strategies.training.drawing import drawn_plan, runnable
from autograd_conformance.strategies.training.loop import Loop
from autograd_conformance.strategies.training.patterns import PATTERNS, Pattern, start_loop
from autograd_conformance.strategies.training.plan import Clearing, LoopBug, Plan

__all__ = ["PATTERNS", "Clearing", "LoopBug", "Pattern", "Plan", "build", "loops", "plans", "write"]


def write(plan: Plan, a: Draft) -> Loop:
    """Writes the training loop of a plan into a program under construction."""
    loop = start_loop(plan, a)
    PATTERNS[loop.plan.pattern].run(loop)
    return loop


def build(plan: Plan) -> Program:
    """Returns the program of a plan; nothing is drawn."""
    a = Draft(Choices(_nothing), plan.dtype)
    write(plan, a)
    return a.program()


def _nothing(strategy: st.SearchStrategy[object]) -> object:
    raise AssertionError(f"a plan fixes all choices, but {strategy} was drawn")


@st.composite
def plans(draw: Draw, pattern: str | None = None, bugs: tuple[LoopBug, ...] | None = None) -> Plan:
    """Draws plans of one pattern or of any, with the given bugs or drawn ones."""
    a = Draft(Choices(draw))
    return drawn_plan(a, PATTERNS[pattern or a.pick(runnable(a))], bugs)


@st.composite
def loops(draw: Draw, pattern: str | None = None) -> Drawn:
    """Draws programs that are training loops of one pattern or of any."""
    a = Draft(Choices(draw))
    write(drawn_plan(a, PATTERNS[pattern or a.pick(runnable(a))]), a)
    return a.drawn()
