"""Finds the violations that two related programs show in isolation; each of them has a separate record."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from autograd_conformance.checking.check import RuleViolated, first_violation, is_advice
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.known_differences import Known, is_known
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.rules.relations import codec


def members(failure: Failure, target: Target, known: Sequence[Known]) -> tuple[RuleViolated, ...]:
    """Returns the violations that two related programs show without each other: such a violation explains why the
    results of the two differ. Advice and known differences are left out, and so is the second program if it
    breaks the same rule as the first.

    Returns none if the failure is not about two programs, or was only counted.
    """
    if not failure.parts or failure.counted:
        return ()
    pair = codec.from_json(dict(failure.program), VOCABULARY)
    found: list[RuleViolated] = []
    for program in (pair.first, pair.second):
        observation = target.crash_as_error().observe(program)
        violation = first_violation(program, observation, target)
        if violation is None or is_advice(violation.rule) or any(is_known(each, program, violation) for each in known):
            continue
        found.append(RuleViolated(program, observation, violation, target))
    return tuple(next(same) for _, same in groupby(found, key=lambda each: each.violation.rule))
