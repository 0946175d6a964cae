"""The command `autograd-conformance`: pytest runs the suites, from any folder and without a clone.

Pytest's options are its options, and the suite's own stand among them (`autograd-conformance --help`). Nothing of the
folder that it is started in has a say in the run: no `pytest.ini`, no `conftest.py`, no other tests.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from autograd_conformance.places import PACKAGE, PLUGIN, SUITES
from autograd_conformance.reporting.analysis.verdicts import Exit

SETTINGS = PACKAGE / "cli.ini"

REPORT = "report"
"""The first word of a command line that is about record files, and runs nothing."""

CAMPAIGN = "campaign"
"""The first word of a command line that is about many runs."""

BISECT = "bisect"
"""The first word of a command line that is about one program in several versions of a framework."""

PROCESSES = {"--numprocesses", "--dist", "--replay", "--collect-only", "--co", "--help", "-h", "--version", "--markers"}
"""Options that say how many processes there are, or with which the first is enough."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the suites with what stands on the command line; pytest's exit code, or 10 for an adapter error.

    Behind `report` stand the commands about record files (`reporting.command`), behind `campaign` the one that runs a
    plan of many runs (`campaigns.command`), behind `bisect` the one that looks for the version in which a finding
    began (`campaigns.bisect.command`).
    """
    try:
        os.getcwd()
    except FileNotFoundError:
        print("ERROR: the current folder is gone; change to one that is there", file=sys.stderr)
        return Exit.USAGE
    given = sys.argv[1:] if words is None else list(words)
    if given[:1] == [REPORT]:
        from autograd_conformance.reporting.command import main as report  # here: no run needs it

        return report(given[1:], program=f"autograd-conformance {REPORT}")
    if given[:1] == [CAMPAIGN]:
        from autograd_conformance.campaigns.command import main as campaign  # here: no run needs Dask

        return campaign(given[1:], program=f"autograd-conformance {CAMPAIGN}")
    if given[:1] == [BISECT]:
        from autograd_conformance.campaigns.bisect.command import main as bisect  # here: no run needs it

        return bisect(given[1:], program=f"autograd-conformance {BISECT}")
    import pytest  # here: after the current folder is left

    return int(pytest.main(["-p", PLUGIN, "-c", str(SETTINGS), f"--rootdir={PACKAGE}", *arguments(given)]))


def arguments(given: Sequence[str]) -> list[str]:
    """The words of a command line as pytest needs them: a test as reports name it (`suites/...`) is found where the
    suite lies; where none is named, all are run; and there are as many processes as cores, unless they are counted.
    """
    from autograd_conformance.early import joined  # here: it brings pytest, after the current folder is left

    words = [str(SUITES.parent / word) if word.startswith("suites/") else word for word in joined(given)]
    if not any(Path(word.partition("::")[0]).resolve().is_relative_to(SUITES) for word in words):
        words.append(str(SUITES))
    counted = any(word.startswith("-n") or word.partition("=")[0] in PROCESSES for word in given)
    return words if counted else ["-n", "auto", *words]


def _leave_folder() -> None:
    """Look for no module in the current folder, which `python -m` puts first: a `code.py` there is not Python's own."""
    with suppress(FileNotFoundError):  # a folder that is gone holds no module
        if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
            del sys.path[0]


if __name__ == "__main__":
    _leave_folder()
    sys.exit(main())
