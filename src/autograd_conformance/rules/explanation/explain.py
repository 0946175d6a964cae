"""The explanation of a violation: a note on each line that contributes to the expected outcome, as data.

The program is traced again up to the failing line, and each instruction before it has its observed outcome.
`rules.explanation.earlier_lines` makes the notes on earlier lines. The note on the failing line is made by
`failing_call` for backward calls, and by `failing_action` for all other instructions.
"""

from __future__ import annotations

from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import BackwardCall
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.explanation.context import Context
from autograd_conformance.rules.explanation.earlier_lines import note
from autograd_conformance.rules.explanation.failing_action import action_note
from autograd_conformance.rules.explanation.failing_call import call_note, saved_tensor_note

Notes = list[tuple[int, str]]
"""The notes of an explanation: sentences, each with the number of the program's line that it is about, which counts
from 1.
"""


def explain(context: Context) -> Notes:
    """Returns the notes that explain a violation, in the order of the program's lines, with the failing line last."""
    before = [(at + 1, note(context, at)) for at in range(context.violation.at)]
    return [*((line, text) for line, text in before if text), (context.violation.at + 1, failing_note(context))]


def failing_note(context: Context) -> str:
    """Returns the note on the failing line."""
    step = context.program[context.violation.at]
    if RULES[context.violation.rule].family == slugs.MEMORY:
        return saved_tensor_note(context)
    return call_note(context, step) if isinstance(step, BackwardCall) else action_note(context)
