"""What has no part in a failure goes: lines, detours, options, modes; what has one stays, and so does the rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.harness.check import Broken, judged
from autograd_conformance.harness.failures import reduce
from autograd_conformance.harness.failures.reduce import reduced
from autograd_conformance.harness.known import Known
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.text import parse, render


class Forgets(Torch):
    """The second backward call of a program does nothing."""

    def reset(self) -> None:
        super().reset()
        self.walked = 0

    def backward(
        self, roots: Sequence[torch.Tensor], cotangents: Sequence[np.ndarray | None], keep: bool | None, **more: Any
    ) -> None:
        self.walked += 1
        if self.walked == 2:
            return
        super().backward(roots, cotangents, keep, **more)


FRAMEWORK = Forgets()
CORE = "a = leaf [1.5, 2]\nbackward a with [2.5, 3]\nbackward a with [3.5, 4]"


def broken(text: str) -> Broken:
    program = parse(text, VOCABULARY)
    observation = run(program, FRAMEWORK)
    violation = judged(program, observation, InProcess(FRAMEWORK))
    assert violation is not None
    return Broken(program, observation, violation, InProcess(FRAMEWORK))


LONG = """a = leaf [1, 2]
u = leaf [3, 4]
v = sin u
no_grad: w = add v u
b = sin a
c = negative b
d = detach u
backward c with [1, 1] retain=True
no_grad: backward c with [1, 1] retain=True
x = multiply u u
backward x with [1, 1]"""


def test_what_has_no_part_goes() -> None:
    found = reduced(broken(LONG))
    assert render(found.program) == CORE
    assert found.violation.rule == "accumulation/adds"
    assert found.violation.at == 2
    assert len(found.observation) == 3


def test_nothing_that_fails_otherwise_takes_its_place() -> None:
    failure = broken(LONG)
    entry = Known("accumulation/adds", None, "a reason", failure.program, elements=2, any_value=True)
    assert reduced(failure, [entry]).program == failure.program


def test_the_work_is_bounded() -> None:
    runs: list[object] = []
    failure = broken(LONG)
    failure.target = InProcess(FRAMEWORK, runs.append)
    reduced(failure, tries=5)
    assert 0 < len(runs) <= 5 + 3


def test_two_related_programs_stay_as_they_are() -> None:
    failure = broken(LONG)
    failure.related = object()  # type: ignore[assignment]
    assert reduced(failure) is failure


def test_digits_that_have_no_part_go(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reduce, "MANY", 0)
    text = "a = leaf [1.0221, 2.0442]\nbackward a with [1.375, -3.125]\nbackward a with [0.625, 1.25]"
    small = reduced(broken(text))
    assert render(small.program) == "a = leaf [1, 2]\nbackward a with [1, -3]\nbackward a with [1, 1]"


def test_digits_that_have_a_part_stay(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reduce, "MANY", 0)
    text = "a = leaf [0.25, 0.375]\nb = sin a\nbackward b with [0.25, 0.25]\nbackward a with [0.125, 0.125]"
    assert "0.125" in render(reduced(broken(text)).program)
