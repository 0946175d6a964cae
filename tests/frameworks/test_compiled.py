"""Variations of compiled PyTorch: symbolic sizes, and nothing kept between programs."""

from __future__ import annotations

import pytest

from autograd_conformance.frameworks.pytorch.compiled import TorchCompileAotDynamic, TorchCompileAotFresh
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.harness.check import judged
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.text import parse

PROGRAM = parse("a = leaf [1, 2]; b = square a; c = sin b; backward c with [1, 2]", VOCABULARY)


@pytest.mark.parametrize("make", [TorchCompileAotDynamic, TorchCompileAotFresh])
def test_what_pytorch_does_is_right_as_called_and_as_printed(make):
    target = InProcess(make())
    for seen in (target.observe(PROGRAM), target.observe_printed(PROGRAM)):
        assert judged(PROGRAM, seen, target) is None
    assert ("dynamic=True" in target.dialect.unit_head) == (make is TorchCompileAotDynamic)


def test_other_sizes_need_no_other_code_where_sizes_are_symbols():
    compiled = []
    adapter = TorchCompileAotDynamic()
    made = adapter.made
    adapter.made = lambda function: compiled.append(function) or made(function)
    target = InProcess(adapter)
    longer = parse("a = leaf [1, 2, 3]; b = square a; c = sin b; backward c with [1, 2, 3]", VOCABULARY)
    assert judged(PROGRAM, target.observe(PROGRAM), target) is None
    assert judged(longer, target.observe(longer), target) is None
    assert len(compiled) == 1


def test_a_fresh_compiler_forgets_between_programs():
    adapter = TorchCompileAotFresh()
    target = InProcess(adapter)
    target.observe(PROGRAM)
    assert adapter.function.cache_info().currsize == 1
    adapter.reset()
    assert adapter.function.cache_info().currsize == 0


def test_the_nearest_variation_keeps_sizes_numbers():
    assert [*TorchCompileAotDynamic().plainer()] == [
        "without dynamic=True", "with backend='eager'", "without torch.compile",
    ]  # fmt: skip
    assert [*TorchCompileAotFresh().plainer()] == ["without torch.compile"]
