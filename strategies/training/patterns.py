"""The patterns of training loops, a row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.strategies.building.action_builder import Actor
from autograd_conformance.strategies.training.loop import Ends, Loop
from autograd_conformance.strategies.training.plan import Mistake, Plan


@dataclass(frozen=True, slots=True)
class Pattern:
    """A kind of training loop.

    `networks` are the widths that each network goes between ("wide", "out", or a number); `owns` says how many of them
    each optimizer has, in order. `counts` are the values of a plan's `count`, the simplest first, `ways` how many
    variants there are; `mistakes` what can be done wrong, each with the variants in which it can. `order` is how often
    the loop differentiates.
    """

    name: str
    run: Callable[[Loop], None]
    networks: tuple[Ends, ...] = (("wide", "out"),)
    owns: tuple[int, ...] = (1,)
    counts: tuple[int, ...] = (1,)
    ways: int = 1
    mistakes: tuple[tuple[Mistake, tuple[int, ...]], ...] = ()
    needs: tuple[Capability, ...] = ()
    order: int = 1
    clips: bool = False

    def ways_of(self, mistakes: frozenset[Mistake]) -> tuple[int, ...]:
        """The variants in which all of some mistakes can be made."""
        able = [set(ways) for mistake, ways in self.mistakes if mistake in mistakes]
        return tuple(way for way in range(self.ways) if all(way in ways for ways in able))


PATTERNS: dict[str, Pattern] = {}
"""Every pattern by its name, the simplest first."""


USUAL = (Mistake.ZERO, Mistake.TWICE, Mistake.EARLY, Mistake.CLEARED)
"""What can be done wrong in every loop."""


def pattern(
    name: str,
    networks: tuple[Ends, ...] = (("wide", "out"),),
    owns: tuple[int, ...] | None = None,
    counts: tuple[int, ...] = (1,),
    ways: int = 1,
    mistakes: tuple[Mistake | tuple[Mistake, tuple[int, ...]], ...] = USUAL,
    needs: tuple[Capability, ...] = (),
    order: int = 1,
    clips: bool = False,
) -> Callable[[Callable[[Loop], None]], Callable[[Loop], None]]:
    """Make a function that writes a loop a pattern; a mistake that stands alone can be made in every variant."""
    able = tuple((m, tuple(range(ways))) if isinstance(m, Mistake) else m for m in mistakes)

    def register(run: Callable[[Loop], None]) -> Callable[[Loop], None]:
        owned = (len(networks),) if owns is None else owns
        PATTERNS[name] = Pattern(name, run, networks, owned, counts, ways, able, needs, order, clips)
        return run

    return register


def started(plan: Plan, a: Actor) -> Loop:
    """The loop of a plan, with its networks and optimizers, of which nothing has run yet."""
    made = PATTERNS[plan.pattern]
    return Loop(plan, a, made.networks, made.owns)
