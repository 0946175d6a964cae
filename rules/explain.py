"""Why each step forces the expected outcome: a violation's story as data, one remark per line of the program.

The tape model is walked once more, with every instruction up to the failing one taken to have done what was observed,
and the steps that matter for the verdict say their part: what earlier lines have to do with it stands in
`rules.remarks`, why the failing line has to do what it did not in `rules.reasons`.
"""

from __future__ import annotations

from collections.abc import Collection

from rules.catalogue import Needs
from rules.language import Program
from rules.observations import Observation
from rules.reasons import reason
from rules.reference.values import Reference
from rules.remarks import remark
from rules.scene import Scene
from rules.scene import retraced as retraced
from rules.scene import shown as shown
from rules.verdicts import Violation

Remarks = list[tuple[int, str]]


def explain(
    program: Program, observation: Observation, reference: Reference, claims: Collection[Needs], violation: Violation
) -> Remarks:
    """The remarks that lead to a violation, in the order of the program's lines, which count from 1."""
    tape, expectation = retraced(program, observation, reference, claims, violation.at)
    scene = Scene(program, observation, tape, violation, expectation)
    before = [(at + 1, remark(scene, at)) for at in range(violation.at)]
    return [*((line, text) for line, text in before if text), (violation.at + 1, reason(scene))]
