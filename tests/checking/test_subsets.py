"""Any subset of the example gets a verdict; `python -m tests.checking.subsets` runs hundreds."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_conformance.frameworks.loading.registry import AdapterError, load
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.plugin.options import PROFILE
from autograd_conformance.strategies.building.unsupported import UnsupportedShape
from tests.frameworks.adapters.subsets import Subset
from tests.plugin.test_cli import ROOT

ADAPTERS = "tests.frameworks.adapters.subsets"


@pytest.mark.parametrize("number", range(100))
def test_the_smoke_test_refuses_what_it_has_to_in_one_sentence(number: int):
    subset = Subset.drawn(2, number)
    adapter = load(f"{ADAPTERS}:Subset_2_{number}")
    assert (frozenset(subset.ops), subset.capabilities) == (adapter.ops, adapter.capabilities)
    if subset.usable:
        smoke(adapter)
        return
    with pytest.raises(AdapterError) as raised:
        smoke(adapter)
    assert "\n" not in str(raised.value)


def test_some_of_them_are_refused():
    usable = [Subset.drawn(2, number).usable for number in range(100)]
    assert 0.8 < sum(usable) / len(usable) < 1


def test_that_most_draws_do_not_fit_ends_no_test():
    drawn: list[int] = []

    @settings(settings.get_profile(PROFILE), max_examples=20)
    @given(number=st.integers(0, 99))
    def body(number: int) -> None:
        if number < 95:
            raise UnsupportedShape("it needs more than most frameworks have")
        drawn.append(number)

    body()
    assert drawn


@pytest.mark.slow
def test_every_part_comes_to_a_verdict():
    words = [sys.executable, "-m", "tests.checking.subsets", "--count", "10", "--seed", "3"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("10 parts in ")
