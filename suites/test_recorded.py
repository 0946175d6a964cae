"""Recorded programs: drawn programs in which every pair and every triple of facts meets that ever met in a drawn
program. They run unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import settings

from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.skips import NotApplicable
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.interactions.recorded import PART, recorded
from autograd_conformance.programs.hazards import Hazard
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.building.alphabet import current
from autograd_conformance.strategies.crossing import supported_part

rule = pytest.mark.rule


WHOLE = settings().max_examples >= 100
"""Whether all recorded programs run; in the quick profile, only those with nearly all triples of facts do."""


NEVER_RECORDED = frozenset({Hazard.OUTDATED_HOOK, Hazard.WRITTEN_RESULT})
"""The situations that no recorded program has, since PyTorch, for which the programs were drawn, ends in them."""


@rule("sequences/history")
@pytest.mark.parametrize("part", range(recorded().parts(WHOLE)))
def test_part(check: Check, part: int):
    check_programs(check, list(recorded().part(part)))


def check_programs(check: Check, programs: list[Program]) -> None:
    """Checks those of some programs that the framework supports. The first violation is raised after all have run."""
    first = None
    most = max(1, PART // check.target.programs_each) if check.target.programs_each else PART
    for program in supported(check.target, programs, most):
        try:
            check(program)
        except RuleViolated as error:
            first = first or error
    if first:
        raise first
    if not check.programs:
        missing = Counter(each for program in programs for each in unsupported_by(program, check.target))
        needed = missing.most_common(1)[0][0] if missing else "ops without faults"
        raise NotApplicable(f"needs {needed}, not claimed")


def supported(target: Target, programs: list[Program], most: int) -> Iterator[Program]:
    """Yields at most `most` programs: those that the framework supports, and of the others the parts that it supports.
    No program uses an op that breaks a rule when it runs alone.
    """
    found = set[Program]()
    for program in programs:
        if len(found) == most:
            return
        part = program if _is_whole(program, target) else supported_part(program)
        if part is not None and part not in found:
            found.add(part)
            yield part


def _is_whole(program: Program, target: Target) -> bool:
    """Whether the framework supports a whole program, and its process survives it, as far as its known differences
    say.
    """
    alphabet = current()
    survives = alphabet.spared <= NEVER_RECORDED
    return survives and not alphabet.uses_faulty(program) and not unsupported_by(program, target)
