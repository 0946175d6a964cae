"""The table of the dtypes in which PyTorch's ops compute under autocast."""

from __future__ import annotations

from itertools import islice

import pytest

from autograd_conformance.checking.audit.programs import forms
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.frameworks.pytorch.autocast import AUTOCAST
from autograd_conformance.programs.dtypes import OF_OPERANDS
from autograd_conformance.programs.language import Apply, Program
from autograd_conformance.programs.observations import Returned
from autograd_conformance.strategies.building import alphabet

FORMS = 24
"""Largest number of shapes and attributes of an op that are tried."""


@pytest.mark.parametrize("op", sorted(op for op, dtype in AUTOCAST.items() if dtype == OF_OPERANDS))
def test_an_op_that_no_list_names_computes_as_without_autocast(op: str) -> None:
    """It calls no listed function, whatever its shapes and attributes are."""
    framework = FrameworkUnderTest(Settings("torch"))
    with alphabet.using(framework.alphabet):
        for program in islice(forms(op, "bfloat16"), FORMS):
            plain = Program(tuple(program.instructions[:-1]))
            at = next(k for k, step in enumerate(plain) if isinstance(step, Apply) and step.op == op)
            under = Program(plain.instructions, tuple(("autocast",) if k == at else () for k in range(len(plain))))
            one, other = (framework.target.observe(each)[at].outcome for each in (plain, under))
            if isinstance(one, Returned) and isinstance(other, Returned):
                dtypes = [[value and value.dtype for value in outcome.values] for outcome in (one, other)]
                assert dtypes[0] == dtypes[1], program[at]
