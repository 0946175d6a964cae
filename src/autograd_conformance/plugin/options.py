"""The options of a run: the suite's own, the options of pytest that are refused, and Hypothesis's profiles."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, errors, settings

from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.frameworks.environment.caches import caches
from autograd_conformance.frameworks.loading.entry_points import frameworks
from autograd_conformance.processes.journal import TIMEOUT
from autograd_conformance.programs.dtypes import DTYPES, USUAL, dtypes_in
from autograd_conformance.strategies.building.randomness.hypothesis_internals import has_providers

PROFILES = {"quick": 60, "standard": 600, "thorough": 60_000}
"""Number of programs that a test draws, by the name of the Hypothesis profile. Tests of a single op, and some others,
draw a fraction of this number.
"""

PROFILE = "quick"
"""The profile of a run whose command line names none."""


CONFIRMS = 20
"""Number of failures that each process runs again in a fresh process, if the user does not set `--confirm`. Each takes
a few seconds.
"""


def add_options(parser: pytest.Parser) -> None:
    """Adds the suite's options to pytest's."""
    group = parser.getgroup(
        "conformance",
        "autograd conformance (--hypothesis-profile: quick, the default, standard or thorough; --strict: violated "
        "SHOULD rules and stale known differences fail the run)",
    )
    names = ", ".join(frameworks())
    group.addoption(
        "--framework",
        default="torch",
        metavar="NAME",
        help=f"what to test: {names}, torch-like:MODULE for a module with PyTorch's interface, numpy-like:MODULE for "
        "one with NumPy's that differentiates functions, your own adapter as package.module:factory, or 'remote: "
        "COMMAND' for a program that speaks the protocol of docs/protocol.md "
        "(default: torch)",
    )
    group.addoption(
        "--framework-python",
        metavar="PATH",
        help="the Python interpreter of another environment with NumPy and the framework; the adapter runs there",
    )
    group.addoption(
        "--fresh-process",
        type=_number,
        metavar="N",
        help="run the framework in a separate process, and start a new one after every N programs",
    )
    group.addoption(
        "--known",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a TOML file of known differences, which do not fail the run; may be repeated (default: the file beside "
        "the adapter of a framework with a name)",
    )
    group.addoption(
        "--update-known",
        type=Path,
        metavar="FILE",
        help="add each violation to a file of known differences, with a witness and the tightest limits",
    )
    group.addoption(
        "--skip",
        type=Path,
        metavar="FILE",
        help="a TOML file of ops and rules to leave out, each with a reason: [[skip]] with op or rule, and because; "
        "the report lists them, and such a run is a selection",
    )
    group.addoption(
        "--confirm",
        type=_count,
        default=CONFIRMS,
        metavar="N",
        help="number of failures that each process runs again in a separate process, to report whether they reproduce "
        f"(default: {CONFIRMS}; 0: none)",
    )
    group.addoption("--report", default="report", metavar="DIR", help="the folder of the report (default: report)")
    group.addoption(
        "--articles",
        action="store_true",
        help="also show the claims of articles about autograd in report.md and in the terminal (default: only in "
        "records.jsonl)",
    )
    group.addoption(
        "--audit",
        action="store_true",
        help="run each op alone again, although an earlier run of the same version found it right (default: once for "
        "each version of the framework, the adapter and the suite)",
    )
    group.addoption(
        "--dtype",
        type=_dtypes,
        default=USUAL,
        metavar="NAMES",
        help=f"the dtypes of programs, with commas: {', '.join(DTYPES)}, or both: float32 and float64 (default: both)",
    )
    group.addoption(
        "--device",
        default="cpu",
        metavar="DEVICE",
        help="the device for the adapter's factory; PyTorch's adapters accept any device of PyTorch, and "
        "package.module:device if a module has to be imported for it (default: cpu)",
    )
    group.addoption(
        "--patience",
        type=_seconds,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"seconds after which a program counts as a timeout (default: {TIMEOUT:g})",
    )
    group.addoption(
        "--programs",
        type=_number,
        metavar="N",
        help="approximate maximum number of programs in the whole run, shared among the rules (default: the profile's)",
    )
    group.addoption(
        "--seconds",
        type=_seconds,
        metavar="S",
        help="time limit of the whole run, its audit and report included (default: none)",
    )
    group.addoption(
        "--replay",
        action="append",
        default=[],
        metavar="FILE",
        help="run a program file again, or all in a folder, with a line for each; exit code 0: fixed, 1: still "
        "failing, 4: cannot run, of several files the highest (may be repeated)",
    )
    group.addoption(
        "--program",
        action="append",
        default=[],
        metavar="TEXT",
        help="run a program in the suite's notation, such as 'a = leaf 1; b = exp a; backward b', and say "
        "what breaks a rule; 'leaf f32 [1, 2]' has a dtype; exit codes as for --replay (may be repeated)",
    )


def _dtypes(text: str) -> tuple[str, ...]:
    try:
        return dtypes_in(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def _number(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not number:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return number


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


REMEMBERING = {
    "lf": "--lf",
    "failedfirst": "--ff",
    "newfirst": "--nf",
    "stepwise": "--sw",
    "stepwise_skip": "--sw-skip",
    "stepwise_reset": "--sw-reset",
    "cacheshow": "--cache-show",
    "cacheclear": "--cache-clear",
}
"""Options of pytest that need its cache of earlier runs, by their names in `config.option`."""


OWN = ("recorder", "progress", "workers")
"""Names under which the suite's own plugins are registered. Without them there is no report, or the run does
not end.
"""


def check_options(config: pytest.Config) -> None:
    """Refuses options that pytest would accept and ignore, or report as an internal error. Raises
    `pytest.UsageError`.
    """
    _check_hidden(config)
    if getattr(config.option, "dist", "no") == "each":
        raise pytest.UsageError(
            "--dist=each runs every test in each process, so its programs would count several times; "
            "use -n N, which distributes the tests"
        )
    if not config.pluginmanager.has_plugin("cacheprovider"):
        for name, option in REMEMBERING.items():
            if getattr(config.option, name, None):
                raise pytest.UsageError(
                    f"{option} cannot work, because runs keep no cache; "
                    "run a failure again with --replay=FILE, or name its test"
                )
    profile = config.getoption("--hypothesis-profile")
    try:
        settings.get_profile(profile or PROFILE)
    except errors.InvalidArgument:
        there_are = ", ".join(PROFILES)
        raise pytest.UsageError(
            f"there is no profile {profile!r} for --hypothesis-profile; there are {there_are}"
        ) from None


def _check_hidden(config: pytest.Config) -> None:
    """Refuses options that leave a run without a report or without tests, in particular if an environment variable sets
    these options.
    """
    for name in OWN:
        if config.pluginmanager.is_blocked(name):
            raise pytest.UsageError(
                f"-p no:{name} switches off a plugin that the report needs; "
                "remove it from the command line or from PYTEST_ADDOPTS"
            )
    on_command_line = {"--co", "--collect-only"} & {str(word) for word in config.invocation_params.args}
    if config.option.collectonly and not on_command_line:
        raise pytest.UsageError(
            "--collect-only is set in PYTEST_ADDOPTS or a settings file, so no test would run; remove it there"
        )


def load_profiles() -> None:
    """Registers the Hypothesis profiles and loads the default one. Hypothesis's own files, tables of Unicode, go to the
    user's cache folder and not to the current folder; child processes inherit this setting. Does nothing
    if Hypothesis lacks what the suite's backend needs, since the run is about to end.
    """
    if not has_providers():
        return
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(caches() / "hypothesis"))
    for name, examples in PROFILES.items():
        settings.register_profile(
            name,
            max_examples=examples,
            backend=BACKEND,
            deadline=None,
            derandomize=False,  # Hypothesis would derandomize if CI is set, and ignore the seed
            database=None,  # a run depends on its seed only; failures are kept as replay files
            report_multiple_bugs=False,
            print_blob=False,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.function_scoped_fixture,
                HealthCheck.filter_too_much,  # a framework with little support rejects many drawn programs
            ],
        )
    settings.load_profile(PROFILE)
