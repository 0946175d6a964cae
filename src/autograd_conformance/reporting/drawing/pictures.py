"""Drawings of a failure's program, or of both programs if the broken rule relates two, with the gradients as far as the
records have any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from autograd_conformance.reporting.drawing.flow import LONGEST_VALUE, WIDTH, with_gradients
from autograd_conformance.reporting.drawing.graph import graph, programs, sentences
from autograd_conformance.reporting.drawing.groups import group_sentences, with_groups
from autograd_conformance.reporting.drawing.svg import MOST, FailingLine, svg, width
from autograd_conformance.reporting.prose import counted, shortened
from autograd_conformance.reporting.records.failure import Failure, PartViolation
from autograd_conformance.reporting.records.flow import first_wrong_gradient

STYLES = tuple(Path(__file__).with_name(name) for name in ("colours.css", "drawing.css"))
"""Style sheets of the drawings, for pages that show them."""

COLUMN = 380
"""Maximum width in CSS pixels of a drawing beside the program; a wider drawing is put below it."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Drawing of a program, with the same content as sentences."""

    heading: str
    """Heading that names the program."""
    title: str
    """Text alternative of the drawing."""
    svg: str
    """The drawing as an SVG element of a page."""
    words: tuple[str, ...]
    """The drawing as sentences: one for each line of the program, then one for each group of lines, then one about the
    first wrong gradient, if there is any.
    """

    @property
    def wide(self) -> bool:
        """Whether the drawing is too wide to be put beside the program."""
        return width(self.svg) > COLUMN

    @property
    def file(self) -> str:
        """The drawing as an SVG file that includes its style sheets."""
        styles = "".join(path.read_text(encoding="utf-8") for path in STYLES)
        head, _, rest = self.svg.partition(">")
        return f'{head} xmlns="http://www.w3.org/2000/svg"><style>{styles}</style>{rest}\n'


def pictures(failure: Failure) -> tuple[Picture, ...]:
    """Makes the drawings of a failure's program, or of both programs if the broken rule relates two; none if a program
    has more than `MOST` lines.
    """
    found = programs(failure.program)
    if any(len(steps) > MOST for steps in found):
        return ()
    codes = (failure.code, failure.other or "")
    return tuple(_picture(failure, number, steps, code) for number, (steps, code) in enumerate(zip(found, codes)))


def _picture(failure: Failure, number: int, steps: Sequence[Mapping[str, Any]], code: str) -> Picture:
    """Drawing of the program with this number (0 or 1) of a failure.

    If the broken rule compares two programs, the failing line is marked in each program that also breaks another rule;
    if neither does, the line where the results differ is marked in the first.
    """
    parts = {each.second: each for each in failure.parts if each.at is not None}
    part = parts.get(number == 1)
    wrong, flow = (part.at, part.flow) if part else (None, None) if parts or number else (failure.at, failure.flow)
    at = None if wrong is None else wrong + 1
    groups = () if number else failure.groups
    drawn = with_gradients(with_groups(graph(steps, code), groups), flow, at)
    explained = () if number else tuple({step.line for step in failure.why})
    heading = ("The program", "The program that must agree with it")[number]
    title = f"{heading}, {counted(len(steps), 'line')}{f'; line {at} fails' if at else ''}"
    notes = _failing_line_notes(failure, part) if flow is None or flow.first is None else ()
    picture = svg(drawn, f"drawing-{number}", title, FailingLine(at, notes) if at else None, explained)
    gradient_sentence = filter(None, [first_wrong_gradient(flow)] if flow else [])
    return Picture(heading, title, picture, (*sentences(drawn, at), *group_sentences(groups), *gradient_sentence))


def _failing_line_notes(failure: Failure, part: PartViolation | None) -> tuple[str, ...]:
    """Notes on the failing line if no wrong gradient is drawn: expected and observed values, or allowed and observed
    outcomes. If one of two compared programs also breaks another rule, the note names that rule.
    """
    if part is not None:
        return tuple(wrap(f"breaks {part.rule}", WIDTH))
    votes = failure.votes
    observed = votes.framework if votes else failure.observed
    expected = (votes.reference,) if votes else tuple(each.outcome for each in failure.allowed[:2])
    heads = ("observed", *(("expected",) if votes else ("allowed", "or")))
    texts = zip(heads, (observed, *expected))
    return tuple(line for head, text in texts for line in wrap(f"{head} {shortened(text, LONGEST_VALUE)}", WIDTH))
