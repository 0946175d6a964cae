"""``autograd-conformance bisect FILE``: finds the framework version in which a finding began or ended."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from autograd_conformance.campaigns.bisect.environment import (
    PLACEHOLDER,
    Given,
    Installed,
    UnusableEnvironment,
    Version,
    environments,
)
from autograd_conformance.campaigns.bisect.finding import Finding, UnusableFinding, finding
from autograd_conformance.campaigns.bisect.outcome import Trial, bisected
from autograd_conformance.campaigns.bisect.search import Outcome, next_version
from autograd_conformance.campaigns.bisect.step import as_json
from autograd_conformance.campaigns.bisect.trial import run_trial
from autograd_conformance.plugin.recording.terminal import WIDTH
from autograd_conformance.processes.journal import TIMEOUT
from autograd_conformance.processes.termination import Termination
from autograd_conformance.reporting.analysis.verdicts import REPORT_ERROR
from autograd_conformance.reporting.command import USAGE, Parser
from autograd_conformance.reporting.prose import printable, shortened
from autograd_conformance.reporting.render.bisected import STYLES, render, table

FOUND, NO_CHANGE, INTERRUPTED, UNDECIDED = 0, 1, 2, 3
"""Exit codes of a search over versions: a change was found; there is no change; the search was interrupted; it is
undecided."""

STEPS: dict[Outcome, int] = {"good": 0, "bad": 1, "skipped": 125}
"""Exit codes of `--step`, which runs the program in one version, as `git bisect run` expects them."""

ABORT = 255
"""Exit code of `--step` that makes `git bisect run` stop. Codes from 1 to 127 would be a verdict on the commit."""

STEP = "--step"
"""The option that runs the program in one version, for `git bisect run`."""


def main(arguments: Sequence[str] | None = None, program: str = "autograd-conformance bisect") -> int:
    """Searches the versions of a framework for the one in which a finding began or ended; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if STEP not in arguments:
        return _main(arguments, program)
    try:
        code = _main(arguments, program)
    except SystemExit as ended:
        code = 0 if ended.code == 0 and not {"-h", "--help"}.isdisjoint(arguments) else ABORT
    except Exception:  # Python's exit code of 1 would mean that the commit is bad
        traceback.print_exc()
        code = ABORT
    return code if code in STEPS.values() else ABORT


def _main(arguments: Sequence[str], program: str) -> int:
    options = _parser(program).parse_args(arguments)
    termination = Termination(controls=True)
    try:
        versions = _versions(options)
        sought = finding(options.file, options.rule, options.number)
        if options.step:
            return STEPS[_try_installed(sought, options)]
        return _search(sought, versions, options)
    except (UnusableFinding, _UsageError) as error:
        return _fail(str(error), USAGE)
    except OSError as error:
        return _fail(str(error), REPORT_ERROR)
    except KeyboardInterrupt:
        termination.acknowledged.set()
        return _fail("stopped; the environments made so far are kept", INTERRUPTED)
    finally:
        termination.restore()


def _try_installed(sought: Finding, options: argparse.Namespace) -> Outcome:
    """Runs the finding's program in one environment, the current one or that of `--framework-python`, and prints the
    outcome.
    """
    trial = run_trial(sought, options.framework, options.framework_python, options.device, options.patience)
    print(printable(f"{trial.outcome}: {trial.title + ': ' if trial.title else ''}{trial.detail}"))
    if options.json:
        options.json.write_text(json.dumps(as_json(trial)) + "\n", encoding="utf-8")
    return trial.outcome


def _search(sought: Finding, versions: Sequence[Version], options: argparse.Namespace) -> int:
    console = Console()
    console.width = max(WIDTH, console.width)
    trials: dict[int, Trial] = {}
    order = reversed(range(len(versions))) if options.all else _binary(trials, len(versions))
    for number in order:
        version = versions[number]
        with console.status(printable(version.label)):
            trials[number] = _try_version(version, sought, options)
        trial = trials[number]
        console.print(printable(version.label), end=" ", markup=False, highlight=False)
        console.print(trial.outcome, style=STYLES[trial.outcome], end="", highlight=False)
        console.print(f": {shortened(trial.detail)}", markup=False, highlight=False, soft_wrap=True)
    found = bisected(sought.title, options.framework, [each.label for each in versions], trials)
    console.print()
    console.print(table(found))
    console.print(f"\n{printable(found.answer)}", style="bold", markup=False, highlight=False, soft_wrap=True)
    if options.markdown:
        options.markdown.parent.mkdir(parents=True, exist_ok=True)
        options.markdown.write_text(render(found), encoding="utf-8")
    if not found.is_decided:
        return UNDECIDED
    return FOUND if found.changes else NO_CHANGE


def _binary(trials: dict[int, Trial], count: int) -> Iterator[int]:
    """Yields the numbers of the versions that a binary search tries. Each depends on the trials before it, which the
    caller adds to `trials`.
    """
    while (number := next_version({at: trial.outcome for at, trial in trials.items()}, count)) is not None:
        yield number


def _try_version(version: Version, sought: Finding, options: argparse.Namespace) -> Trial:
    try:
        python = version.interpreter()
    except UnusableEnvironment as error:
        return Trial("skipped", str(error))
    return run_trial(sought, options.framework, python, options.device, options.patience)


class _UsageError(Exception):
    """Options are missing or contradict each other; the message says what to write."""


def _versions(options: argparse.Namespace) -> list[Version]:
    """Returns the versions that the options name, the oldest first; none for `--step`. Raises `_UsageError`."""
    if options.step:
        if options.python or options.versions or options.all or options.markdown:
            raise _UsageError(f"{STEP} runs in the current environment: it takes no versions, --all or --markdown")
        return []
    if options.framework_python:
        raise _UsageError(f"--framework-python needs {STEP}; name the interpreter of each version with --python")
    if options.json:
        raise _UsageError(f"--json needs {STEP}; to write the table of a search, use --markdown")
    if bool(options.python) == bool(options.versions):
        raise _UsageError(
            "name the versions, the oldest first: either --python LABEL=PATH each, or --versions with --install"
        )
    if bool(options.versions) != bool(options.install):
        raise _UsageError(f"--versions and --install 'PACKAGE=={PLACEHOLDER}' need each other")
    if options.install and not any(PLACEHOLDER in each for each in options.install):
        raise _UsageError(f"--install: write {PLACEHOLDER} in place of the version")
    found: list[Version] = [_given_version(word) for word in options.python]
    found += [Installed(label, tuple(options.install), options.environments) for label in options.versions]
    labels = [each.label for each in found]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise _UsageError(f"the version {twice} is listed twice")
    if len(found) < 2:
        raise _UsageError(f"a search needs at least two versions; to run one version, use {STEP} or --replay")
    return found


def _given_version(word: str) -> Given:
    label, equals, path = word.partition("=")
    if not (label and equals and path):
        raise _UsageError(f"--python={word}: write LABEL=PATH")
    return Given(label, path)


def _fail(reason: str, code: int) -> int:
    print(f"bisect: {printable(reason)}", file=sys.stderr)
    return code


def _parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(
        program,
        description="Find the version of a framework in which a finding began or ended. The finding's program is run "
        "in several versions, each in its own environment, by the process protocol.",
        epilog="Exit codes: 0: a change was found between two adjacent versions. 1: all versions that run the program "
        "have the same outcome. 2: interrupted. 3: undecided, because some versions cannot run the program. 4: wrong "
        "usage. 11: the page could not be written. With --step: 0: good. 1: bad. 125: undecided. 255: any other "
        "error, which stops git bisect.",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        help="a replay file (.json), records (.jsonl), or a TOML file of one program with its rule, or of known "
        "differences",
    )
    parser.add_argument("--framework", metavar="NAME", required=True, help="as for a run")
    parser.add_argument("--rule", metavar="RULE", help="the rule of the finding, or the rule that counts as bad")
    parser.add_argument("--number", metavar="N", type=int, help="the number of the finding in the file, from 1")
    parser.add_argument(
        "--python",
        metavar="LABEL=PATH",
        action="append",
        default=[],
        help="a version and the interpreter of its environment; repeat it, the oldest version first",
    )
    parser.add_argument(
        "--versions", metavar="VERSION", nargs="+", default=[], help="versions to install, the oldest first"
    )
    parser.add_argument(
        "--install",
        metavar="WHAT",
        action="append",
        default=[],
        help=f"a requirement that pip installs for each version, with {PLACEHOLDER} in place of the version, such as "
        f"'autograd=={PLACEHOLDER}'; repeat it for more",
    )
    parser.add_argument(
        "--environments",
        metavar="DIR",
        type=Path,
        default=environments(),
        help="the folder of installed environments, which are kept (default: in the user's cache)",
    )
    parser.add_argument("--all", action="store_true", help="try every version, and report each change")
    parser.add_argument("--markdown", metavar="OUT", type=Path, help="also write the table as a Markdown page")
    parser.add_argument(STEP, action="store_true", help="run in the current environment once, for git bisect run")
    parser.add_argument("--json", metavar="OUT", type=Path, help=f"with {STEP}: also write the outcome as JSON")
    parser.add_argument("--framework-python", metavar="PATH", help=f"with {STEP}: the interpreter (default: this one)")
    parser.add_argument("--device", metavar="DEVICE", default="cpu", help="as for a run (default: cpu)")
    parser.add_argument(
        "--patience",
        metavar="SECONDS",
        type=float,
        default=TIMEOUT,
        help=f"time limit of the program; exceeding it counts as bad (default: {TIMEOUT:g})",
    )
    return parser
