"""Exported regions: programs run through the modules, which are exported once for operands of the same form."""

from __future__ import annotations

import pytest
import torch

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.pytorch.modes import exported
from autograd_conformance.frameworks.pytorch.modes.exported import TorchExport
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Returned

PROGRAM = parse(
    "a = leaf [[2, 1], [0.5, 3]]; b = leaf f32 [1, 2]; c = multiply a b; d = detach c; no_grad: e = exp c; "
    "write c mul_scalar_ scalar=0.5; f = add c e; g = multiply f d; "
    "backward g with [[1, 2], [3, 4]] retain=True; h = grad g wrt a with [[1, 0], [0, 1]] create=True; "
    "backward h with [[1, 0], [0, 1]]",
    VOCABULARY,
)


def test_programs_run_through_exported_modules(monkeypatch: pytest.MonkeyPatch):
    exports: list[torch.nn.Module] = []
    export = torch.export.export
    monkeypatch.setattr(
        exported.NAMES["torch"].export,
        "export",
        lambda *given, **named: exports.append(given[0]) or export(*given, **named),
    )
    target = InProcess(TorchExport())
    for seen in (target.observe(PROGRAM), target.observe(PROGRAM), target.observe_printed(PROGRAM)):
        assert first_violation(PROGRAM, seen, target) is None
        assert all(isinstance(each.outcome, Returned) for each in seen)
    assert len(exports) == 2  # once for both calls of the adapter, once for the printed code


def test_what_draws_random_numbers_is_in_no_region():
    program = parse("a = leaf [1, 2]; b = dropout_mask a p=0.5 seed=0; c = multiply a b", VOCABULARY)
    assert [TorchExport().holds(program, at, ()) for at in (1, 2)] == [False, True]
