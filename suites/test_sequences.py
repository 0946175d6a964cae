"""Sequences: programs in which instructions of every kind follow each other in any order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.crossing import crossed
from autograd_conformance.strategies.sequences import histories, sequences

rule = pytest.mark.rule

MANY = 3 * settings().max_examples
"""Number of programs; three times as many as in a usual test, because sequences have the most instructions to combine.
"""


@rule("sequences/history")
@settings(max_examples=MANY)
@given(drawn=sequences())
def test_history(check, drawn: Drawn):
    check(drawn)


@rule("sequences/history")
@settings(max_examples=MANY)
@given(drawn=histories())
def test_one_value(check, drawn: Drawn):
    check(drawn)


@rule("sequences/history")
@settings(max_examples=MANY)
@given(drawn=crossed())
def test_crossed(check, drawn: Drawn):
    check(drawn)
