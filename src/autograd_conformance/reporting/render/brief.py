"""A run in a few lines of Markdown: for the summary of a step in continuous integration, where the page is too long."""

from __future__ import annotations

from autograd_conformance.reporting.analysis.summary import applies, complete, incomplete_notice, summarize
from autograd_conformance.reporting.prose import shortened
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.render.failures import cause_title, failure_counts, severity_name
from autograd_conformance.reporting.render.markdown import code, prose

CAUSES = 10
"""How many causes are shown."""


def render(report: Report) -> str:
    """The verdict, the causes of the failures, and the families, in GitHub's Markdown, ending in a line end."""
    summary = summarize(report)
    found = [f"### {prose(report.header.framework.title)}: {summary.conclusion}", "", prose(summary.sentence), ""]
    if not complete(report):
        found += [f"> **{prose(incomplete_notice(report))}**", ""]
    found += [part for note in report.notes for part in (f"> Note: {prose(note)}", "")]
    if summary.causes:
        found += [f"{failure_counts(summary.causes)}.", "", "| Defect | Where | Observed |", "|:--|:--|:--|"]
        for cause in summary.causes[:CAUSES]:
            observed = prose(shortened(cause.shown.observed))
            found.append(f"| {severity_name(cause)} | {code(cause_title(cause), cell=True)} | {observed} |")
        more = len(summary.causes) - CAUSES
        found += [f"| | and {more} more | |"] if more > 0 else []
        found.append("")
    stale = [entry for entry in summary.known if entry.stale]
    if stale:
        listed = ", ".join(code(entry.known.rule) for entry in stale)
        found += [f"Known differences that are seen no longer: {listed}.", ""]
    found += ["| Family | Passed / applicable / all | Programs |", "|:--|--:|--:|"]
    found += [f"| {prose(f.name)} | {f.total} | {f.programs:,} |" for f in summary.families if applies(f)]
    found.append(f"| **all** | **{summary.total}** | {summary.programs:,} |")
    return "\n".join(found) + "\n"
