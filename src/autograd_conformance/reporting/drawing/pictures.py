"""The drawings of a failure: its program, or the two that are related, with what is known of the gradient's way."""

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
"""The style sheets of drawings, for pages that show them."""

COLUMN = 380
"""The width of a drawing, in CSS pixels, that has room beside the program; a wider one stands below."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A program as a drawing and in words."""

    heading: str
    """Which program it is."""
    title: str
    """What the drawing shows, for those who cannot see it."""
    svg: str
    """The drawing as an element of a page."""
    words: tuple[str, ...]
    """The same as sentences, one for each line of the program."""

    @property
    def wide(self) -> bool:
        """Whether it is too wide to stand beside the program."""
        return width(self.svg) > COLUMN

    @property
    def file(self) -> str:
        """The drawing as a file of its own, with its style sheets; a page that shows it brings none."""
        styles = "".join(path.read_text(encoding="utf-8") for path in STYLES)
        head, _, rest = self.svg.partition(">")
        return f'{head} xmlns="http://www.w3.org/2000/svg"><style>{styles}</style>{rest}\n'


def pictures(failure: Failure) -> tuple[Picture, ...]:
    """The drawings of a failure's program, or of the two that are related; none where one is too long to be read."""
    found = programs(failure.program)
    if any(len(steps) > MOST for steps in found):
        return ()
    codes = (failure.code, failure.other or "")
    return tuple(_picture(failure, number, steps, code) for number, (steps, code) in enumerate(zip(found, codes)))


def _picture(failure: Failure, number: int, steps: Sequence[Mapping[str, Any]], code: str) -> Picture:
    """The drawing of one of a failure's programs, by its number. Of two that are related, those are marked that break a
    rule by themselves, or else the first, where they part.
    """
    parts = {each.second: each for each in failure.parts if each.at is not None}
    part = parts.get(number == 1)
    wrong, flow = (part.at, part.flow) if part else (None, None) if parts or number else (failure.at, failure.flow)
    at = None if wrong is None else wrong + 1
    groups = () if number else failure.groups
    drawn = with_gradients(with_groups(graph(steps, code), groups), flow, at)
    explained = () if number else tuple({step.line for step in failure.why})
    heading = ("The program", "The program that it has to agree with")[number]
    title = f"{heading}, {counted(len(steps), 'line')}{f'; line {at} goes wrong' if at else ''}"
    notes = _failing_line_notes(failure, part) if flow is None or flow.first is None else ()
    picture = svg(drawn, f"drawing-{number}", title, FailingLine(at, notes) if at else None, explained)
    gradient_sentence = filter(None, [first_wrong_gradient(flow)] if flow else [])
    return Picture(heading, title, picture, (*sentences(drawn, at), *group_sentences(groups), *gradient_sentence))


def _failing_line_notes(failure: Failure, part: PartViolation | None) -> tuple[str, ...]:
    """What is said at the failing line where no gradient on the way shows it: the two values, or else the two outcomes;
    of one of two programs the rule that it breaks by itself.
    """
    if part is not None:
        return tuple(wrap(f"breaks {part.rule}", WIDTH))
    votes = failure.votes
    observed = votes.framework if votes else failure.observed
    expected = (votes.reference,) if votes else tuple(each.outcome for each in failure.allowed[:2])
    heads = ("observed", *(("expected",) if votes else ("allowed", "or")))
    texts = zip(heads, (observed, *expected))
    return tuple(line for head, text in texts for line in wrap(f"{head} {shortened(text, LONGEST_VALUE)}", WIDTH))
