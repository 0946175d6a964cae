"""Commands that read record files: ``autograd-conformance report COMMAND``.

``python -m autograd_conformance.reporting`` is the same command. A file name instead of a command means ``summary``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.progress import track

from autograd_conformance.reporting.analysis.causes import causes
from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.reporting.analysis.verdicts import Exit
from autograd_conformance.reporting.comparison.changes import compare, lines
from autograd_conformance.reporting.comparison.history import add, record_files
from autograd_conformance.reporting.comparison.history import lines as history
from autograd_conformance.reporting.merging.combine import combine
from autograd_conformance.reporting.merging.compatibility import IncompatibleRuns
from autograd_conformance.reporting.merging.merge import MergedRuns
from autograd_conformance.reporting.prose import counted, printable
from autograd_conformance.reporting.records.stream import InvalidReport, load, write
from autograd_conformance.reporting.render import badge, brief, issue, markdown
from autograd_conformance.reporting.render.failures import SHOWN_IN_FULL
from autograd_conformance.reporting.render.terminal import print_summary

INVALID = Exit.INTERNAL
"""Exit code for a file that is not a valid report, or a page that cannot be written."""

USAGE = Exit.USAGE
"""Exit code for wrong usage, such as an output folder that is not a site."""

CHANGED = Exit.NOT_CONFORMANT
"""Exit code of `diff` if there is a new defect."""

RECORDS = "record files (JSON Lines; .gz: compressed)"
"""Help text for the input files of most commands."""

NO_FILES = "the folder has no record files (*.jsonl, *.jsonl.gz)"
"""Error message for a folder without record files."""

COMMANDS = ("site", "summary", "badge", "diff", "combine", "history", "validate")


def main(arguments: Sequence[str] | None = None, program: str = "python -m autograd_conformance.reporting") -> int:
    """Run a command and return its exit code.

    0: done. 1: `diff` found a new defect. 3 (invalid file) and 4 (wrong usage) come with one line on standard error.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given and given[0] not in (*COMMANDS, "-h", "--help"):
        given = ["summary", *given]
    options = _parser(program).parse_args(given)
    try:
        return int(options.run(options))
    except (InvalidReport, OSError) as error:
        print(f"reports: {error}", file=sys.stderr)
        return INVALID


def _summary(options: argparse.Namespace) -> int:
    report = load(options.file, options.allow_truncated)
    if options.brief:
        sys.stdout.write(brief.render(report))
        return 0
    if options.markdown:
        options.markdown.parent.mkdir(parents=True, exist_ok=True)
        markdown.write(report, options.markdown, options.articles)
        issue.write(causes(report), report.header, options.markdown.parent)
    print_summary(report, Console(), options.markdown or options.file, in_full=SHOWN_IN_FULL, articles=options.articles)
    return 0


def _site(options: argparse.Namespace) -> int:
    from autograd_conformance.reporting.site.build import FolderInUse, build  # a slow import that only `site` needs
    from autograd_conformance.reporting.site.documents import DOCS

    files = _record_files(options.files)
    if not files:
        print(f"reports: {options.files[0]}: {NO_FILES}", file=sys.stderr)
        return USAGE
    try:
        site = build(combine(_with_progress(files), options.allow_truncated), options.folder, DOCS)
    except FolderInUse as error:
        print(f"reports: {error}", file=sys.stderr)
        return USAGE
    if len(site.runs) < len(files):
        print(f"reports: {counted(len(files) - len(site.runs), 'file')} repeated a run of another file")
    print(f"{options.folder / 'index.html'}: {counted(len(site.runs), 'run')}")
    return 0


def _badge(options: argparse.Namespace) -> int:
    report = load(options.file, options.allow_truncated)
    summary, name = summarize(report), report.header.framework.title
    made = {".svg": lambda: badge.svg(summary, name), ".json": lambda: badge.endpoint(summary)}
    unknown = [path for path in options.out if path.suffix not in made]
    if unknown:
        print(f"reports: {unknown[0]}: the name of a badge must end in .svg or .json", file=sys.stderr)
        return USAGE
    for path in options.out:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path.suffix](), encoding="utf-8", newline="\n")
    print(f"{badge.LABEL}: {badge.message(summary)}")
    return 0


def _diff(options: argparse.Namespace) -> int:
    before, after = (load(each, options.allow_truncated) for each in (options.before, options.after))
    found = compare(before, after)
    if before.header.suite != after.header.suite and not options.across_suites:
        which = f"{options.before} is from suite {before.header.suite}, {options.after} from suite {after.header.suite}"
        message = f"{which}: their rules may differ. Run both with the same suite, or use --across-suites"
        print(f"reports: {printable(message)}", file=sys.stderr)
        return USAGE
    for line in lines(found):
        print(printable(line))
    return CHANGED if found.of("new") else 0


def _combine(options: argparse.Namespace) -> int:
    merged = MergedRuns()
    for file in _with_progress(options.files):
        try:
            merged.add(load(file, options.allow_truncated))
        except IncompatibleRuns as error:
            print(f"reports: {file}: {error}", file=sys.stderr)
            return USAGE
    report = merged.report()
    write(report, options.out)
    print(f"{options.out}: {counted(merged.runs, 'run')}, {counted(report.programs, 'program')}")
    return 0


def _history(options: argparse.Namespace) -> int:
    for file in options.add:
        print(f"{add(file, options.folder)}: added")
    files = record_files(options.folder)
    if not files:
        print(f"reports: {options.folder}: {NO_FILES}", file=sys.stderr)
        return USAGE
    for line in history([load(file, options.allow_truncated) for file in _with_progress(files)]):
        print(printable(line))
    return 0


def _record_files(given: Sequence[Path]) -> list[Path]:
    """Returns the given files, with each given folder replaced by the record files in it."""
    return [file for path in given for file in (record_files(path) if path.is_dir() else [path])]


def _with_progress(files: Sequence[Path]) -> Iterable[Path]:
    """Returns an iterable over the files that shows a progress bar on standard error, if standard error is a
    terminal.
    """
    console = Console(stderr=True)
    return track(files, "Reading", console=console, transient=True, disable=not console.is_terminal)


def _validate(options: argparse.Namespace) -> int:
    code = 0
    for file in options.files:
        try:
            report = load(file, options.allow_truncated)
        except InvalidReport as error:
            print(f"reports: {error}", file=sys.stderr)
            code = INVALID
        else:
            ended = "" if report.footer else ", without a footer"
            rules, failures = counted(len(report.rules), "rule"), counted(len(report.failures), "failure")
            print(f"{file}: valid{ended}: {report.header.framework.title}, {rules}, {failures}")
    return code


class Parser(argparse.ArgumentParser):
    """Argument parser that exits with this suite's exit code for wrong usage."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error, and exit."""
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def _parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(
        program,
        description="Show, compare and publish record files (records.jsonl), which runs write to their report folder.",
        epilog="Exit codes: 0: done. 1: diff found a new defect. 3: a file is not a valid report, or a file cannot be "
        "written. 4: wrong usage.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    site = commands.add_parser(
        "site", help="make a static site", description="Make a static web site that shows any number of runs."
    )
    site.add_argument("folder", metavar="DIR", type=Path, help="output folder: new, empty, or an earlier site")
    site.add_argument("files", metavar="RECORDS", type=Path, nargs="+", help=f"{RECORDS}, or folders of them")
    site.set_defaults(run=_site)
    summary = commands.add_parser(
        "summary", help="show a run in the terminal", description="Print the failures and the summary of a run."
    )
    summary.add_argument("file", metavar="FILE", help="a record file (JSON Lines)")
    summary.add_argument("--markdown", metavar="OUT", type=Path, help="also write the report as a Markdown page")
    summary.add_argument(
        "--brief", action="store_true", help="print a few lines of Markdown instead, for the summary of a CI step"
    )
    summary.add_argument(
        "--articles",
        action="store_true",
        help="also show the claims of articles, and whether they are true",
    )
    summary.set_defaults(run=_summary)
    made = commands.add_parser("badge", help="make a badge", description="Make a badge of a run.")
    made.add_argument("file", metavar="RECORDS", help="a record file (JSON Lines)")
    made.add_argument(
        "out",
        metavar="OUT",
        type=Path,
        nargs="+",
        help="output file: NAME.svg for a picture, NAME.json for an endpoint badge",
    )
    made.set_defaults(run=_badge)
    diff = commands.add_parser(
        "diff",
        help="compare two runs",
        description="List the defects that are new, fixed or changed in a later run. Exit code 1: some are new.",
    )
    diff.add_argument("before", metavar="BEFORE", help="the record file of the earlier run")
    diff.add_argument("after", metavar="AFTER", help="the record file of the later run")
    diff.add_argument("--across-suites", action="store_true", help="compare runs of different versions of the suite")
    diff.set_defaults(run=_diff)
    joined = commands.add_parser(
        "combine",
        help="merge shards or runs of one framework",
        description="Merge record files into one: shards of a run, or runs with different seeds. Files of different "
        "suites, rules, frameworks or devices are rejected.",
    )
    joined.add_argument("out", metavar="OUT", type=Path, help="output record file (JSON Lines)")
    joined.add_argument("files", metavar="RECORDS", type=Path, nargs="+", help=RECORDS)
    joined.set_defaults(run=_combine)
    past = commands.add_parser(
        "history",
        help="show changes over time",
        description="Show the runs of each framework in the order of time, with the defects that were new or fixed.",
    )
    past.add_argument("folder", metavar="DIR", type=Path, help="a folder of record files (*.jsonl); subfolders count")
    past.add_argument(
        "--add",
        metavar="RECORDS",
        type=Path,
        action="append",
        default=[],
        help="first copy this record file into the folder, compressed",
    )
    past.set_defaults(run=_history)
    validate = commands.add_parser(
        "validate", help="check record files", description="Check whether each file is a valid report."
    )
    validate.add_argument("files", metavar="RECORDS", type=Path, nargs="+", help=RECORDS)
    validate.set_defaults(run=_validate)
    for each in (site, summary, made, diff, joined, past, validate):
        each.add_argument(
            "--allow-truncated",
            action="store_true",
            help="accept files of runs that were killed; without this option they are invalid (exit code 3)",
        )
    return parser
