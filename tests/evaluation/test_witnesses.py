"""Every fresh fault is described by a sentence, violates a MUST, and is detected by its witness."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest
import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.rules.catalogue import RULES, Level
from evaluation.fresh import page
from evaluation.fresh.fault import Fault
from evaluation.fresh.sets import SETS, faults_of

FAULTS = [fault for name in SETS for fault in faults_of(name)]

every_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)


def witness_of(fault: type[Fault]) -> Callable[[Torch], Any] | None:
    """The witness of a fault: a function in the same module that drives an adapter so that the fault has an effect."""
    return vars(import_module(fault.__module__)).get(f"witness_{fault.__name__}")


def result(adapter: Torch, witness: Callable[[Torch], Any]) -> str:
    """The result of a witness as text, in which NaN equals NaN."""
    adapter.reset()
    return repr(witness(adapter))


@pytest.fixture
def restored() -> Iterator[None]:
    """Restore the grad mode and the random generator, which a fault may change."""
    mode = torch.is_grad_enabled()
    with torch.random.fork_rng(devices=[]):
        yield
    torch.set_grad_enabled(mode)


@every_fault
@pytest.mark.usefixtures("restored")
@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
def test_shows(fault: type[Fault]) -> None:
    witness = witness_of(fault)
    assert witness is not None
    assert result(Torch(), witness) != result(fault(), witness)


def test_each_is_described() -> None:
    for fault in FAULTS:
        assert witness_of(fault) is not None, fault
        assert (inspect.getdoc(fault) or "").endswith("."), fault
        assert RULES[fault.rule].level is Level.MUST, fault


def test_the_page_is_up_to_date() -> None:
    assert page.PAGE.read_text() == page.page(), "run `python -m evaluation.fresh.page`"
