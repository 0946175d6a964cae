"""Training loops as people write them, right and wrong: a plan says what is chosen, a pattern how the loop goes."""

from __future__ import annotations

from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.building.action_builder import Actor
from autograd_conformance.strategies.building.draft import Draw
from autograd_conformance.strategies.training import losses, second_order, several  # noqa: F401 (they register their patterns)
from autograd_conformance.strategies.training.drawing import names, planned
from autograd_conformance.strategies.training.loop import Loop
from autograd_conformance.strategies.training.patterns import PATTERNS, Pattern, started
from autograd_conformance.strategies.training.plan import Clearing, Mistake, Plan
from hypothesis import strategies as st

__all__ = ["PATTERNS", "Clearing", "Mistake", "Pattern", "Plan", "build", "loops", "plans", "write"]


def write(plan: Plan, a: Actor) -> Loop:
    """Write the loop of a plan into a draft."""
    loop = started(plan, a)
    PATTERNS[loop.plan.pattern].run(loop)
    return loop


def build(plan: Plan) -> Program:
    """The program of a plan; nothing is drawn."""
    a = Actor(_nothing, plan.dtype)
    write(plan, a)
    return a.program()


def _nothing(strategy: st.SearchStrategy[object]) -> object:
    raise AssertionError(f"a plan leaves nothing to draw, not {strategy}")


@st.composite
def plans(draw: Draw, pattern: str | None = None, mistakes: tuple[Mistake, ...] | None = None) -> Plan:
    """Plans of a pattern, or of any; with the mistakes that are given, or with drawn ones."""
    a = Actor(draw)
    return planned(a, PATTERNS[pattern or a.pick(names(a))], mistakes)


@st.composite
def loops(draw: Draw, pattern: str | None = None) -> Program:
    """The programs of plans."""
    a = Actor(draw)
    write(planned(a, PATTERNS[pattern or a.pick(names(a))]), a)
    return a.program()
