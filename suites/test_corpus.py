"""Corpus: programs that found something in some framework once. Each is run as it stands, before anything is drawn."""

from __future__ import annotations

import pytest

from autograd_conformance.checking.corpus import Find, corpus
from autograd_conformance.checking.skips import NotApplicable
from autograd_conformance.checking.unsupported import lacking

rule = pytest.mark.rule
FINDS = [pytest.param(find, marks=rule(find.rule), id=find.name) for find in corpus()]


@pytest.mark.parametrize("find", FINDS)
def test_corpus(check, find: Find):
    missing = lacking(find.program, check.target)
    if missing:
        raise NotApplicable(f"needs {', '.join(sorted(missing))}")
    check(find.program)
