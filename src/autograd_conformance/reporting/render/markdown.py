"""A run as a Markdown page, for people who were not there: committed beside the code, or pasted into a discussion.

The template says what the page shows; the filters here keep what a framework said from being taken for Markdown.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from autograd_conformance.reporting.analysis.causes import ops
from autograd_conformance.reporting.analysis.coverage import coverage_table
from autograd_conformance.reporting.analysis.summary import (
    DIFFERING,
    ORDER,
    OpSummary,
    Summary,
    Verdict,
    applies,
    by_attention,
    complete,
    incomplete_notice,
    numbered_reason,
    summarize,
)
from autograd_conformance.reporting.analysis.verdicts import THRESHOLD
from autograd_conformance.reporting.drawing.pictures import Picture, pictures
from autograd_conformance.reporting.prose import (
    counted,
    error_words,
    listed,
    number_word,
    one_line,
    percentage,
    printable,
    sentence,
    shortened,
)
from autograd_conformance.reporting.records.claims import by_article, observation, observation_counts, verdict_counts
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS
from autograd_conformance.reporting.render.failures import failure_counts, severity_name
from autograd_conformance.reporting.render.parts import by_name
from autograd_conformance.reporting.render.text import confirmation_text, listing, script_title, vote_rows

DRAWINGS = "drawings"
"""The folder beside a page that its drawings are in."""


def write(report: Report, page: Path) -> None:
    """Write the page for a report, with drawings of its causes' programs beside it."""
    summary = summarize(report)
    drawings = [
        {_drawing(page, number, at): each for at, each in enumerate(pictures(cause.shown))}
        for number, cause in enumerate(summary.causes, 1)
    ]
    page.write_text(_rendered(report, summary, drawings), encoding="utf-8")
    for name, picture in (each for of_cause in drawings for each in of_cause.items()):
        path = page.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(picture.file, encoding="utf-8")


def _drawing(page: Path, number: int, at: int) -> str:
    """The path of a drawing from its page: of a cause by number, and of one of the two programs that it may have."""
    return f"{DRAWINGS}/{page.stem}-{number}{'ab'[at]}.svg"


def render(report: Report) -> str:
    """The page for a report without drawings, in GitHub's Markdown, ending in a line end."""
    return _rendered(report, summarize(report), ())


def _rendered(report: Report, summary: Summary, drawings: Sequence[Mapping[str, Picture]]) -> str:
    missing = report.header.framework.missing_ops
    return (
        environment()
        .get_template("report.md.j2")
        .render(
            header=report.header,
            framework=report.header.framework,
            summary=summary,
            rules=by_attention(summary.rules),
            claims=report.claims,
            coverage_table=coverage_table(report),
            articles=by_article(report.claims),
            causes=summary.causes,
            failures=len(report.failures),
            parts=by_name,
            drawings=drawings,
            ops=_grouped(each for each in summary.ops if each.verdict in DIFFERING or each.op not in missing),
            incomplete_notice=None if complete(report) else incomplete_notice(report),
            footer=report.footer,
            threshold=THRESHOLD,
            notes=report.notes,
            failure_verdicts=FAILURE_VERDICTS,
            differing_verdicts=DIFFERING,
        )
    )


def prose(text: str) -> str:
    """The text on one line, with every character escaped that Markdown would read, a table's bar among them."""
    return _escaped(one_line(text))


def where(text: str) -> str:
    """A source's place: an address becomes a link, anything else is prose."""
    return f"<{text}>" if re.fullmatch(r"https?://[^\s<>|]+", text) else prose(text)


def code(text: str, cell: bool = False) -> str:
    """The text on one line as inline code; in a table's cell a bar must be escaped even there."""
    line = one_line(text)
    line = line.replace("|", "\\|") if cell else line
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def marked(text: str) -> str:
    """Prose for a table's cell in which code is marked: what stands in backticks, and what plainly is code."""
    return "".join(code(piece, cell=True) if at % 2 else _escaped(piece) for at, piece in enumerate(_pieces(text)))


def in_html(text: str) -> str:
    """The same prose where Markdown is not read, as in a summary."""
    return "".join(f"<code>{html.escape(p)}</code>" if at % 2 else html.escape(p) for at, p in enumerate(_pieces(text)))


def fenced(text: str, language: str = "") -> str:
    """The text as a block of code, behind a fence longer than any run of backticks in it."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{printable(text).rstrip()}\n{fence}"


def _pieces(text: str) -> list[str]:
    """The text in pieces, prose and code by turns; code are names with an underscore, gradients, and all of torch."""
    names = r"(?:\w+\.)*\w+_\w+(?:=\w+)?(?:\(\))?|\b\w\.grad\b|\btorch(?:\.\w+)+(?:\(\))?|\b(?:\w+\.)*\w+\(\)"
    return [piece.strip("`") for piece in re.split(f"(`[^`]+`|{names})", one_line(text))]


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#|~&$])", r"\\\1", text)


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _grouped(ops: Iterable[OpSummary]) -> list[tuple[Verdict, list[OpSummary]]]:
    ordered = sorted(ops, key=lambda each: ORDER.index(each.verdict))
    return [(verdict, list(group)) for verdict, group in groupby(ordered, key=lambda each: each.verdict)]


def _by_reason(ops: Iterable[OpSummary]) -> list[tuple[str, list[OpSummary]]]:
    """The ops under the reason that is said of them, empty where none is."""
    found: dict[str, list[OpSummary]] = {}
    for each in ops:
        found.setdefault(each.reason or "", []).append(each)
    return list(found.items())


def environment() -> Environment:
    """The templates with their filters."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parents[1] / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "prose": prose,
        "code": code,
        "fenced": fenced,
        "listing": lambda part: "\n".join(listing(part)),
        "vote_rows": vote_rows,
        "script_title": script_title,
        "confirmation_text": confirmation_text,
        "error_words": lambda error: error_words(error.largest, error.bound),
        "listed": listed,
        "where": where,
        "counted": counted,
        "percentage": percentage,
        "number_word": number_word,
        "sentence": sentence,
        "marked": marked,
        "html": in_html,
        "verdict_counts": verdict_counts,
        "observation_counts": observation_counts,
        "observation": observation,
        "shortened": shortened,
        "failure_counts": failure_counts,
        "severity_name": severity_name,
        "ops_of": lambda program: sorted(ops(program)),
        "applies": applies,
        "by_reason": _by_reason,
        "numbered_reason": numbered_reason,
    }
    return environment
