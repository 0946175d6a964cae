"""HTML pages of a site, made from templates. All texts from records are escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from autograd_conformance.reporting.analysis.coverage import coverage_table
from autograd_conformance.reporting.analysis.program_forms import ops
from autograd_conformance.reporting.analysis.rule_verdicts import DIFFERING, ORDER, by_attention, complete
from autograd_conformance.reporting.analysis.severity import heading
from autograd_conformance.reporting.analysis.summary import incomplete_notice
from autograd_conformance.reporting.analysis.verdicts import THRESHOLD
from autograd_conformance.reporting.drawing.pictures import pictures
from autograd_conformance.reporting.prose import (
    counted,
    error_words,
    listed,
    one_line,
    percentage,
    printable,
    shortened,
    unique_slugs,
)
from autograd_conformance.reporting.records.claims import by_article, observation, observation_counts, verdict_counts
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS
from autograd_conformance.reporting.records.versions import place
from autograd_conformance.reporting.render.failures import cause_title, failing_line, places_text, severity_name
from autograd_conformance.reporting.render.parts import by_name
from autograd_conformance.reporting.render.text import confirmation_text, vote_rows
from autograd_conformance.reporting.site.code import coloured
from autograd_conformance.reporting.site.documents import FINDINGS, Document, Finding, findings
from autograd_conformance.reporting.site.matrix import ABSENT, SIGNS, Family, Row, latest, matrix, violation_bound
from autograd_conformance.reporting.site.runs import FailurePage, Run
from autograd_conformance.reporting.site.trend import chart

SHOWN = 6
"""Maximum number of failing programs, the shortest ones, that the page of a rule shows; at most one for each cause in
each run.
"""


@dataclass(frozen=True, slots=True)
class Page:
    """A file of the site: its path within the site, and its text."""

    path: str
    text: str


@dataclass(frozen=True)
class Site:
    """Data for all pages of the static site: the runs, and the documents that become pages."""

    runs: tuple[Run, ...]
    documents: tuple[Document, ...] = ()

    @cached_property
    def slugs(self) -> dict[str, str]:
        """File name of each rule's page, without extension."""
        rules = list(latest(self.runs))
        return dict(zip(rules, unique_slugs(rules), strict=True))

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """The families of rules, with the rows and cells of the site's matrix of rules and runs."""
        return matrix(self.runs, self.slugs)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order of their document."""
        frameworks = (each for document in self.documents if document.path == FINDINGS for each in findings(document))
        return tuple(finding for _, found in frameworks for finding in found)

    @cached_property
    def suites(self) -> list[str]:
        """All versions of the suite that the runs used."""
        return sorted({run.header.suite for run in self.runs})


def pages(site: Site) -> Iterator[Page]:
    """Yields all HTML pages of a site: the matrix, and pages of runs, failures, rules and documents."""
    templates = environment(site)
    yield Page("index.html", templates.get_template("matrix.html.j2").render(root=""))
    for run in site.runs:
        yield Page(f"run/{run.slug}.html", _run(run, site, templates))
        for page in run.failures:
            yield Page(f"failure/{page.slug}.html", _failure(page, run, templates))
    for family in site.families:
        for row in family.rows:
            yield Page(f"rule/{row.slug}.html", _rule(row, family, site, templates))
    for document in site.documents:
        yield from _document(document, templates)


def environment(site: Site) -> Environment:
    """Jinja environment of the pages. Text is escaped, and control characters are printed as escape sequences."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    made.filters |= {
        "counted": counted,
        "listed": listed,
        "error_words": lambda error: error_words(error.largest, error.bound),
        "percentage": percentage,
        "one_line": one_line,
        "printable": printable,
        "shortened": shortened,
        "confirmation_text": confirmation_text,
        "vote_rows": vote_rows,
        "severity_name": severity_name,
        "cause_title": cause_title,
        "failing_line": failing_line,
        "places_text": places_text,
        "observation": observation,
        "verdict_counts": verdict_counts,
        "observation_counts": observation_counts,
        "marked": _marked,
        "code": coloured,
        "violation_bound": violation_bound,
        "is_link": lambda text: bool(re.fullmatch(r"https?://[^\s<>\"']+", text)),
        "ops_of": lambda program: sorted(ops(program)),
    }
    made.globals |= {
        "site": site,
        "runs": site.runs,
        "signs": SIGNS,
        "absent": ABSENT,
        "order": ORDER,
        "failure_verdicts": FAILURE_VERDICTS,
        "differing_verdicts": DIFFERING,
        "threshold": THRESHOLD,
    }
    return made


def _run(run: Run, site: Site, templates: Environment) -> str:
    same = (each for each in site.runs if each.header.framework.name == run.header.framework.name)
    others = sorted(same, key=lambda each: (place(each.version), each.header.started))
    return templates.get_template("run.html.j2").render(
        root="../",
        run=run,
        report=run.report,
        header=run.header,
        framework=run.header.framework,
        summary=run.summary,
        rules=by_attention(run.summary.rules),
        families=run.summary.families,
        others=others,
        trend=Markup(chart(others)) if len(others) > 1 else None,  # escaped where it is made
        coverage_table=coverage_table(run.report),
        articles=by_article(run.report.claims),
        incomplete_notice=None if complete(run.report) else incomplete_notice(run.report),
    )


def _rule(row: Row, family: Family, site: Site, templates: Environment) -> str:
    found = [(run, page) for run in site.runs for page in run.failures_of(row.rule.rule)]
    found.sort(key=lambda each: (len(each[1].failure.code.splitlines()), len(each[1].failure.code)))
    programs: dict[tuple[str, int], tuple[Run, FailurePage]] = {}
    for run, page in found:
        programs.setdefault((run.slug, page.number), (run, page))
    return templates.get_template("rule.html.j2").render(
        root="../",
        row=row,
        family=family,
        decided=list(zip(site.runs, row.cells, strict=True)),
        programs=list(programs.values())[:SHOWN],
        more=max(0, len(programs) - SHOWN),
        findings=[each for each in site.findings if row.rule.rule in each.section.code],
    )


def _failure(page: FailurePage, run: Run, templates: Environment) -> str:
    return templates.get_template("failure.html.j2").render(
        root="../",
        page=page,
        run=run,
        failure=page.failure,
        part_of=by_name(page.failure),
        pictures=[(each, Markup(each.svg)) for each in pictures(page.failure)],  # escaped where they are made
        severity=heading(page.failure),
    )


def _document(document: Document, templates: Environment) -> Iterator[Page]:
    if document.path != FINDINGS:
        text = templates.get_template("document.html.j2").render(root="", document=document)
        yield Page(document.path, text)
        return
    found = list(findings(document))
    text = templates.get_template("findings.html.j2").render(root="", document=document, frameworks=found)
    yield Page(document.path, text)
    template = templates.get_template("finding.html.j2")
    for _, each in found:
        for finding in each:
            yield Page(finding.path, template.render(root="../", document=document, finding=finding))


def _visible(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _marked(text: str) -> Markup:
    """Text as HTML, with code in backticks marked as code."""
    pieces = re.split(r"`([^`]+)`", one_line(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if at % 2 else Markup("{}").format(piece)
        for at, piece in enumerate(pieces)
    )
