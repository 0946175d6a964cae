"""The stage in which a failure counts: that of the line of its program that goes wrong.

A test of a late stage may find a fault that is of an early one, such as a first backward call that raises. A program
that computes values and calls backward once needs nothing but forward values and first gradients, so that a fault in it
counts there.
"""

from __future__ import annotations

from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import Apply, Backward, Grad, Leaf, Program, Ref, ZeroGrad
from autograd_conformance.programs.operands import computed_from
from autograd_conformance.programs.slugs import Slug, family
from autograd_conformance.rules.stages import NUMBER, STAGES, Stage, stage_of

VALUES, FIRST, ACCUMULATION = STAGES[:3]

GENERAL = (slugs.GRADIENTS, slugs.ACCUMULATION, slugs.FUNCTIONAL)
"""The families of rules that any backward call may break. The other rules are about what their stage tests, and their
failures count there.
"""


def stage_of_failure(rule: str, program: Program, at: int | None) -> Stage:
    """Returns the stage in which the violation of a rule at instruction `at` counts; None: the process ended."""
    own = stage_of(rule)
    is_general = family(Slug(rule)) in GENERAL or rule == slugs.ERRORS_LEGAL_RETURNS
    line = stage_of_line(program, at) if is_general and at is not None else None
    return own if line is None or NUMBER[line.name] > NUMBER[own.name] else line


def stage_of_line(program: Program, at: int) -> Stage | None:
    """Returns the stage of a line of a program: forward values, first gradients, or accumulation and clearing; None if
    the program has anything that only later stages test, up to this line.
    """
    steps = [program[k] for k in range(at + 1)]
    if any(program.mode(k) for k in range(at + 1)) or not all(map(_is_early, steps)):
        return None
    calls = [step for step in steps if isinstance(step, Backward | Grad)]
    match steps[-1]:
        case Leaf() | Apply():
            return None if calls else VALUES
        case Backward() | Grad() if len(calls) == 1:
            return FIRST
        case Backward() | ZeroGrad() if not _is_walked_again(program, calls):
            return ACCUMULATION
    return None


def _is_early(step: object) -> bool:
    """Whether an instruction belongs to the first three stages."""
    match step:
        case Leaf() | Apply() | ZeroGrad():
            return True
        case Backward():
            return not step.create_graph and step.inputs is None
        case Grad():
            return not step.create_graph
    return False


def _is_walked_again(program: Program, calls: list[Backward | Grad]) -> bool:
    """Whether a call walks a part of the graph that an earlier call has walked, or is no backward call."""
    walked: set[Ref] = set()
    for call in calls:
        recorded = {ref for ref in computed_from(program, call) if isinstance(program[ref.at], Apply)}
        if walked & recorded or isinstance(call, Grad):
            return True
        walked |= recorded
    return False
