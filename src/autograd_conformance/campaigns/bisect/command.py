"""``autograd-conformance bisect FILE``: in which version of a framework a finding began, or ended."""

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
from autograd_conformance.checking.session import REPORT_ERROR
from autograd_conformance.plugin.recording.terminal import WIDTH
from autograd_conformance.processes.journal import TIMEOUT
from autograd_conformance.processes.termination import Termination
from autograd_conformance.reporting.command import USAGE, Parser
from autograd_conformance.reporting.prose import printable, shortened
from autograd_conformance.reporting.render.bisected import STYLES, render, table

FOUND, NO_CHANGE, INTERRUPTED, UNDECIDED = 0, 1, 2, 3
"""The exit codes of a search: a change was found; there is none; it was stopped; it cannot be told."""

STEPS: dict[Outcome, int] = {"good": 0, "bad": 1, "skipped": 125}
"""The exit codes of one step, as `git bisect run` takes them."""

ABORT = 255
"""The exit code of a step with which `git bisect run` ends: any from 1 to 127 would say something of the commit."""

STEP = "--step"
"""The option that makes one step of it."""


def main(arguments: Sequence[str] | None = None, program: str = "autograd-conformance bisect") -> int:
    """Search a framework's versions for the change; the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if STEP not in arguments:
        return _main(arguments, program)
    try:
        code = _main(arguments, program)
    except SystemExit as ended:
        code = 0 if ended.code == 0 and not {"-h", "--help"}.isdisjoint(arguments) else ABORT
    except Exception:  # Python's own exit code for it would say that the commit is bad
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
        return _fail("stopped; environments that were made are kept", INTERRUPTED)
    finally:
        termination.restore()


def _try_installed(sought: Finding, options: argparse.Namespace) -> Outcome:
    """Try what is there now."""
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
    """The versions that are tried, as each hangs on what came of those before."""
    while (number := next_version({at: trial.outcome for at, trial in trials.items()}, count)) is not None:
        yield number


def _try_version(version: Version, sought: Finding, options: argparse.Namespace) -> Trial:
    try:
        python = version.interpreter()
    except UnusableEnvironment as error:
        return Trial("skipped", str(error))
    return run_trial(sought, options.framework, python, options.device, options.patience)


class _UsageError(Exception):
    """Options that do not go together."""


def _versions(options: argparse.Namespace) -> list[Version]:
    """The versions, the oldest first."""
    if options.step:
        if options.python or options.versions or options.all or options.markdown:
            raise _UsageError(f"{STEP} tries what is there now: it takes neither versions nor --all nor --markdown")
        return []
    if options.framework_python:
        raise _UsageError(f"--framework-python goes with {STEP}; each version has an interpreter of its own: --python")
    if options.json:
        raise _UsageError(f"--json goes with {STEP}; the table of a search is written by --markdown")
    if bool(options.python) == bool(options.versions):
        raise _UsageError(
            "name the versions, the oldest first: either --python LABEL=PATH each, or --versions with --install"
        )
    if bool(options.versions) != bool(options.install):
        raise _UsageError(f"--versions and --install 'PACKAGE=={PLACEHOLDER}' go together")
    if options.install and not any(PLACEHOLDER in each for each in options.install):
        raise _UsageError(f"--install: {PLACEHOLDER} has to stand where the version belongs")
    found: list[Version] = [_given_version(word) for word in options.python]
    found += [Installed(label, tuple(options.install), options.environments) for label in options.versions]
    labels = [each.label for each in found]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise _UsageError(f"{twice} is there twice")
    if len(found) < 2:
        raise _UsageError(f"one version has no change in it; try it alone with {STEP} or --replay")
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
        description="Find the version of a framework in which a finding began, or ended: its program is run again in "
        "some of the versions, each in an environment of its own, by the process protocol.",
        epilog="Exit codes: 0: the change was found, between two versions next to each other. 1: all that run the "
        "program are alike. 2: it was stopped. 3: it cannot be told, for versions that cannot run the program. 4: "
        "wrong usage. 11: the page could not be written. With --step: 0: good. 1: bad. 125: it cannot be told. 255: "
        "anything else, with which git bisect ends.",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        help="a replay file (.json), records (.jsonl), or a TOML file of one program with its rule, or of known "
        "differences",
    )
    parser.add_argument("--framework", metavar="NAME", required=True, help="as for a run")
    parser.add_argument("--rule", metavar="RULE", help="which finding of the file, or what counts as bad")
    parser.add_argument("--number", metavar="N", type=int, help="which finding of the file, from 1")
    parser.add_argument(
        "--python",
        metavar="LABEL=PATH",
        action="append",
        default=[],
        help="a version and the interpreter of its environment; give several, the oldest first",
    )
    parser.add_argument(
        "--versions", metavar="VERSION", nargs="+", default=[], help="versions to install, the oldest first"
    )
    parser.add_argument(
        "--install",
        metavar="WHAT",
        action="append",
        default=[],
        help=f"what pip installs for a version, where {PLACEHOLDER} is the version, as 'autograd=={PLACEHOLDER}'; "
        "give several",
    )
    parser.add_argument(
        "--environments",
        metavar="DIR",
        type=Path,
        default=environments(),
        help="where environments are made, and kept (default: the user's caches)",
    )
    parser.add_argument("--all", action="store_true", help="try every version, and tell of each change")
    parser.add_argument("--markdown", metavar="OUT", type=Path, help="also write the table as a Markdown page")
    parser.add_argument(STEP, action="store_true", help="try what is there now, for git bisect run")
    parser.add_argument("--json", metavar="OUT", type=Path, help=f"with {STEP}: also write what came of it as JSON")
    parser.add_argument("--framework-python", metavar="PATH", help=f"with {STEP}: the interpreter (default: this one)")
    parser.add_argument("--device", metavar="DEVICE", default="cpu", help="as for a run (default: cpu)")
    parser.add_argument(
        "--patience",
        metavar="SECONDS",
        type=float,
        default=TIMEOUT,
        help=f"after which the program counts as hung, which is bad (default: {TIMEOUT:g})",
    )
    return parser
