"""The entry point that pytest loads before it reads the command line. It acts in the checkout only.

Pytest looks for its settings beside the paths on the command line, before it knows the suite's options. In `pytest
--report /elsewhere`, it takes `/elsewhere` for a path of tests, and finds neither its settings nor `conftest.py` nor
the option itself. So this module joins each option to its value with `=`, and starts pytest again.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

import pytest

from autograd_conformance.package import loading
from autograd_conformance.package.places import ROOT

VALUED = frozenset(
    (
        "--framework",
        "--framework-python",
        "--fresh-process",
        "--known",
        "--update-known",
        "--confirm",
        "--report",
        "--dtype",
        "--device",
        "--patience",
        "--programs",
        "--seconds",
        "--program",
        "--skip",
        "--replay",
    )
)
"""The names of all of the suite's options, each of which has a value, as in ``--framework torch``."""

ADDED = "PYTEST_ADDOPTS"
"""The environment variable in which pytest finds further options."""

WORKER = "PYTEST_XDIST_WORKER"
"""The environment variable that pytest-xdist sets in its worker processes, whose options are joined already."""


def joined(words: Sequence[str]) -> list[str]:
    """Returns the words of a command line, with each of the suite's options joined to its value: ``--dtype float64``
    becomes ``--dtype=float64``. Words after `--` stay as they are.
    """
    out: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*out, word, *rest]
        if word in VALUED and rest and not rest[0].startswith("-"):
            word = f"{word}={rest.pop(0)}"
        out.append(word)
    return out


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Starts pytest again with joined options, if it was started in the checkout and some option was not joined."""
    config = pluginmanager.get_plugin("pytestconfig")
    if config is None or WORKER in os.environ or not _is_checkout(config):
        return
    loading.handle_signals()
    given, added = list(config.invocation_params.args), shlex.split(os.environ.get(ADDED, ""))
    words, more = joined([str(word) for word in given]), joined(added)
    if (words, more) == (given, added):
        return
    if more != added:
        os.environ[ADDED] = shlex.join(more)
    raise SystemExit(int(pytest.main(words)))


def _is_checkout(config: pytest.Config) -> bool:
    """Whether pytest was started in a checkout of the suite, which has pytest's settings and a `conftest.py`."""
    here = config.invocation_params.dir.resolve()
    return here.is_relative_to(ROOT) and (ROOT / "conftest.py").exists()
