"""Why each step forces the expected outcome: a violation's story as data, one remark per line of the program.

The tape model is walked once more, with every instruction up to the failing one taken to have done what was observed,
and the steps that matter for the verdict say their part: what earlier lines have to do with it stands in
`rules.explanation.earlier_lines`, why the failing line has to do what it did not in `rules.explanation.failing_call`.
"""

from __future__ import annotations

from collections.abc import Collection

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.explanation.context import Scene
from autograd_conformance.rules.explanation.context import retraced as retraced
from autograd_conformance.rules.explanation.earlier_lines import remark
from autograd_conformance.rules.explanation.failing_call import reason
from autograd_conformance.rules.judge.violation import Violation
from autograd_conformance.rules.prose import shown as shown

Remarks = list[tuple[int, str]]


def explain(
    program: Program,
    observation: Observation,
    reference: Reference,
    claims: Collection[Capability],
    violation: Violation,
) -> Remarks:
    """The remarks that lead to a violation, in the order of the program's lines, which count from 1."""
    tape, expectation = retraced(program, observation, reference, claims, violation.at)
    scene = Scene(program, observation, tape, violation, expectation)
    before = [(at + 1, remark(scene, at)) for at in range(violation.at)]
    return [*((line, text) for line, text in before if text), (violation.at + 1, reason(scene))]
