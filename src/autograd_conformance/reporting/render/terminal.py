"""Summary of a run in the terminal, on about one screen.

It begins with the conclusion, the worst causes of failures with their programs, and what to do next. Then come the
families with applicable rules, the rules that did not pass, the known differences, the ops, with an option the claims
of articles, and the settings of the run. Colours only
repeat what words say. Texts of a framework are never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograd_conformance.reporting.analysis.conclusion import differentiates
from autograd_conformance.reporting.analysis.interactions import interaction_counts
from autograd_conformance.reporting.analysis.rule_verdicts import by_attention, complete, numbered_reason
from autograd_conformance.reporting.analysis.summary import (
    Summary,
    applies,
    differing_ops,
    failing_ops,
    incomplete_notice,
    summarize,
)
from autograd_conformance.reporting.prose import counted, listed, one_line, percentage, printable, shortened
from autograd_conformance.reporting.records.claims import by_article, observation_counts
from autograd_conformance.reporting.records.records import LONGEST, Report
from autograd_conformance.reporting.records.terms import Conclusion, Verdict
from autograd_conformance.reporting.render.failures import print_failures
from autograd_conformance.reporting.render.issue import paths
from autograd_conformance.reporting.render.remarks import few_remarks

HEADLINES: dict[Conclusion, str] = {
    "conformant": "bold green",
    "conformant with known differences": "bold green",
    "selection passed": "bold cyan",
    "not conformant": "bold red",
    "no verdict": "bold yellow",
}
"""Colour and weight of each headline in the terminal."""

STYLES: dict[Verdict, str] = {
    "fail": "red",
    "crash": "red",
    "timeout": "red",
    "flaky": "red",
    "adapter bug": "magenta",
    "cannot be told": "magenta",
    "error": "yellow",
    "known difference": "cyan",
    "vacuous": "yellow",
    "waiting": "yellow",
    "not reached": "yellow",
    "skipped": "",
    "not applicable": "",
    "info": "",
    "pass": "green",
}
"""Colour of each verdict in the terminal."""

ASIDE: tuple[Verdict, ...] = ("known difference", "vacuous", "waiting", "not reached", "not applicable", "skipped")
"""Verdicts of whose rules the summary prints one line together: how many, and the first names."""

UNREMARKABLE: tuple[Verdict, ...] = ("pass", "info")
"""Verdicts whose rules the summary does not list."""

ENTRIES = 5
"""Maximum number of known differences that the summary prints, stale ones first, and of rules that it names in
one line; the page ``report.md`` has all of them.
"""

RULES = 10
"""Maximum number of rules of one verdict, such as *fail*, that get one line each."""

LABEL = 18
"""Width of the verdict in front of a rule's line: that of the longest verdict, and two blanks."""


def print_summary(
    report: Report, console: Console, written: str | Path | None = None, in_full: int = 0, articles: bool = False
) -> None:
    """Print the summary of a run.

    `written` is the path that the summary names as its report: ``report.md``, or the record file, or None; `in_full` is
    the number of causes whose programs are printed, 0 for no list of causes; with `articles` there is a line about the
    claims of articles. Commands and paths are never wrapped, so that they can be copied.
    """
    summary = summarize(report)
    console.print()
    if not complete(report):
        console.print(Text(incomplete_notice(report), "bold yellow"))
    console.print(Text.assemble((summary.conclusion.upper(), HEADLINES[summary.conclusion]), ". ", summary.sentence))
    if summary.climb:
        console.print(Text(summary.climb))
    for note in report.notes:
        console.print(_fact("note", note), highlight=False)
    if in_full:
        print_failures(summary.causes, console, in_full)
    console.print()
    _print_lines(console, _next(report, summary, written))
    if summary.families:
        console.print(_families(summary))
        console.print()
    _print_lines(console, _rules(summary, in_full))
    _print_lines(console, _known(summary))
    remarks = (_fact("note", remark) for remark in few_remarks(report.remarks))
    facts = remarks, _ops(report, summary), _claims(report) if articles else (), _run(report, summary)
    _print_lines(console, chain.from_iterable(facts), after=False)


def _print_lines(console: Console, lines: Iterable[Text], after: bool = True) -> None:
    """Prints lines, and an empty line after them if there is any."""
    printed = False
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)
        printed = True
    if printed and after:
        console.print()


def _next(report: Report, summary: Summary, written: str | Path | None) -> Iterator[Text]:
    """Yields what a reader can do after the run."""
    steps = []
    if not report.programs and not differentiates(report):
        steps.append("find out why no call that computes gradients was found: autograd-conformance probe NAME")
        steps.append("to test it all the same, delete the line IMPERATIVE in the file that probe writes (--write FILE)")
    command = next((cause.shown.command for cause in summary.causes if cause.shown.command), None)
    if command:
        steps.append(f"run the worst failure again: {command}")
    if summary.causes and written is not None and Path(written).suffix == ".md":
        steps.append(f"report it to the framework: {Path(written).parent / paths(summary.causes[:1])[0]} is the text")
    if stale := sum(each.stale for each in summary.known):
        entries = "entry" if stale == 1 else "entries"
        steps.append(f"remove {stale:,} stale {entries} from the file of known differences")
    if complete(report) and any(each.verdict == "vacuous" for each in summary.rules):
        steps.append("run more programs, as some rules had too few: --hypothesis-profile=standard, or --seconds")
    if written is not None:
        steps.append(f"read {written}")
    for number, step in enumerate(steps):
        yield _fact("" if number else "next", step)


def _families(summary: Summary) -> Table:
    table = _table()
    table.add_column("family", no_wrap=True)
    table.add_column("MUST rules passed", justify="right", no_wrap=True)
    table.add_column("SHOULD", justify="right", no_wrap=True)
    table.add_column("programs of its tests", justify="right", no_wrap=True)
    table.add_column("failures", justify="right", no_wrap=True)
    for each in filter(applies, summary.families):
        table.add_row(Text(each.name), each.must.ratio, each.should.ratio, f"{each.programs:,}", f"{each.failures:,}")
    failures = sum(each.failures for each in summary.families)
    passed = summary.must.ratio, summary.should.ratio
    table.add_row("all", *passed, f"{summary.programs:,}", f"{failures:,}")
    return table


def _rules(summary: Summary, shown: int) -> Iterator[Text]:
    """Yields a line for each rule that did not pass, and one line for all rules of each verdict that says nothing bad
    about the framework.
    """
    rules = by_attention(summary.rules)
    for verdict, group in groupby(rules, key=lambda each: each.verdict):
        if verdict in UNREMARKABLE:
            continue
        those = list(group)
        if verdict in ASIDE:
            names = listed((each.rule.rule for each in those), ENTRIES)
            yield _labelled(verdict, f"{counted(len(those), 'rule')}: {names}")
            continue
        for each in those[:RULES]:
            reason = shortened(numbered_reason(each, summary.causes, shown))
            yield _labelled(verdict, f"{each.rule.rule} ({each.rule.level}): {reason}")
        if len(those) > RULES:
            yield _labelled(verdict, f"and {counted(len(those) - RULES, 'more rule')}; the report lists them")


def _labelled(verdict: Verdict, text: str) -> Text:
    return Text.assemble((f"{verdict:{LABEL}}", STYLES[verdict]), printable(text))


def _known(summary: Summary) -> Iterator[Text]:
    """Yields a line for each of the first known differences, stale ones first."""
    if not summary.known:
        return
    seen = sum(each.observed for each in summary.known)
    yield Text(f"Known differences: {seen:,} of {len(summary.known):,} were observed in this run", "bold")
    if not seen and not any(each.stale for each in summary.known):
        return
    for each in summary.known[:ENTRIES]:
        op = f", op {one_line(each.known.op)}" if each.known.op else ""
        link = f" (issue: {one_line(each.known.link)})" if each.known.link else ""
        yield Text.assemble(
            f"  {one_line(each.known.rule)}{op}: {one_line(each.known.reason)}{link}: ",
            (each.status, "yellow" if each.stale else ""),
        )
    if len(summary.known) > ENTRIES:
        yield Text(f"  and {len(summary.known) - ENTRIES:,} more; the report lists all of them")


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")


def _ops(report: Report, summary: Summary) -> Iterator[Text]:
    framework = report.header.framework
    failing = failing_ops(summary)
    which = f": {listed((f'{each.op} ({each.verdict})' for each in failing), 10)}" if failing else ""
    counts = f"{framework.ops:,} supported, {len(framework.missing_ops):,} not, {len(failing):,} failing"
    yield _fact("ops", counts + which)
    if framework.limits:
        yield _fact("", f"supported in part: {listed(framework.limits, 10)}")
    differing = differing_ops(summary)
    if differing:
        yield _fact("", f"known differences: {listed((each.op for each in differing), 10)}")


def _claims(report: Report) -> Iterator[Text]:
    if report.claims:
        articles = counted(len(by_article(report.claims)), "article")
        framework = shortened(report.header.framework.name, LONGEST)
        shown = f"{framework} behaves: {observation_counts(report.claims) or 'not tested'}"
        yield _fact("claims", f"{len(report.claims):,} in {articles}; {shown}")


def _run(report: Report, summary: Summary) -> Iterator[Text]:
    header = report.header
    drawn = "several seeds" if header.seed is None else f"seed {header.seed}"
    where = f"{listed(header.dtypes)} on {header.device}"
    yield _fact("run", f"{drawn}; profile {header.profile}; {where}; {counted(header.workers, 'worker')}")
    if summary.rate is None or summary.seconds is None:
        yield _fact("speed", f"{counted(summary.programs, 'program')}; the duration is not known")
    else:
        took = f"{counted(summary.programs, 'program')} in {summary.seconds:,.1f} s"
        yield _fact("speed", f"{took}, {summary.rate:,.0f} programs/s")
    if report.footer is not None and report.footer.deselected:
        yield _fact("not run", f"{counted(report.footer.deselected, 'test')}, left out by the options of the run")
    if summary.unspecified:
        used = f"{counted(summary.unspecified, 'program')} did something for which several results are right"
        whole = f"; {percentage(summary.judged)} of all instructions were judged" if summary.judged is not None else ""
        yield _fact("judged", f"{used}; from there on, only what does not depend on it was judged{whole}")
    if met := interaction_counts(report):
        shares = f"2-way {percentage(met.pairs_share)}, 3-way {percentage(met.triples_share)}"
        which = f"{met.pairs:,} pairs and {met.triples:,} triples of {met.facts:,} facts"
        yield _fact("drawn", f"interactions: {shares} of those that can be drawn ({which})")


def _fact(name: str, value: str) -> Text:
    return Text.assemble((f"{name:8}", "bold"), printable(value))
