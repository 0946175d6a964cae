"""Corpus: programs that once found a fault in some framework. Each is run unchanged, before anything is drawn."""

from __future__ import annotations

import pytest

from autograd_conformance.checking.corpus import CorpusProgram, corpus
from autograd_conformance.checking.skips import NotApplicable
from autograd_conformance.checking.support.unsupported import unsupported_by

rule = pytest.mark.rule
ENTRIES = [pytest.param(entry, marks=rule(entry.rule), id=entry.name) for entry in corpus()]


@pytest.mark.parametrize("entry", ENTRIES)
def test_corpus(check, entry: CorpusProgram):
    missing = unsupported_by(entry.program, check.target)
    if missing:
        raise NotApplicable(f"needs {', '.join(sorted(missing))}")
    check(entry.program)
