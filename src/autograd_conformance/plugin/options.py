"""The options of a run: the suite's own among pytest's, which of pytest's are refused, and Hypothesis's profiles."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, errors, settings

from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.frameworks.entry_points import frameworks
from autograd_conformance.frameworks.environment.caches import caches
from autograd_conformance.processes.journal import TIMEOUT
from autograd_conformance.programs.language import DTYPES

PROFILES = {"quick": 60, "standard": 600, "thorough": 60_000}
"""Programs per rule; each op by itself gets a tenth."""

PROFILE = "quick"
"""The profile of a run that does not name one."""


CONFIRMS = 20
"""How many failures each process runs again alone, where `--confirm` does not say it: each takes some seconds."""


def add_options(parser: pytest.Parser) -> None:
    """Tell pytest of the suite's options."""
    group = parser.getgroup(
        "conformance",
        "autograd conformance (--hypothesis-profile: quick, the default, standard or thorough; --strict: a broken "
        "SHOULD rule, and a known difference that is seen no longer, fail the run)",
    )
    names = ", ".join(frameworks())
    group.addoption(
        "--framework",
        default="torch",
        metavar="NAME",
        help=f"what to test: {names}, your own adapter as package.module:factory, or 'remote: COMMAND' for a program "
        "that speaks the protocol of docs/protocol.md (default: torch)",
    )
    group.addoption(
        "--framework-python",
        metavar="PATH",
        help="the interpreter of another environment, with NumPy and the framework, in which the adapter is served",
    )
    group.addoption(
        "--fresh-process",
        type=_number,
        metavar="N",
        help="run the framework in a process of its own, and start another one after every N programs",
    )
    group.addoption(
        "--known",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a TOML file of differences that are known and fail no run (default: those that come with the suite; may "
        "be given several times)",
    )
    group.addoption(
        "--update-known",
        type=Path,
        metavar="FILE",
        help="add what is broken to a file of known differences, with a witness and the tightest limits",
    )
    group.addoption(
        "--confirm",
        type=_count,
        default=CONFIRMS,
        metavar="N",
        help="how many failures each process runs again, alone, in a process of their own, to say whether that "
        f"reproduces them (default: {CONFIRMS}; 0: none)",
    )
    group.addoption("--report", default="report", metavar="DIR", help="where the report goes (default: report)")
    group.addoption(
        "--dtype", choices=[*DTYPES, "both"], default="both", help="the dtype that programs compute in (default: both)"
    )
    group.addoption(
        "--device",
        default="cpu",
        metavar="DEVICE",
        help="handed to the adapter's factory; PyTorch's take any device of PyTorch, and package.module:device where a "
        "module has to be imported for it (default: cpu)",
    )
    group.addoption(
        "--patience",
        type=_seconds,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"how long one program may take before it counts as a timeout (default: {TIMEOUT:g})",
    )
    group.addoption(
        "--programs",
        type=_number,
        metavar="N",
        help="at most about so many programs in the whole run, shared out among the rules (default: the profile's)",
    )
    group.addoption(
        "--seconds",
        type=_seconds,
        metavar="S",
        help="how long the whole run may take, its audit and report included (default: as long as the profile takes)",
    )
    group.addoption(
        "--replay",
        action="append",
        default=[],
        metavar="FILE",
        help="run a program file again: exit 0 fixed, 1 still failing, 4 cannot run (may be given several times)",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds


def _number(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not number:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return number


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
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
"""Pytest's options that need its memory of earlier runs, by the names of their values."""


OWN = ("recorder", "progress", "workers")
"""The names under which the suite's own plugins of a run are registered: without one there is no report, or no end."""


def check_options(config: pytest.Config) -> None:
    """Refuse what pytest would take and then not do, or take as an error of its own."""
    _check_hidden(config)
    if getattr(config.option, "dist", "no") == "each":
        raise pytest.UsageError(
            "--dist=each runs every test in each process and would count its programs several times; "
            "use -n N, which shares the tests out"
        )
    if not config.pluginmanager.has_plugin("cacheprovider"):
        for name, option in REMEMBERING.items():
            if getattr(config.option, name, None):
                raise pytest.UsageError(
                    f"{option} cannot work: nothing is remembered from one run to the next; "
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
    """Refuse what leaves a run without report or without tests, most of all where an environment variable asks for it
    and nobody sees that.
    """
    for name in OWN:
        if config.pluginmanager.is_blocked(name):
            raise pytest.UsageError(
                f"-p no:{name} switches off a part of the suite without which there is no report; "
                "leave it out, here or in PYTEST_ADDOPTS"
            )
    asked = {"--co", "--collect-only"} & {str(word) for word in config.invocation_params.args}
    if config.option.collectonly and not asked:
        raise pytest.UsageError("PYTEST_ADDOPTS, or a file of settings, says --collect-only: no test would be run")


def load_profiles() -> None:
    """Tell Hypothesis of the profiles, and use the one of runs that name none; what it keeps, which is tables of
    Unicode, goes to the user's caches, for this process and those that it starts, and not into the current folder.
    """
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(caches() / "hypothesis"))
    for name, examples in PROFILES.items():
        settings.register_profile(
            name,
            max_examples=examples,
            backend=BACKEND,
            deadline=None,
            derandomize=False,  # Hypothesis would derandomize where CI is set, and the seed would say nothing
            database=None,  # a run is determined by its seed; failures are kept as replay files
            report_multiple_bugs=False,
            print_blob=False,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.function_scoped_fixture,
                HealthCheck.filter_too_much,  # a framework that lacks much gets fewer of the programs that are drawn
            ],
        )
    settings.load_profile(PROFILE)
