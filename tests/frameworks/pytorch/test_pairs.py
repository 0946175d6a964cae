"""Programs inside of the context managers of two modes."""

from __future__ import annotations

import pytest
import torch

from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.failures.listing import listing
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.modes.pairs import COMPOSING, TorchTwoContexts
from autograd_conformance.frameworks.remote.codecs import dialects
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.printing.openings import chosen
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program

ADAPTER = TorchTwoContexts()
TARGET = InProcess(ADAPTER)


def program(value: int) -> Program:
    calls = "backward c with [1, 2] retain=True; d = grad c wrt a with [1, 1]"
    return parse(f"a = leaf [{value}, 3]; b = sin a; c = multiply a b; {calls}", VOCABULARY)


EACH = {chosen(made, range(len(ADAPTER.choices))): made for made in map(program, range(2_000))}
"""A program for each pair, by the pair's number."""


def test_it_is_an_adapter():
    smoke(ADAPTER)


def test_every_pair_has_a_program():
    assert len(EACH) == len(COMPOSING) * (len(COMPOSING) - 1)


@pytest.mark.parametrize("pair", EACH)
def test_two_modes_compose(pair: int):
    made = EACH[pair]
    assert violation_of(made, TARGET) is None
    assert first_violation(made, TARGET.observe_printed(made), TARGET) is None
    assert torch._C._len_torch_dispatch_stack() == torch._C._len_torch_function_stack() == 0


def test_a_script_enters_what_the_program_ran_in():
    for made in EACH.values():
        script = listing(made, TARGET)
        entered = [line.partition(" = ")[2] for line in script.splitlines() if line.startswith("around")]
        assert [each for each in entered if each] == [each.manager for each in chosen(made, ADAPTER.choices)]


def test_a_program_that_is_cut_short_keeps_its_pair():
    made = program(7)
    assert len({tuple(chosen(made.upto(count), ADAPTER.choices)) for count in range(1, len(made) + 1)}) == 1


def test_another_process_gets_the_pairs_in_order():
    form = dialects.to_json(ADAPTER.dialect)
    assert dialects.from_json(form, lambda *given: "").openings == ADAPTER.dialect.openings
