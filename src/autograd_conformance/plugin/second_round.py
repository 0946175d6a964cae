"""Runs the tests that the budget cut short again, in the time and with the programs that the other tests left.

Each test has a share of the budget before it begins, when nobody knows how much the later ones will need. Tests that
fail, or that find nothing to draw, leave most of theirs. A test runs again from its beginning, with the same programs
and more of them.
"""

from __future__ import annotations

import math
import time

import pytest

from autograd_conformance.checking.budget import Share
from autograd_conformance.plugin.pytest_internals import run_again
from autograd_conformance.plugin.stash import BUDGET, CUT, LIMITS, PLANNED, SESSION, SHARE

EXPLAINING = 0.4
"""Part of the time that is left to explaining failures, if this process only counted some."""

LEAST = 1.0
"""Number of seconds below which there is no second round."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Runs tests again before the last test of this process, after which the fixtures of the session end."""
    if nextitem is None and BUDGET in item.config.stash:
        _run_cut_tests(item)


def _run_cut_tests(last: pytest.Item) -> None:
    """Runs the tests again that were cut short, those first whose rules were tested least; each gets the same part of
    what is left, and so does the last test.
    """
    config = last.config
    budget, process = config.stash[BUDGET], config.stash[SESSION].process
    seconds = config.stash[LIMITS].seconds_left()
    now = time.monotonic()
    until = math.inf if seconds is None else now + seconds * (1 - EXPLAINING * process.has_counted)
    cut = sorted(config.stash.get(CUT, {}).items(), key=lambda each: each[1])
    for number, (item, before) in enumerate(cut):
        left, sharers = until - time.monotonic(), len(cut) - number + 1
        if left < LEAST or last.session.shouldstop or last.session.shouldfail:
            break
        share = Share(budget.left / sharers, time.monotonic() + left / sharers)
        if not before.comes_farther(share):
            continue
        item.stash[SHARE] = share
        if PLANNED in item.stash:
            del item.stash[PLANNED]  # it counts as ended already
        run_again(item, last)
