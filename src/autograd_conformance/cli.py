"""The command `autograd-conformance`: runs the suites with pytest, from any folder and without a checkout.

It accepts pytest's options and the suite's own (`autograd-conformance --help`). The current folder has no influence on
the run: its `pytest.ini`, `conftest.py` and tests are not used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from autograd_conformance.package import loading
from autograd_conformance.package.places import PACKAGE, PLUGIN, SUITES
from autograd_conformance.reporting.analysis.verdicts import Exit

SETTINGS = PACKAGE / "cli.ini"

REPORT = "report"
"""The word after `autograd-conformance` that selects the command about record files, which runs no tests."""

CAMPAIGN = "campaign"
"""The word after `autograd-conformance` that selects the command that runs a plan of many runs."""

BISECT = "bisect"
"""The word after `autograd-conformance` that selects the search for the framework version in which a
violation began.
"""

VECTORS = "vectors"
"""The word after `autograd-conformance` that selects the command that makes test vectors and judges answers to them."""

AUTHORING = ("probe", "check", "new-adapter")
"""The words after `autograd-conformance` that select the commands for the author of an adapter."""

PROCESSES = {"--numprocesses", "--dist", "--replay", "--collect-only", "--co", "--help", "-h", "--version", "--markers"}
"""Options that set the number of processes, or that need only one process; with one of these, `arguments` adds no `-n
auto`.
"""


OWN = ("--assert=plain",)
"""Options of every run. Pytest rewrites the assertions of each module that a plugin's package has; the suites have none
that a report shows, and rewriting would cost each process seconds wherever Python may not write its cache files.
"""


HELP = frozenset({"--help", "-h"})
"""The options that print a page about the command."""


def main(words: Sequence[str] | None = None) -> int:
    """Runs the suites with the given options, and returns the exit code, one of `Exit`: pytest's own, or a further one
    such as 10 for an adapter error.

    `report` passes the rest to `reporting.command`, `campaign` to `campaigns.command`, `bisect` to
    `campaigns.bisect.command`, `vectors` to `vectors.command`, and each word of `AUTHORING` to `authoring.command`.
    """
    loading.handle_signals()
    try:
        os.getcwd()
    except FileNotFoundError:
        print("ERROR: the current folder was removed; change to another folder", file=sys.stderr)
        return Exit.USAGE
    given = sys.argv[1:] if words is None else list(words)
    command = given[:1] and _command(given[0])
    if command:
        return _until_closed(lambda: command(given), Exit.STOPPED)
    if not HELP.isdisjoint(given):
        from autograd_conformance.plugin.help_page import print_help  # not needed by runs

        return _until_closed(lambda: print_help(lambda: _pytest(given)), Exit.PASSED)
    return _pytest(given)


def _command(word: str) -> Callable[[Sequence[str]], int] | None:
    """Returns the function that runs a command with all words of the command line; None if the word is no command."""
    if word == REPORT:
        from autograd_conformance.reporting.command import main as report  # not needed by runs

        return lambda given: report(given[1:], program=f"autograd-conformance {REPORT}")
    if word == CAMPAIGN:
        from autograd_conformance.campaigns.command import main as campaign  # imports Dask, which runs do not need

        return lambda given: campaign(given[1:], program=f"autograd-conformance {CAMPAIGN}")
    if word == BISECT:
        from autograd_conformance.campaigns.bisect.command import main as bisect  # not needed by runs

        return lambda given: bisect(given[1:], program=f"autograd-conformance {BISECT}")
    if word == VECTORS:
        from autograd_conformance.vectors.command import main as vectors  # not needed by runs

        return lambda given: vectors(given[1:], program=f"autograd-conformance {VECTORS}")
    if word in AUTHORING:
        from autograd_conformance.authoring.command import main as authoring  # not needed by runs

        return authoring
    return None


def _pytest(given: Sequence[str]) -> int:
    import pytest  # after the current folder is off the module path

    return int(pytest.main([*OWN, "-p", PLUGIN, "-c", str(SETTINGS), f"--rootdir={PACKAGE}", *arguments(given)]))


def _until_closed(call: Callable[[], int], closed: int) -> int:
    """Returns the exit code of a call that prints text, or `closed` if the reader of the text, such as `head`, ends
    first.
    """
    try:
        code = call()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it again when it ends
        return closed
    return code


def arguments(given: Sequence[str]) -> list[str]:
    """Returns the options as pytest needs them: `suites/...` becomes the path of the suites, all suites are added if no
    test is named, and `-n auto` is added if no option sets the number of processes.
    """
    from autograd_conformance.early import joined  # imports pytest: see `main`

    words = [str(SUITES.parent / word) if word.startswith("suites/") else word for word in joined(given)]
    if not any(Path(word.partition("::")[0]).resolve().is_relative_to(SUITES) for word in words):
        words.append(str(SUITES))
    counted = any(word.startswith("-n") or word.partition("=")[0] in PROCESSES for word in given)
    return words if counted else ["-n", "auto", *words]


if __name__ == "__main__":
    sys.exit(main())
