"""Variants of compiled PyTorch: symbolic sizes, and no reuse between programs."""

from __future__ import annotations

import pytest
import torch

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.pytorch.modes.compiled import (
    TorchCompileAotDynamic,
    TorchCompileAotFresh,
    TorchCompileAotSteps,
)
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.formats.text import parse

PROGRAM = parse("a = leaf [1, 2]; b = square a; c = sin b; backward c with [1, 2]", VOCABULARY)


STEPPED = "a = leaf f32 [1, 2]; b = square a; c = sin b; backward c with [1, 2] retain=True; step a adam lr=0.5"
"""A training step."""


@pytest.mark.parametrize("make", [TorchCompileAotDynamic, TorchCompileAotFresh])
def test_what_pytorch_does_is_right_as_called_and_as_printed(make):
    target = InProcess(make())
    for seen in (target.observe(PROGRAM), target.observe_printed(PROGRAM)):
        assert first_violation(PROGRAM, seen, target) is None
    assert ("dynamic=True" in target.dialect.unit_head) == (make is TorchCompileAotDynamic)


def test_other_sizes_need_no_other_code_where_sizes_are_symbols():
    compiled = []
    adapter = TorchCompileAotDynamic()
    made = adapter.made
    adapter.made = lambda function: compiled.append(function) or made(function)
    target = InProcess(adapter)
    longer = parse("a = leaf [1, 2, 3]; b = square a; c = sin b; backward c with [1, 2, 3]", VOCABULARY)
    assert first_violation(PROGRAM, target.observe(PROGRAM), target) is None
    assert first_violation(longer, target.observe(longer), target) is None
    assert len(compiled) == 1


def test_a_fresh_compiler_forgets_between_programs():
    adapter = TorchCompileAotFresh()
    target = InProcess(adapter)
    target.observe(PROGRAM)
    assert adapter.function.cache_info().currsize == 1
    adapter.reset()
    assert adapter.function.cache_info().currsize == 0


def test_the_nearest_variation_keeps_sizes_numbers():
    assert [*TorchCompileAotDynamic().simpler_modes()] == [
        "without dynamic=True", "with backend='eager'", "without torch.compile",
    ]  # fmt: skip
    assert [*TorchCompileAotFresh().simpler_modes()] == ["without torch.compile"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "behind", ["", "; step a adam lr=0.5", "; backward c with [1, 2]", "; d = sin a; backward d with [1, 2]"]
)
def test_a_compiled_step_does_what_a_step_does_as_called_and_as_printed(behind: str):
    program, target = parse(f"{STEPPED}; {behind}", VOCABULARY), InProcess(TorchCompileAotSteps())
    for seen in (target.observe(program), target.observe_printed(program)):
        assert first_violation(program, seen, target) is None


@pytest.mark.slow
def test_steps_are_compiled_as_called_and_as_printed(monkeypatch: pytest.MonkeyPatch):
    compiled: list[object] = []
    compile = torch.compile
    monkeypatch.setattr(torch, "compile", lambda made, **more: compiled.append(made) or compile(made, **more))
    target = InProcess(TorchCompileAotSteps())
    program = parse(f"{STEPPED}; step a adam lr=0.5", VOCABULARY)
    target.observe(program)
    assert sum(getattr(each, "__name__", "") == "step" for each in compiled) == 2
    assert "torch.compile(adam5.step, backend='aot_eager')()" in " ".join(code(program, target.dialect))


def test_a_step_that_is_compiled_is_the_first_thing_left_away():
    assert [*TorchCompileAotSteps().simpler_modes()] == [
        "without a compiled step", "with backend='eager'", "without torch.compile",
    ]  # fmt: skip
