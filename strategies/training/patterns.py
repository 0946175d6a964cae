"""The table of training-loop patterns, such as "several losses" or "gradient penalty"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.training.loop import Ends, Loop
from autograd_conformance.strategies.training.plan import LoopBug, Plan


@dataclass(frozen=True, slots=True)
class Pattern:
    """A kind of training loop, such as "several losses", with the choices that its loops have."""

    name: str
    """The usual name of the pattern, such as "gradient penalty"."""

    run: Callable[[Loop], None]
    """The function that writes all iterations of a loop whose networks and optimizers exist."""

    networks: tuple[Ends, ...] = (("wide", "out"),)
    """The input and output width of each network: a number, or "wide" or "out", which a plan replaces by its
    numbers.
    """

    owns: tuple[int, ...] = (1,)
    """Number of networks whose parameters each optimizer has, in order, such as (1, 1) for two networks with an
    optimizer each.
    """

    counts: tuple[int, ...] = (1,)
    """Values from which a plan's `count` (such as its number of losses) is drawn, simplest first."""

    variants: int = 1
    """Number of variants; the docstring of `run` describes them."""

    bugs: tuple[tuple[LoopBug, tuple[int, ...]], ...] = ()
    """The bugs that loops of this pattern may have, each with the variants in which it is possible."""

    needs: tuple[Capability, ...] = ()
    """The capabilities that the pattern requires besides optimizers and backward calls."""

    order: int = 1
    """The highest order of derivatives: 1 if no gradient is differentiated."""

    clips: bool = False
    """Whether gradients are clipped in every loop, not only in some."""

    def variants_of(self, bugs: frozenset[LoopBug]) -> tuple[int, ...]:
        """Returns the variants in which all of these bugs are possible."""
        able = [set(variants) for bug, variants in self.bugs if bug in bugs]
        return tuple(variant for variant in range(self.variants) if all(variant in variants for variants in able))


PATTERNS: dict[str, Pattern] = {}
"""All patterns by name, simplest first."""


USUAL = (LoopBug.ZERO, LoopBug.TWICE, LoopBug.EARLY, LoopBug.CLEARED)
"""The bugs that may be planted in training loops of a pattern, unless the pattern lists others: missing `zero_grad`,
`backward` twice, step before backward, `zero_grad` before step.
"""


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
    """Registers a function that writes a training loop as a pattern. A bug without variants is possible in every
    variant.
    """
    able = tuple((m, tuple(range(variants))) if isinstance(m, LoopBug) else m for m in bugs)

    def register(run: Callable[[Loop], None]) -> Callable[[Loop], None]:
        owned = (len(networks),) if owns is None else owns
        PATTERNS[name] = Pattern(name, run, networks, owned, counts, variants, able, needs, order, clips)
        return run

    return register


def start_loop(plan: Plan, a: Draft) -> Loop:
    """Makes the loop of a plan with its networks and optimizers, before its first iteration."""
    made = PATTERNS[plan.pattern]
    return Loop(plan, a, made.networks, made.owns)
