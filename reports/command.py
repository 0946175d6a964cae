"""The commands that make something of record files: ``autograd-conformance report COMMAND``.

``python -m autograd_conformance.reports`` is the same; a file in the place of a command is shown, as by ``summary``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from autograd_conformance.reports.causes import causes
from autograd_conformance.reports.combine import combine
from autograd_conformance.reports.prose import counted
from autograd_conformance.reports.render import markdown
from autograd_conformance.reports.render.failures import WHOLE, print_failures
from autograd_conformance.reports.render.terminal import print_summary
from autograd_conformance.reports.stream import InvalidReport, load

INVALID = 3
"""The exit code for a file that is not a sound report, or a page that cannot be written."""

USAGE = 4
"""The exit code for wrong usage, such as a folder that holds something else."""

COMMANDS = ("site", "summary")


def main(arguments: Sequence[str] | None = None, program: str = "python -m autograd_conformance.reports") -> int:
    """Run a command; 0, or 3 or 4 with one message on standard error, and 2 or so as the command's help says."""
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
    if options.markdown:
        options.markdown.parent.mkdir(parents=True, exist_ok=True)
        options.markdown.write_text(markdown.render(report), encoding="utf-8")
    print_failures(causes(report), Console())
    print_summary(report, Console(), options.markdown or options.file, above=WHOLE)
    return 0


def _site(options: argparse.Namespace) -> int:
    from autograd_conformance.reports.site.build import NotOurs, build  # here, for no other command draws

    try:
        site = build(combine(options.files, options.allow_truncated), options.folder)
    except NotOurs as error:
        print(f"reports: {error}", file=sys.stderr)
        return USAGE
    if len(site.runs) < len(options.files):
        print(f"reports: {counted(len(options.files) - len(site.runs), 'file')} held a run that was there already")
    print(f"{options.folder / 'index.html'}: {counted(len(site.runs), 'run')}")
    return 0


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        program,
        description="Make something of record files, which runs leave in their report's folder (records.jsonl).",
        epilog="Exit codes: 0: done. 3: a file is no sound report, or something cannot be written. 4: wrong usage.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    site = commands.add_parser(
        "site", help="make a static site", description="Make a static site of any number of runs."
    )
    site.add_argument("folder", metavar="DIR", type=Path, help="where to: a new or empty folder, or an earlier site")
    site.add_argument("files", metavar="RECORDS", type=Path, nargs="+", help="record files (JSON Lines)")
    site.set_defaults(run=_site)
    summary = commands.add_parser("summary", help="show a run in the terminal", description="Show what a run found.")
    summary.add_argument("file", metavar="FILE", help="a record file (JSON Lines)")
    summary.add_argument("--markdown", metavar="OUT", type=Path, help="also write the report as a Markdown page")
    summary.set_defaults(run=_summary)
    for each in (site, summary):
        each.add_argument(
            "--allow-truncated",
            action="store_true",
            help="take a run without footer for what it had said (else: exit code 3)",
        )
    return parser
