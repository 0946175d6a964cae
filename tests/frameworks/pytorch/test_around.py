"""Programs inside of context managers, and with a subclass of the tensor: they are entered, they are left, and scripts
print them.
"""

from __future__ import annotations

import pytest
import torch
import torch._dynamo.compiled_autograd
from torch.autograd import forward_ad

from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.failures.listing import assemble
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.modes import around
from autograd_conformance.frameworks.pytorch.modes.around import TorchAround, TorchSubclass
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Raised, Returned

MODES = [each for each in vars(around).values() if isinstance(each, type) and getattr(each, "surroundings", ())]
PROGRAM = parse(
    "a = leaf [2, 3]; b = exp a; c = multiply a b; backward c with [1, 2] retain=True; d = grad c wrt a with [1, 1]",
    VOCABULARY,
)
WRITTEN = parse("a = leaf [1, 2]; b = exp a; c = sin b; write b mul_ a; backward c with [1, 1]", VOCABULARY)
each_mode = pytest.mark.parametrize("adapter", [*MODES, TorchSubclass], ids=lambda each: each.name)


@each_mode
def test_it_is_an_adapter(adapter: type[TorchAround]):
    smoke(adapter())


@each_mode
def test_gradients_are_as_usual(adapter: type[TorchAround]):
    target = InProcess(adapter())
    assert violation_of(PROGRAM, target) is None
    printed = target.observe_printed(PROGRAM)
    assert first_violation(PROGRAM, printed, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in printed)


@each_mode
def test_a_script_runs(adapter: type[TorchAround]):
    dialect = adapter().dialect
    script = assemble(PROGRAM, dialect, code(PROGRAM, dialect))
    names: dict[str, object] = {}
    try:
        exec(script, names)
    finally:
        for name in reversed([name for name in names if name.startswith("around")]):
            names[name].__exit__(None, None, None)  # type: ignore[attr-defined]
    assert all(each.manager in script for each in getattr(adapter, "surroundings", ()))


def state() -> tuple[object, ...]:
    """The modes of PyTorch that the context managers change."""
    return (
        torch.is_anomaly_enabled(),
        torch._C._is_multithreading_enabled(),
        torch._C._len_torch_dispatch_stack(),
        torch._C._len_torch_function_stack(),
        torch._C._autograd._saved_tensors_hooks_get_disabled_error_message(),
        torch._C._autograd._top_saved_tensors_default_hooks(False),
        torch.are_deterministic_algorithms_enabled(),
        forward_ad._current_level,
        torch._dynamo.compiled_autograd.compiled_autograd_enabled,
    )


UNSEEN = (around.TorchInferenceOff, around.TorchAutocastOff)
"""Modes that are switched off again inside, so that PyTorch's state is as without them."""


@pytest.mark.parametrize("adapter", [each for each in MODES if each not in UNSEEN], ids=lambda each: each.name)
def test_a_mode_lasts_as_long_as_a_program(adapter: type[TorchAround], monkeypatch: pytest.MonkeyPatch):
    before, within = state(), []
    apply = adapter.apply
    monkeypatch.setattr(adapter, "apply", lambda self, *given: within.append(state()) or apply(self, *given))
    InProcess(adapter()).observe(PROGRAM)
    assert within and all(seen != before for seen in within)
    assert state() == before


KEEPS = (around.TorchAllowMutation, around.TorchSavedClones, around.TorchSavedArrays, around.TorchSavedFiles)
"""Modes that keep saved values by copies, so that a write to a saved tensor changes no gradient."""

WITHOUT_VERSIONS = (around.TorchSavedSame, around.TorchSaveOnCpu)
"""Modes that keep saved tensors themselves, without their versions, so that a write changes gradients: a known
difference.
"""


@pytest.mark.parametrize("adapter", MODES, ids=lambda each: each.name)
def test_what_keeps_saved_values_records_them_and_the_rest_raises(adapter: type[TorchAround]):
    last = InProcess(adapter()).observe(WRITTEN)[-1].outcome
    keeps = adapter in KEEPS
    assert isinstance(last, Returned if keeps or adapter in WITHOUT_VERSIONS else Raised)
    assert (violation_of(WRITTEN, InProcess(adapter())) is None) == (adapter not in WITHOUT_VERSIONS)
