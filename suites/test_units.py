"""Regions: ops that a framework compiles or recomputes together, with writes, hooks, steps and calls around them. The
rules are those of other suites; only the programs are specific to regions.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import regions, repeated_regions

rule = pytest.mark.rule


@rule("lifetime/same-root-raises")
@given(drawn=regions.results_apart())
def test_results_apart(check, drawn: Drawn):
    check(drawn)


@rule("lifetime/traversed-only")
@given(drawn=regions.branches_apart())
def test_branches_apart(check, drawn: Drawn):
    check(drawn)


@rule("writes/aliases")
@given(drawn=regions.viewed_results())
def test_viewed_results(check, drawn: Drawn):
    check(drawn)


@rule("writes/unsaved-works")
@given(drawn=regions.unneeded_written())
def test_unneeded_written(check, drawn: Drawn):
    check(drawn)


@rule("gradients/graph")
@given(drawn=regions.inputs_given_out())
def test_inputs_given_out(check, drawn: Drawn):
    check(drawn)


@rule("writes/error-or-recorded")
@given(drawn=regions.inputs_written())
def test_inputs_written(check, drawn: Drawn):
    check(drawn)


@rule("training/loop")
@given(drawn=regions.weights_stepped())
def test_weights_stepped(check, drawn: Drawn):
    check(drawn)


@rule("sequences/history")
@given(drawn=repeated_regions.inputs_toggled())
def test_inputs_toggled(check, drawn: Drawn):
    check(drawn)


@rule("hooks/called")
@given(drawn=regions.hooked_between())
def test_hooked_between(check, drawn: Drawn):
    check(drawn)


@rule("views/shares")
@given(drawn=regions.twins())
def test_twins(check, drawn: Drawn):
    check(drawn)


@rule("gradients/form")
@given(drawn=regions.numbers_and_empties())
def test_numbers_and_empties(check, drawn: Drawn):
    check(drawn)


@rule("gradients/requires-grad")
@given(drawn=repeated_regions.called_again())
def test_called_again(check, drawn: Drawn):
    check(drawn)


@rule("errors/recovers")
@given(drawn=repeated_regions.called_after_an_error())
def test_called_after_an_error(check, drawn: Drawn):
    check(drawn)


@rule("modes/recorded")
@given(drawn=repeated_regions.modes_inside())
def test_modes_inside(check, drawn: Drawn):
    check(drawn)


@rule("writes/recorded")
@given(drawn=repeated_regions.computed_again())
def test_computed_again(check, drawn: Drawn):
    check(drawn)


@rule("networks/random")
@given(drawn=repeated_regions.masks_inside())
def test_masks_inside(check, drawn: Drawn):
    check(drawn)
