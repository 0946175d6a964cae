"""Random ops: numbers from the framework's generator are observed, and all other values must follow from them."""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import networks

rule = pytest.mark.rule


@rule("networks/random")
@given(drawn=networks.dropouts())
def test_dropout(check, drawn: Drawn):
    check(drawn)


@rule("networks/random")
@given(drawn=networks.noisy())
def test_noise(check, drawn: Drawn):
    check(drawn)
