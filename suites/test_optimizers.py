"""Optimizers: their steps, and clearing, clipping and assigning of gradients before and after the steps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_conformance.checking.audit import optimizer_steps
from autograd_conformance.checking.check import Check
from autograd_conformance.checking.session import FrameworkUnderTest
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import accumulation, optimizers

rule = pytest.mark.rule

FEW = max(12, settings().max_examples // 3)
"""Number of programs that a test draws for each of the five optimizers."""

each = pytest.mark.parametrize("name", OPTIMIZERS)


@rule("optimizers/formula")
@each
@settings(max_examples=FEW)
@given(data=st.data())
def test_formula(check, name: str, data: st.DataObject):
    check(data.draw(optimizers.steps(name)))


@rule("optimizers/formula")
@each
def test_settings(check: Check, prepared: FrameworkUnderTest, name: str):
    for program in optimizer_steps.programs(name, prepared.drawable):
        check(program)


@rule("optimizers/finite")
@each
def test_finite(check: Check, prepared: FrameworkUnderTest, name: str):
    for program in optimizer_steps.small(name, prepared.drawable):
        check(program)


@rule("optimizers/remembers")
@each
@settings(max_examples=FEW)
@given(data=st.data())
def test_remembers(check, name: str, data: st.DataObject):
    check(data.draw(optimizers.remembered(name)))


@rule("optimizers/skips")
@given(drawn=optimizers.skipped())
def test_skips(check, drawn: Drawn):
    check(drawn)


@rule("optimizers/groups")
@given(drawn=optimizers.grouped())
def test_groups(check, drawn: Drawn):
    check(drawn)


@rule("optimizers/keeps-gradients")
@given(drawn=optimizers.kept_gradients())
def test_keeps_gradients(check, drawn: Drawn):
    check(drawn)


@rule("optimizers/clears")
@given(drawn=optimizers.cleared())
def test_clears(check, drawn: Drawn):
    check(drawn)


@rule("optimizers/clips")
@given(drawn=optimizers.clipped())
def test_clips(check, drawn: Drawn):
    check(drawn)


@rule("optimizers/formula")
@given(drawn=optimizers.layouts())
def test_laid_out(check, drawn: Drawn):
    check(drawn)


@rule("optimizers/formula")
@given(drawn=accumulation.clipped_gradients())
def test_changed_gradients(check, drawn: Drawn):
    check(drawn)


@rule("optimizers/variants")
@given(drawn=optimizers.varied())
def test_variants(check, drawn: Drawn):
    check(drawn)
