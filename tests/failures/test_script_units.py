"""The script of a failure in a region: functions and their calls, as a user writes them; and the variation that
passes.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import pytest

from autograd_conformance.checking.check import first_violation
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.evidence.votes import votes
from autograd_conformance.failures.listing import listing
from autograd_conformance.failures.script import script
from autograd_conformance.failures.variations.nearest import nearest
from autograd_conformance.frameworks.pytorch.modes.checkpoints import TorchCheckpoint
from autograd_conformance.frameworks.pytorch.modes.compiled import TorchCompileAot
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions
from autograd_conformance.frameworks.running.printed import run_printed
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse

OVERWRITTEN = "a = leaf [0]; b = sigmoid a; c = leaf [2]; write b exp_; d = multiply b c; backward d with [1]"
"""A checkpoint of its computations gives a wrong gradient, without an error."""


def case(text: str, adapter: TorchRegions) -> Case:
    program, target = parse(text, VOCABULARY), InProcess(adapter)
    observation = target.observe(program)
    violation = first_violation(program, observation, target)
    assert violation is not None
    return Case(program, observation, violation, target)


def printed(code: str) -> list[str]:
    out = io.StringIO()
    with redirect_stdout(out):
        exec(code, {})
    return out.getvalue().splitlines()


def test_a_function_follows_the_leaves_that_it_takes() -> None:
    lines = [line.split("  #")[0].rstrip() for line in script(case(OVERWRITTEN, TorchCheckpoint())).splitlines()]
    at = lines.index("def compute(a, c):")
    assert lines[at - 3].startswith("a = ") and lines[at - 2].startswith("c = ")
    assert lines[at + 1 : at + 7] == [
        "    b = torch.sigmoid(a)",
        "    b.exp_()",
        "    d = b * c",
        "    return (d,)",
        "",
        "(d,) = checkpoint(compute, a, c, use_reentrant=False)",
    ]


def test_the_script_shows_what_is_wrong() -> None:
    got, due = printed(script(case(OVERWRITTEN, TorchCheckpoint())))
    assert got.startswith("a.grad is") and due.startswith("it has to be")
    assert "0.82436" in due and "0.82436" not in got


def test_what_passes_names_the_layer() -> None:
    assert nearest(case(OVERWRITTEN, TorchCheckpoint())) == "passes without the checkpoint"
    walked = "a = leaf [1, 2] const; b = leaf [3, 4]; write a mul_ b; backward a with [1, 1]"
    assert nearest(case(walked, TorchCompileAot())) == "passes with backend='eager'"


def test_the_printed_code_does_what_the_adapter_does() -> None:
    made = case(OVERWRITTEN, TorchCheckpoint())
    observation = run_printed(made.program, TorchCheckpoint())
    again = first_violation(made.program, observation, made.target)
    assert again is not None and again.rule == made.violation.rule


@pytest.mark.parametrize("adapter", [TorchRegions, TorchCheckpoint])
def test_equal_functions_are_defined_once(adapter: type[TorchRegions]) -> None:
    once = "a = leaf [1, 2]; b = square a; backward b with [1, 1]"
    text = f"{once}; c = leaf [3, 4]; d = square c; backward d with [1, 1]"
    code = listing(parse(text, VOCABULARY), InProcess(adapter()))
    assert code.count("def compute") == 1 and code.count("compute") == 3
    printed(code)


def test_a_function_is_under_the_modes_of_all_its_lines() -> None:
    text = "a = leaf [1, 2]; no_grad: b = square a; no_grad: c = sin b; d = multiply a c; no_grad: e = exp d"
    code = listing(parse(text, VOCABULARY), InProcess(TorchRegions()))
    assert code.count("with torch.no_grad(): ") == 3
    printed(code)


LAST = "a = leaf [[[[1.5, 2]], [[2.5, 3]]]]; b = batch_norm a eps=1.0; {}backward c with [[[[3.5], [4]], [[4.5], [5]]]]"
"""PyTorch reads a gradient in channels-last layout in the wrong order."""


def test_what_a_unit_gives_out_is_voted_on() -> None:
    cast = votes(case(LAST.format("c = permute_dims b dims=(0,3,1,2); "), TorchCheckpoint()))
    assert cast is not None and "agree with JAX: the gradient is wrong" in cast.decision


def test_finite_differences_do_not_guess_what_stays_within_a_unit() -> None:
    text = LAST.format("d = detach b; e = add b d; c = permute_dims e dims=(0,3,1,2); ")
    cast = votes(case(text, TorchCheckpoint()))
    assert cast is None or cast.finite_differences == "not available"
