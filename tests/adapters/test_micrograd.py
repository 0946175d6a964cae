"""The second worked example: micrograd as published, with its known differences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import is_known, read
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reporting.analysis.differences import entries
from autograd_conformance.reporting.analysis.summary import summarize
from examples.micrograd_adapter import OPS, Micrograd
from tests.plugin.test_cli import ROOT, run

MICROGRAD = InProcess(Micrograd())
FRAMEWORK, KNOWN = "examples.micrograd_adapter:Micrograd", ROOT / "examples" / "micrograd.toml"
ENTRIES = read(KNOWN)


def test_it_is_an_adapter():
    smoke(Micrograd())
    with pytest.raises(ValueError, match="CPU only"):
        Micrograd("cuda")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.rule)
def test_each_difference_shows_in_its_witness_and_in_micrograd_alone(entry):
    violation = violation_of(entry.witness, MICROGRAD)
    assert violation is not None
    assert violation.rule == entry.rule
    assert is_known(entry, entry.witness, violation)


ONCE = "a = leaf 3; b = negative a; c = multiply b b; "


@pytest.mark.parametrize(
    "text",
    [
        f"{ONCE} backward c",
        f"{ONCE} backward c; d = multiply a a; backward d",  # the leaf adds up what two graphs contribute
        f"{ONCE} d = leaf 2; backward c; zero a to zeros; backward d",
    ],
)
def test_it_is_right_where_nothing_is_gone_through_twice(text: str):
    assert violation_of(parse(text, VOCABULARY), MICROGRAD) is None


class Wrong(Micrograd):
    """A fault at first calls: the gradient of a product is that of a sum."""

    def apply(self, op, operands, attrs):
        (made,) = super().apply(op, operands, attrs)
        if op == "multiply":
            one, other = operands

            def backward() -> None:
                one.grad += made.grad
                other.grad += made.grad

            made._backward = backward
        return (made,)


@pytest.mark.parametrize("text", [f"{ONCE} backward c", f"{ONCE} backward c; d = multiply a a; backward d"])
def test_what_is_known_excuses_no_other_fault(text: str):
    program, target = parse(text, VOCABULARY), InProcess(Wrong())
    excused = first_violation(
        program, target.observe(program), target, lambda v: any(is_known(e, program, v) for e in ENTRIES)
    )
    assert excused is not None


def test_what_is_left_in_inner_values_is_named():
    violation = violation_of(parse(f"{ONCE} backward c; backward c", VOCABULARY), MICROGRAD)
    assert violation is not None
    assert violation.rule == "gradients/graph"
    assert "kept the gradients of earlier calls" in str(violation.diagnosis)


@pytest.mark.slow
def test_every_op_is_right_by_itself(tmp_path: Path):
    tests = [f"suites/test_gradients.py::test_op_samples[{op}]" for op in OPS]
    seen = run(tmp_path, *tests, f"--known={KNOWN}", framework=FRAMEWORK)
    assert seen.code == 0, seen.output
    verdicts = {each.op: each.verdict for each in summarize(seen.report).ops if each.op in OPS}
    assert verdicts == dict.fromkeys(OPS, "pass")


@pytest.mark.slow
def test_the_guide_says_what_becomes_of_it(tmp_path: Path):
    seen = run(tmp_path, "--hypothesis-seed=1", f"--known={KNOWN}", framework=FRAMEWORK)
    assert seen.code == 0, seen.output
    (quoted,) = re.findall(r"^CONFORMANT WITH .*", (ROOT / "docs" / "adapter.md").read_text(), flags=re.MULTILINE)
    assert quoted in " ".join(seen.output.split())
    assert not any(difference.stale for difference in entries(seen.report))
