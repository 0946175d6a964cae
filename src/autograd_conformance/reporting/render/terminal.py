"""Summary of a run in the terminal, on about one screen.

It has the conclusion, the families with applicable rules, the rules that did not pass, the known differences, the ops,
the claims of articles if asked for, the commands that replay failures, and the settings of the run. Colours only
repeat what words say. Texts of a framework are never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograd_conformance.reporting.analysis.summary import (
    RuleSummary,
    Summary,
    applies,
    by_attention,
    complete,
    differing_ops,
    failing_ops,
    incomplete_notice,
    numbered_reason,
    summarize,
)
from autograd_conformance.reporting.prose import counted, listed, one_line, percentage, printable, shortened
from autograd_conformance.reporting.records.claims import by_article, observation_counts
from autograd_conformance.reporting.records.records import LONGEST, Report
from autograd_conformance.reporting.records.terms import Conclusion, Verdict

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
    "not reached": "yellow",
    "skipped": "",
    "not applicable": "",
    "info": "",
    "pass": "green",
}
"""Colour of each verdict in the terminal."""

REPLAYS = 3
"""Maximum number of replay commands that the summary prints, one for each cause; the page ``report.md`` has one for
every cause, and the path of the replay file of every other failure.
"""

UNREMARKABLE = ("pass", "info", "not applicable", "skipped")
"""Verdicts whose rules the summary does not list. It only counts inapplicable and skipped rules; the page ``report.md``
has the reasons.
"""

ENTRIES = 5
"""Maximum number of known differences that the summary prints, stale ones first, and of vacuous rules that it names in
one line; the page ``report.md`` has all of them.
"""


def print_summary(
    report: Report, console: Console, written: str | Path | None = None, above: int = 0, articles: bool = False
) -> None:
    """Print the summary of a run.

    `written` is the path that the summary names as its report: ``report.md``, or the record file, or None; `above` is
    the number of causes that were already printed in full; with `articles` there is a line about the claims of
    articles. Replay commands and paths are never wrapped, so that they
    can be copied.
    """
    summary = summarize(report)
    console.print()
    if not complete(report):
        console.print(Text(incomplete_notice(report), "bold yellow"))
    console.print(Text.assemble((summary.conclusion.upper(), HEADLINES[summary.conclusion]), ". ", summary.sentence))
    for note in report.notes:
        console.print(_fact("note", note), highlight=False)
    console.print()
    for table in _tables(summary, above):
        console.print(table)
        console.print()
    facts = (
        _vacuous(summary),
        _rules(summary),
        _ops(report, summary),
        _claims(report) if articles else (),
        _replays(summary),
        _run(report, summary, written),
    )
    for line in chain.from_iterable(facts):
        console.print(line, soft_wrap=True, highlight=False)


def _tables(summary: Summary, above: int) -> Iterator[Table]:
    if summary.families:
        yield _families(summary)
    if remarkable := _remarkable(summary):
        yield _not_passed(remarkable, summary, above)
    if summary.known:
        yield _known(summary)


def _families(summary: Summary) -> Table:
    table = _table()
    table.add_column("family", no_wrap=True)
    table.add_column("passed / applicable / all", justify="right", no_wrap=True)
    table.add_column("programs of its tests", justify="right", no_wrap=True)
    table.add_column("failures", justify="right", no_wrap=True)
    for each in filter(applies, summary.families):
        table.add_row(Text(each.name), str(each.total), f"{each.programs:,}", f"{each.failures:,}")
    failures = sum(each.failures for each in summary.families)
    table.add_row("all", str(summary.total), f"{summary.programs:,}", f"{failures:,}")
    return table


def _remarkable(summary: Summary) -> list[RuleSummary]:
    """Returns the rules that get a row in the table of rules that did not pass. If there are failures, *vacuous* rules
    share one line below instead.
    """
    aside = (*UNREMARKABLE, "vacuous") if summary.causes else UNREMARKABLE
    return [each for each in by_attention(summary.rules) if each.verdict not in aside]


def _not_passed(rules: list[RuleSummary], summary: Summary, above: int) -> Table:
    table = _table()
    table.add_column("verdict", no_wrap=True)
    table.add_column("rule", no_wrap=True)
    table.add_column("level", no_wrap=True)
    table.add_column("reason", overflow="fold", ratio=1)
    for each in rules:
        reason = Text(numbered_reason(each, summary.causes, above))
        table.add_row(Text(each.verdict, STYLES[each.verdict]), Text(each.rule.rule), each.rule.level, reason)
    return table


def _vacuous(summary: Summary) -> Iterator[Text]:
    vacuous = [each for each in summary.rules if each.verdict == "vacuous"] if summary.causes else []
    if vacuous:
        rules = listed((each.rule.rule for each in vacuous), ENTRIES)
        yield _fact("vacuous", f"{counted(len(vacuous), 'rule')} not tested by enough programs: {rules}")


def _known(summary: Summary) -> Table:
    rest = len(summary.known) - ENTRIES
    table = _table()
    table.title, table.title_style, table.title_justify = "Known differences", "bold", "left"
    table.caption_justify = "left"
    table.caption = f"and {rest:,} more; the report lists all of them" if rest > 0 else None
    table.add_column("rule", no_wrap=True)
    table.add_column("op", no_wrap=True)
    table.add_column("observed, and reason", overflow="fold", ratio=1)
    for each in summary.known[:ENTRIES]:
        text = Text.assemble((each.status, "yellow" if each.stale else ""), "\n", one_line(each.known.reason))
        text.append(f"\nissue: {one_line(each.known.link)}" if each.known.link else "")
        table.add_row(Text(one_line(each.known.rule)), Text(one_line(each.known.op or "")), text)
    return table


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")


def _rules(summary: Summary) -> Iterator[Text]:
    inapplicable = sum(each.verdict == "not applicable" for each in summary.rules)
    if inapplicable:
        yield _fact("rules", f"{counted(inapplicable, 'rule')} not applicable; the report lists the reasons")
    skipped = sum(each.verdict == "skipped" for each in summary.rules)
    if skipped:
        yield _fact("" if inapplicable else "rules", f"{counted(skipped, 'rule')} skipped: their tests were left out")


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


def _replays(summary: Summary) -> Iterator[Text]:
    shown = [each.shown for each in summary.causes if each.shown.command]
    commands = sum(bool(failure.command) for each in summary.causes for failure in each.failures)
    for index, failure in enumerate(shown[:REPLAYS]):
        yield _fact("" if index else "replay", f"{failure.command}  # {failure.rule}")
    rest = commands - len(shown[:REPLAYS])
    if rest:
        yield _fact("", f"and {counted(rest, 'more failure')}; the report has all commands")


def _run(report: Report, summary: Summary, written: str | Path | None) -> Iterator[Text]:
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
        used = f"{counted(summary.unspecified, 'program')} used a value that the rules leave unspecified"
        whole = f"; {percentage(summary.judged)} of all instructions were judged" if summary.judged is not None else ""
        yield _fact("judged", f"{used}: what depends on it was not judged{whole}")
    if written is not None:
        yield _fact("report", str(written))


def _fact(name: str, value: str) -> Text:
    return Text.assemble((f"{name:8}", "bold"), printable(value))
