"""The journal of a process that died, whatever programs it ran before."""

from __future__ import annotations

import faulthandler
from pathlib import Path

import pytest

from autograd_conformance.processes.journal import Journal, pop, read
from autograd_conformance.programs.formats.text import parse

LONG = parse("a = leaf [1, 2]\nb = sin a\nbackward b with [1, 1]")
SHORT = parse("a = leaf [1, 2]")


@pytest.fixture
def journal(tmp_path: Path):
    made = Journal(tmp_path, "main")
    yield made
    faulthandler.cancel_dump_traceback_later()


def test_the_newest_program_is_read_behind_a_longer_one(journal: Journal):
    journal.begin("test_a", "gradients/op", "sin")
    journal.write(LONG)
    journal.begin("b", "lifetime/retained", None)
    journal.write(SHORT)
    entry = pop(journal.path.parent, "main")
    assert entry is not None
    assert (entry.test, entry.rule, entry.op, entry.program) == ("b", "lifetime/retained", None, SHORT)
    assert not entry.timed_out
    assert read(journal.path.parent, "main") is None


def test_nothing_runs_between_two_tests(journal: Journal):
    journal.begin("test_a", "gradients/op", "sin")
    journal.write(LONG)
    journal.end()
    assert read(journal.path.parent, "main") is None
