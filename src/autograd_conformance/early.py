"""What pytest loads of the suite before it reads the command line: an entry point, which acts in the checkout alone.

Pytest looks for its settings where the paths of a command line lie, before it knows the suite's options: a path that
stands after one of them as a word of its own is a place of tests to it, and in `pytest --report /elsewhere` it would
find no settings, no `conftest.py` and so not the option itself. So each option is joined to its value, and pytest
begins again with that.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

import pytest

from autograd_conformance.places import ROOT

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
        "--replay",
    )
)
"""The suite's options, which all take a value."""

ADDED = "PYTEST_ADDOPTS"
"""The variable that holds more words of the command line."""

WORKER = "PYTEST_XDIST_WORKER"
"""The variable that only workers have, whose words were joined by whoever started them."""


def joined(words: Sequence[str]) -> list[str]:
    """The words of a command line, each of the suite's options in one word with its value; nothing after `--`."""
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
    """In the checkout, begin again with joined options where there is anything to join."""
    config = pluginmanager.get_plugin("pytestconfig")
    if config is None or WORKER in os.environ or not _is_checkout(config):
        return
    given, added = list(config.invocation_params.args), shlex.split(os.environ.get(ADDED, ""))
    words, more = joined([str(word) for word in given]), joined(added)
    if (words, more) == (given, added):
        return
    if more != added:
        os.environ[ADDED] = shlex.join(more)
    raise SystemExit(int(pytest.main(words)))


def _is_checkout(config: pytest.Config) -> bool:
    """Whether pytest was started in the suite's checkout, where its settings lie."""
    here = config.invocation_params.dir.resolve()
    return here.is_relative_to(ROOT) and (ROOT / "conftest.py").exists()
