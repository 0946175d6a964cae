"""Variations: one change each, sound programs all, and nothing else is changed."""

from __future__ import annotations

import warnings

import pytest

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.runner import run
from autograd_conformance.harness.failures.variations import variations
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Raised, Returned
from autograd_conformance.programs.text import parse, render

A = "a = leaf [1, 2]; b = square a; s = sum b dim=(0,) keepdim=False"
PROGRAMS = (
    f"{A}; backward s; backward s",
    f"{A}; c = exp b; no_grad: write b mul_ a; t = sum c dim=(0,) keepdim=False; no_grad: enable_grad: backward t",
    f"{A}; k = hook b scale 2.0; l = hook a observe; g, h = grad s wrt a, b create=True; unhook k; drop b; i = exp g",
    f"{A}; retain b; requires a False; backward s inputs a with 3; zero a; step a sgd lr=0.5; held a",
    f"c = leaf f32 [0, 1] const; no_grad: d = clone c; drop d; {A}; detach_ b; backward s",
)


def changed(text: str) -> dict[str, Program]:
    """The variations of a program by their phrases."""
    return dict(variations(parse(text)))


@pytest.mark.parametrize("text", PROGRAMS)
def test_variations_can_be_written_and_run(text: str):
    program = parse(text)
    found = list(variations(program))
    assert len({phrase for phrase, _ in found}) == len(found) > 3
    for phrase, variation in found:
        assert variation != program
        assert parse(render(variation)) == variation
        assert abs(len(variation) - len(program)) <= 1, phrase
        with warnings.catch_warnings(action="ignore"):
            run(variation, Torch())


def test_a_line_is_left_out_with_nothing_else_changed():
    found = changed(
        f"{A}; no_grad: write b mul_ a; k = hook a observe; l = hook a raise; enable_grad: unhook k; backward s"
    )
    assert found["without line 4"] == parse(
        f"{A}; k = hook a observe; l = hook a raise; enable_grad: unhook k; backward s"
    )
    assert found["without line 6"] == parse(
        f"{A}; no_grad: write b mul_ a; k = hook a observe; enable_grad: unhook k; backward s"
    )
    assert "without line 5" not in found
    assert "without line 8" not in found


def test_a_write_goes_to_a_clone():
    text = "a = leaf [1, 2]; b = square a; no_grad: write b zero_; c = exp b; enable_grad: backward c with [1, 1]"
    clone = changed(text)["with a clone before the write on line 3"]
    assert clone == parse(
        """a = leaf [1, 2]; b = square a; d = clone b; no_grad: write d zero_; c = exp d
        enable_grad: backward c with [1, 1]"""
    )
    plain = changed("a = leaf [1, 2]; write a zero_; c = exp a")["with a clone before the write on line 2"]
    assert plain == parse("a = leaf [1, 2]; d = clone a; write d zero_; c = exp d")
    assert isinstance(run(parse("a = leaf [1, 2]; write a zero_"), Torch())[1].outcome, Raised)
    assert isinstance(run(plain, Torch())[2].outcome, Returned)


def test_a_grad_mode_is_taken_away():
    found = changed("a = leaf [1, 2]; no_grad: enable_grad: b = exp a; no_grad: c = exp b; d = exp c")
    assert found["without the grad mode on line 2"] == parse(
        "a = leaf [1, 2]; b = exp a; no_grad: c = exp b; d = exp c"
    )
    assert "without the grad mode on line 4" not in found


def test_what_is_dropped_is_not_used_instead():
    found = changed("a = leaf [1, 2]; b = exp a; drop a; c = exp b; backward c with [1, 1]")
    assert "without the op on line 2" not in found
    assert "without line 3" in found
