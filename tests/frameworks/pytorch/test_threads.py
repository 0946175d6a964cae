"""Backward calls in threads: each runs in a separate thread, and its gradients and errors are as usual."""

from __future__ import annotations

import threading

import pytest
import torch

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.pytorch.modes.threads import TorchThreads
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Kind, Raised

PROGRAM = parse(
    "a = leaf [2, 3]; b = exp a; backward b with [1, 2] retain=True; c = grad b wrt a with [1, 1] create=True; "
    "backward b, c with [1, 1], [1, 2]; backward b with [1, 2]",
    VOCABULARY,
)


def test_gradients_and_errors_are_as_usual():
    target = InProcess(TorchThreads())
    for seen in (target.observe(PROGRAM), target.observe_printed(PROGRAM)):
        assert first_violation(PROGRAM, seen, target) is None
        *_, last = seen
        assert isinstance(last.outcome, Raised) and last.outcome.kind is Kind.GRAPH_FREED


def test_each_call_runs_in_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch):
    called: list[int] = []
    for name in ("backward", "grad"):
        real = getattr(torch.autograd, name)

        def call(*given, real=real, **named):
            called.append(threading.get_ident())
            return real(*given, **named)

        monkeypatch.setattr(torch.autograd, name, call)
    InProcess(TorchThreads()).observe(PROGRAM)
    assert len(called) == 4 and threading.get_ident() not in called
