"""Adapters with limits on ops: neither programs nor the audit exceed them. Adapters with `prepare` receive each
program.
"""

from __future__ import annotations

from typing import Any

import pytest

from autograd_conformance.checking.audit import corners
from autograd_conformance.checking.audit.programs import curvatures, forms, programs
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.checking.support.unsupported import partial_support
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import Run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.limits import Limit
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Observation, Raised
from autograd_conformance.strategies.building import alphabet
from tests.frameworks.adapters.limited import Beyond, Limited


def beyond(observation: Observation) -> list[str]:
    """Errors for ops outside of the adapter's limits."""
    outcomes = (seen.outcome for seen in observation)
    return [each.message for each in outcomes if isinstance(each, Raised) and each.type == Beyond.__name__]


def test_what_is_beyond_a_limit_is_refused_by_the_adapter():
    target = InProcess(Limited())
    assert beyond(target.observe(parse("a = leaf [1, 2]; b = leaf [[1, 2]]; c = add a b")))
    assert not beyond(target.observe(parse("a = leaf [1, 2]; b = leaf [1, 2]; c = add a b")))


@pytest.mark.parametrize("op", sorted({*Limited.limits} - {*Limited.writes} | {"subtract", "mean"}))
def test_an_op_is_audited_within_its_limit(op: str):
    target, audited = InProcess(Limited()), 0
    with alphabet.using(alphabet_of(target, ("float64",))):
        for kind in (programs(op, ("float64",)), forms(op, "float64"), curvatures(op, ("float64",)),
                     corners.programs(op, ("float64",)), corners.releases(op, "float64")):  # fmt: skip
            for program in kind:
                audited += 1
                assert not beyond(target.observe(program))
    assert audited > 10


def test_an_op_of_which_nothing_is_left_is_not_drawn():
    class Less(Limited):
        limits = {"sum": Limit(dimensions=(7,))}

    target = InProcess(Less())
    assert "sum" not in alphabet_of(target, ("float64",)).ops
    assert "sum" in alphabet_of(InProcess(Limited()), ("float64",)).ops


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        (
            "writes",
            ("mul_", "somersault_"),
            "writes names somersault_; it has to name rows of ops/inplace",
        ),
        ("writes", "mul_", "writes has to be a collection of names, each a str, not 'mul_'"),
        ("limits", {"somersault": Limit()}, "limits names somersault; it has to name ops and writes"),
        ("limits", {"sum": {"dimensions": [1]}}, "limits has to be a mapping of names of ops to ops.limits.Limit"),
    ],
)
def test_a_mistake_in_what_it_says_is_told(attribute: str, value: Any, said: str):
    adapter = Limited()
    setattr(adapter, attribute, value)
    with pytest.raises(AdapterError, match=said):
        smoke(adapter)


def test_an_adapter_that_wants_to_know_is_told_each_program_before_it_begins():
    adapter, program = Limited(), parse("a = leaf [1, 2]; b = sin a")
    Run(program, adapter)
    assert adapter.program == program


def test_what_goes_wrong_with_what_is_to_come_is_the_adapters():
    class Blind(Limited):
        def prepare(self, program: Any) -> None:
            raise ValueError("all is dark")

    with pytest.raises(AdapterError, match=r"prepare\(\) raised ValueError: all is dark"):
        Run(parse("a = leaf [1, 2]"), Blind())


def test_a_report_says_what_is_taken_in_part():
    said = partial_support(InProcess(Limited()))
    writes = ", ".join(name for name in WRITES if name in Limited.writes)
    assert said[-1] == f"writes: {writes}"
    assert "sum: keepdim False; 0 or 1 or 2 dimensions" in said
    assert "tanh: not empty" in said and "add: operands of one shape" in said
    assert not partial_support(InProcess(Torch()))
