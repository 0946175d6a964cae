"""Optimizers: the steps of each, and what is done to gradients before and after them."""

from __future__ import annotations

import pytest
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.situations import accumulation, optimizers
from hypothesis import given, settings
from hypothesis import strategies as st

rule = pytest.mark.rule

FEW = max(12, settings().max_examples // 3)
"""Programs for one optimizer: there are five of them."""

each = pytest.mark.parametrize("name", OPTIMIZERS)


@rule("optimizers/formula")
@each
@settings(max_examples=FEW)
@given(data=st.data())
def test_formula(check, name: str, data: st.DataObject):
    check(data.draw(optimizers.steps(name)))


@rule("optimizers/remembers")
@each
@settings(max_examples=FEW)
@given(data=st.data())
def test_remembers(check, name: str, data: st.DataObject):
    check(data.draw(optimizers.remembered(name)))


@rule("optimizers/skips")
@given(program=optimizers.skipped())
def test_skips(check, program: Program):
    check(program)


@rule("optimizers/groups")
@given(program=optimizers.grouped())
def test_groups(check, program: Program):
    check(program)


@rule("optimizers/keeps-gradients")
@given(program=optimizers.kept_gradients())
def test_keeps_gradients(check, program: Program):
    check(program)


@rule("optimizers/clears")
@given(program=optimizers.cleared())
def test_clears(check, program: Program):
    check(program)


@rule("optimizers/clips")
@given(program=optimizers.clipped())
def test_clips(check, program: Program):
    check(program)


@rule("optimizers/formula")
@given(program=optimizers.laid_out())
def test_laid_out(check, program: Program):
    check(program)


@rule("optimizers/formula")
@given(program=accumulation.clipped_gradients())
def test_changed_gradients(check, program: Program):
    check(program)


@rule("optimizers/variants")
@given(program=optimizers.varied())
def test_variants(check, program: Program):
    check(program)
