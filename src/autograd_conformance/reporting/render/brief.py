"""A short summary of a run in Markdown, for the step summary of a CI job."""

from __future__ import annotations

from autograd_conformance.reporting.analysis.rule_verdicts import complete
from autograd_conformance.reporting.analysis.summary import applies, incomplete_notice, summarize
from autograd_conformance.reporting.prose import shortened
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.render.failures import cause_title, failure_counts, severity_name
from autograd_conformance.reporting.render.markdown import code, marked, prose
from autograd_conformance.reporting.render.remarks import few_remarks

CAUSES = 10
"""Maximum number of causes of failures in the summary; of more, only the number is given."""


def render(report: Report) -> str:
    """The conclusion, the causes of the failures, and the families, in GitHub's Markdown."""
    summary = summarize(report)
    found = [f"### {prose(report.header.framework.title)}: {summary.conclusion}", "", prose(summary.sentence), ""]
    if summary.climb:
        found += [prose(summary.climb), ""]
    if not complete(report):
        found += [f"> **{prose(incomplete_notice(report))}**", ""]
    for note in (*report.notes, *few_remarks(report.remarks)):
        found += [f"> Note: {marked(note, cell=False)}", ""]
    if summary.causes:
        found += [f"{failure_counts(summary.causes)}.", "", "| Severity | Rule or op | Observed |", "|:--|:--|:--|"]
        for cause in summary.causes[:CAUSES]:
            observed = prose(shortened(cause.shown.observed))
            found.append(f"| {severity_name(cause)} | {code(cause_title(cause), cell=True)} | {observed} |")
        more = len(summary.causes) - CAUSES
        found += [f"| | and {more} more | |"] if more > 0 else []
        found.append("")
    stale = [entry for entry in summary.known if entry.stale]
    if stale:
        listed = ", ".join(code(entry.known.rule) for entry in stale)
        found += [f"Stale known differences, which no program showed: {listed}.", ""]
    found += ["| Family | MUST rules passed | SHOULD | Programs |", "|:--|--:|--:|--:|"]
    found += [
        f"| {prose(f.name)} | {f.must.ratio} | {f.should.ratio} | {f.programs:,} |"
        for f in summary.families
        if applies(f)
    ]
    found.append(f"| **all** | **{summary.must.ratio}** | **{summary.should.ratio}** | {summary.programs:,} |")
    return "\n".join(found) + "\n"
