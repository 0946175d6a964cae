"""The stages of a run, in the order in which the maker of a framework works: from forward values to sequences.

Tests run in this order, and each rule belongs to exactly one stage. A stage needs earlier ones: if one of these is
wholly broken, programs of the stage could only show the same fault again, so its tests wait.
"""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.programs import slugs
from autograd_conformance.programs.slugs import Family, Slug, family


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a run."""

    name: str
    """The name in reports, such as "first gradients"."""
    families: tuple[Family, ...]
    """The families whose rules belong to the stage, except for the rules that another stage lists in `rules`. Their
    tests run in this order.
    """
    rules: tuple[Slug, ...] = ()
    """Single rules that belong to the stage, although their family belongs to another."""
    suites: tuple[str, ...] = ()
    """The suites whose tests belong to the stage, whatever their rules are."""
    needs: tuple[str, ...] = ()
    """The names of the stages without which the programs of this stage could show nothing new."""


STAGES = (
    Stage("forward values", (), rules=(slugs.GRADIENTS_FORWARD,)),
    Stage("first gradients", (slugs.GRADIENTS,), needs=("forward values",)),
    Stage("accumulation and clearing", (slugs.ACCUMULATION,), needs=("first gradients",)),
    Stage(
        "lifetime and retain_graph",
        (slugs.LIFETIME, slugs.ERRORS, slugs.MEMORY),
        needs=("accumulation and clearing",),
    ),
    Stage("detach and modes", (slugs.DETACH, slugs.MODES), needs=("first gradients",)),
    Stage("writes and views", (slugs.WRITES, slugs.VIEWS), needs=("first gradients",)),
    Stage("hooks", (slugs.HOOKS,), needs=("first gradients",)),
    Stage("higher order", (slugs.HIGHER, slugs.FUNCTIONAL), needs=("first gradients",)),
    Stage(
        "optimizers and networks",
        (slugs.OPTIMIZERS, slugs.NETWORKS, slugs.RECURRENT, slugs.AUTOCAST, slugs.TRAINING),
        needs=("accumulation and clearing",),
    ),
    Stage(
        "sequences",
        (slugs.SEQUENCES, slugs.RELATIONS),
        suites=("corpus",),
        needs=(
            "lifetime and retain_graph",
            "detach and modes",
            "writes and views",
            "hooks",
            "higher order",
            "optimizers and networks",
        ),
    ),
    Stage("articles", (slugs.ARTICLES,), needs=("lifetime and retain_graph",)),
)
"""All stages, in the order in which their tests run."""

NUMBER = {stage.name: number for number, stage in enumerate(STAGES)}
"""The position of each stage, from 0, by the stage's name."""

_OF_RULE = {rule: stage for stage in STAGES for rule in stage.rules}
_OF_FAMILY = {each: stage for stage in STAGES for each in stage.families}
_OF_SUITE = {suite: stage for stage in STAGES for suite in stage.suites}


def stage_of(rule: str) -> Stage:
    """Returns the stage of a rule."""
    slug = Slug(rule)
    return _OF_RULE.get(slug) or _OF_FAMILY[family(slug)]


def place_in_stage(rule: str) -> int:
    """Returns the position of a rule's family in the rule's stage; 0 for a rule that the stage names alone."""
    families = stage_of(rule).families
    own = family(Slug(rule))
    return families.index(own) if own in families else 0


def stage_of_test(rule: str, suite: str) -> Stage:
    """Returns the stage of a test: that of its suite, such as "corpus", if a stage lists the suite, else that of its
    rule.
    """
    return _OF_SUITE.get(suite) or stage_of(rule)


def waiting_for(broken: frozenset[str]) -> dict[str, str]:
    """Returns the stages whose tests wait, each with the wholly broken stage that it waits for, by their names. A stage
    that is wholly broken itself waits, too: its smallest programs have shown what is wrong.
    """
    found: dict[str, str] = {}
    for stage in STAGES:
        first = next((found[name] for name in stage.needs if name in found), None)
        if first is not None or stage.name in broken:
            found[stage.name] = first or stage.name
    return found
