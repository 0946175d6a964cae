"""The Markdown page of a run, made from the template ``report.md.j2``.

The filters in this module escape texts from records, so that a framework's message is never read as Markdown.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from autograd_conformance.reporting.analysis.coverage import coverage_table
from autograd_conformance.reporting.analysis.interactions import interaction_counts
from autograd_conformance.reporting.analysis.op_verdicts import OpSummary
from autograd_conformance.reporting.analysis.program_forms import ops
from autograd_conformance.reporting.analysis.rule_verdicts import (
    DIFFERING,
    ORDER,
    by_attention,
    complete,
    numbered_reason,
)
from autograd_conformance.reporting.analysis.summary import Summary, applies, incomplete_notice, summarize
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
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS, Verdict
from autograd_conformance.reporting.render.failures import cause_meaning, failure_counts, places_text, severity_name
from autograd_conformance.reporting.render.parts import by_name
from autograd_conformance.reporting.render.text import confirmation_text, listing, vote_rows

DRAWINGS = "drawings"
"""Name of the folder, beside a Markdown page, for the page's drawings of programs."""


IN_FULL = 3
"""Maximum number of causes that a page shows with their program and explanation; the others have a row each."""

LINES_IN_FULL = 150
"""Maximum number of lines of these causes together, unless the first alone has more."""

OTHERS = 10
"""Maximum number of further failures of a cause that a page lists."""

ROWS = 130
"""Maximum number of rows for rules, for the other causes and for known differences together."""

RULE_ROWS = 40
"""Maximum number of rows for rules that did not pass."""

ASIDE: tuple[Verdict, ...] = ("vacuous", "waiting", "not reached", "not applicable", "skipped", "info", "pass")
"""Verdicts whose rules a page only names, with their reasons."""

FEWEST_KNOWN = 20
"""Number of known differences that a page lists, however many causes it has."""


def write(report: Report, page: Path, articles: bool = False) -> None:
    """Writes the Markdown page of a report, and next to it a folder with SVG drawings: for each cause, of the program
    (or both compared programs) of the failure that the page shows in full. With `articles`, the page also has the
    claims of articles.
    """
    summary = summarize(report)
    drawings = [
        {_drawing(page, number, at): each for at, each in enumerate(pictures(cause.shown))}
        for number, cause in enumerate(summary.causes[:IN_FULL], 1)
    ]
    page.write_text(_rendered(report, summary, drawings, articles), encoding="utf-8")
    shown = drawings[: len(_in_full(summary, drawings))]
    for name, picture in (each for of_cause in shown for each in of_cause.items()):
        path = page.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(picture.file, encoding="utf-8")


def _drawing(page: Path, number: int, at: int) -> str:
    """Path of a drawing, relative to its page, for a cause's number and the first (0) or second (1) program."""
    return f"{DRAWINGS}/{page.stem}-{number}{'ab'[at]}.svg"


def render(report: Report, articles: bool = False) -> str:
    """The page of a report without drawings, in GitHub's Markdown. With `articles`, the page also has the claims of
    articles.
    """
    return _rendered(report, summarize(report), (), articles)


def _rendered(
    report: Report, summary: Summary, drawings: Sequence[Mapping[str, Picture]], articles: bool = False
) -> str:
    missing = report.header.framework.missing_ops
    in_full = _in_full(summary, drawings)
    attention = [each for each in by_attention(summary.rules) if each.verdict not in ASIDE]
    room = ROWS - min(len(attention), RULE_ROWS)
    rest = list(enumerate(summary.causes, 1))[len(in_full) :][:room]
    return (
        environment()
        .get_template("report.md.j2")
        .render(
            header=report.header,
            framework=report.header.framework,
            summary=summary,
            attention=attention,
            others=[each for each in by_attention(summary.rules) if each.verdict in ASIDE],
            rule_rows=RULE_ROWS,
            claims=report.claims if articles else (),
            coverage_table=coverage_table(report),
            interactions=interaction_counts(report),
            articles=by_article(report.claims),
            causes=summary.causes,
            failures=len(report.failures),
            in_full=in_full,
            rest=rest,
            known_rows=max(FEWEST_KNOWN, room - len(rest)),
            ops=_grouped(each for each in summary.ops if each.verdict in DIFFERING or each.op not in missing),
            incomplete_notice=None if complete(report) else incomplete_notice(report),
            footer=report.footer,
            threshold=THRESHOLD,
            notes=report.notes,
            remarks=report.remarks,
            failure_verdicts=FAILURE_VERDICTS,
            differing_verdicts=DIFFERING,
        )
    )


def _in_full(summary: Summary, drawings: Sequence[Mapping[str, Picture]]) -> list[str]:
    """Returns the sections of the worst causes: the first one, and up to `IN_FULL` as long as they have few lines."""
    template, lines = environment().get_template("cause.md.j2"), 0
    found: list[str] = []
    for number, cause in enumerate(summary.causes[:IN_FULL], 1):
        drawn = drawings[number - 1] if drawings else {}
        text = template.render(cause=cause, number=number, drawn=drawn, parts=by_name, others=OTHERS)
        lines += text.count("\n")
        if found and lines > LINES_IN_FULL:
            break
        found.append(text)
    return found


def prose(text: str) -> str:
    """Text on one line, with all special characters of Markdown escaped, including table bars."""
    return _escaped(one_line(text))


def where(text: str) -> str:
    """Writes the place of a rule's source in Markdown: a link if the place is an address, escaped text otherwise."""
    return f"<{text}>" if re.fullmatch(r"https?://[^\s<>|]+", text) else prose(text)


def code(text: str, cell: bool = False) -> str:
    """Text on one line as inline code. In a table `cell`, bars are escaped, because tables split cells even in code."""
    line = one_line(text)
    line = line.replace("|", "\\|") if cell else line
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def marked(text: str, cell: bool = True) -> str:
    """Writes text, for a table `cell` or another place, in which names of code (in backticks, or such as ``x.grad`` and
    ``retain_graph``) become inline code.
    """
    return "".join(code(piece, cell) if at % 2 else _escaped(piece) for at, piece in enumerate(_pieces(text)))


def in_html(text: str) -> str:
    """The same text as `marked`, as HTML, for places where Markdown is not read, such as ``<summary>``."""
    return "".join(f"<code>{html.escape(p)}</code>" if at % 2 else html.escape(p) for at, p in enumerate(_pieces(text)))


def fenced(text: str, language: str = "") -> str:
    """Text as a block of code, with a fence longer than any run of backticks in it."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{printable(text).rstrip()}\n{fence}"


def _pieces(text: str) -> list[str]:
    """Splits text into pieces that are prose and code in turn, beginning with prose.

    Code is text in backticks, names with an underscore, ``x.grad``, ``torch.`` names, and calls.
    """
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
    """Ops grouped by the reason of their verdict, which may be empty."""
    found: dict[str, list[OpSummary]] = {}
    for each in ops:
        found.setdefault(each.reason or "", []).append(each)
    return list(found.items())


def _by_shared_reason(ops: Iterable[OpSummary]) -> list[tuple[str, list[OpSummary]]]:
    """Ops grouped by a reason that several have; the others are one group, without a reason."""
    grouped = _by_reason(ops)
    shared = [(reason, alike) for reason, alike in grouped if reason and len(alike) > 1]
    rest = [each for reason, alike in grouped if not reason or len(alike) == 1 for each in alike]
    return [*shared, *([("", rest)] if rest else ())]


def environment() -> Environment:
    """Jinja environment of the Markdown templates, with all filters."""
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
        "meaning": cause_meaning,
        "places_text": places_text,
        "severity_name": severity_name,
        "ops_of": lambda program: sorted(ops(program)),
        "applies": applies,
        "by_reason": _by_reason,
        "by_shared_reason": _by_shared_reason,
        "numbered_reason": numbered_reason,
    }
    return environment
