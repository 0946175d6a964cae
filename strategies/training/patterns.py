"""The patterns of training loops, a row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.training.loop import Ends, Loop
from autograd_conformance.strategies.training.plan import LoopBug, Plan


@dataclass(frozen=True, slots=True)
class Pattern:
    """A kind of training loop, and what may be chosen about it."""

    name: str
    """The name that people have for it."""

    run: Callable[[Loop], None]
    """The function that writes all iterations of a loop whose networks and optimizers are there."""

    networks: tuple[Ends, ...] = (("wide", "out"),)
    """The input width and the output width of each network: "wide" or "out" of the plan, or a number."""

    owns: tuple[int, ...] = (1,)
    """How many of the networks each optimizer has the parameters of, in order."""

    counts: tuple[int, ...] = (1,)
    """The values that a plan's `count` may have, the simplest first."""

    variants: int = 1
    """How many variants there are; the docstring of `run` says how they differ."""

    bugs: tuple[tuple[LoopBug, tuple[int, ...]], ...] = ()
    """What can be done wrong, each with the variants in which it can."""

    needs: tuple[Capability, ...] = ()
    """What the framework has to be capable of, besides optimizers and backward calls."""

    order: int = 1
    """The highest order of its derivatives: 1 where no gradient is differentiated."""

    clips: bool = False
    """Whether gradients are clipped in every loop, not only in some."""

    def variants_of(self, bugs: frozenset[LoopBug]) -> tuple[int, ...]:
        """The variants in which all of these mistakes can be made."""
        able = [set(variants) for bug, variants in self.bugs if bug in bugs]
        return tuple(variant for variant in range(self.variants) if all(variant in variants for variants in able))


PATTERNS: dict[str, Pattern] = {}
"""Every pattern by its name, the simplest first."""


USUAL = (LoopBug.ZERO, LoopBug.TWICE, LoopBug.EARLY, LoopBug.CLEARED)
"""What can be done wrong in every loop."""


def pattern(
    name: str,
    networks: tuple[Ends, ...] = (("wide", "out"),),
    owns: tuple[int, ...] | None = None,
    counts: tuple[int, ...] = (1,),
    variants: int = 1,
    bugs: tuple[LoopBug | tuple[LoopBug, tuple[int, ...]], ...] = USUAL,
    needs: tuple[Capability, ...] = (),
    order: int = 1,
    clips: bool = False,
) -> Callable[[Callable[[Loop], None]], Callable[[Loop], None]]:
    """Make a function that writes a loop a pattern; a mistake that stands alone can be made in every variant."""
    able = tuple((m, tuple(range(variants))) if isinstance(m, LoopBug) else m for m in bugs)

    def register(run: Callable[[Loop], None]) -> Callable[[Loop], None]:
        owned = (len(networks),) if owns is None else owns
        PATTERNS[name] = Pattern(name, run, networks, owned, counts, variants, able, needs, order, clips)
        return run

    return register


def start_loop(plan: Plan, a: ActionBuilder) -> Loop:
    """The loop of a plan, with its networks and optimizers, of which nothing has run yet."""
    made = PATTERNS[plan.pattern]
    return Loop(plan, a, made.networks, made.owns)
