"""``python -m autograd_conformance.reports FILE``: what a record file says, in the terminal or as a Markdown page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from autograd_conformance.reports.causes import causes
from autograd_conformance.reports.render import markdown
from autograd_conformance.reports.render.failures import WHOLE, print_failures
from autograd_conformance.reports.render.terminal import print_summary
from autograd_conformance.reports.stream import InvalidReport, load

INVALID = 3
"""The exit code for a file that is not a sound report, or a page that cannot be written."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a record file's summary, and write its page if asked to; 0, or 3 with one message on standard error."""
    options = _parser().parse_args(arguments)
    try:
        report = load(options.file, options.allow_truncated)
        if options.markdown:
            options.markdown.parent.mkdir(parents=True, exist_ok=True)
            options.markdown.write_text(markdown.render(report), encoding="utf-8")
    except (InvalidReport, OSError) as error:
        print(f"reports: {error}", file=sys.stderr)
        return INVALID
    print_failures(causes(report), Console())
    print_summary(report, Console(), options.markdown or options.file, above=WHOLE)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m autograd_conformance.reports", description="Show what a file of records says."
    )
    parser.add_argument("file", metavar="FILE", help="a record file (JSON Lines)")
    parser.add_argument("--markdown", metavar="OUT", type=Path, help="also write the report as a Markdown page")
    parser.add_argument(
        "--allow-truncated",
        action="store_true",
        help="take a run without footer for what it had said (else: exit code 3)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
