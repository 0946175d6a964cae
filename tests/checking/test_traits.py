"""Traits of a framework decide which programs it gets, and which of the allowed outcomes it has to give."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograd_conformance.checking.check import violation_of
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.checking.session.records import header
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences.file import shipped
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability, Traits, needs
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Ref
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reporting.analysis.summary import summarize
from tests.frameworks.adapters import copying, overwriting, unusable, zeros
from tests.plugin.test_cli import run

ADAPTERS = "tests.frameworks.adapters.zeros"
ZEROS = InProcess(zeros.Zeros())
SECOND = "a = leaf [1, 2]; b = sin a; backward b with [1, 1] retain=True; backward b with [1, 1]"
UNREACHED = "a = leaf [1, 2]; z = leaf [3, 4]; b = sin a; backward b with [1, 1]"
CONSTANT = "a = leaf [1, 2]; z = leaf [3, 4] const; b = multiply a z; backward b with [1, 1]"
CLEARED = "a = leaf [1, 2]; z = leaf [3]; zero z to zeros; b = sin a; backward b with [1, 1]; zero a to zeros"


def broken(text: str, target: InProcess) -> str | None:
    found = violation_of(parse(text, VOCABULARY), target)
    return None if found is None else found.rule


CLEARED_CONSTANT = "a = leaf [1, 2]; z = leaf [3, 4] const; b = multiply a z; backward b with [1, 1]; zero z to zeros"


@pytest.mark.parametrize("text", [SECOND, UNREACHED, CONSTANT, CLEARED, CLEARED_CONSTANT])
def test_zeros_are_a_beginning(text: str):
    assert broken(text, ZEROS) is None
    assert broken(text, InProcess(zeros.Everywhere())) is None


@pytest.mark.parametrize(
    ("text", "framework", "rule"),
    [
        (UNREACHED, zeros.Loses(), "accumulation/unreached"),
        (UNREACHED, zeros.Ones(), "gradients/op"),
        (SECOND, zeros.Overwrites(), "accumulation/adds"),
        (UNREACHED, zeros.Unsaid(), "accumulation/unreached"),
    ],
)
def test_everything_else_is_judged(text: str, framework: zeros.Zeros, rule: str):
    assert broken(text, InProcess(framework)) == rule


ASSIGNED = "a = leaf [1, 2]; b = sin a; g = leaf [3, 4] const; assign a g; backward b with [1, 1]; "


@pytest.mark.parametrize(
    "text",
    [
        f"{ASSIGNED}c = detach g",
        f"{ASSIGNED}h = held a",
        "a = leaf [1, 2]; assign a a; backward a with [1, 1]; b = multiply a a",
        "a = leaf [1, 2]; b = square a; g = grad b wrt a with [1, 1] create=True; assign a g; c = held a; d = sin c",
    ],
)
def test_what_is_assigned_is_copied_where_a_trait_says_so(text: str):
    assert broken(text, InProcess(copying.Copying())) is None
    assert broken(text, InProcess(Torch())) is None
    assert broken(f"{text}; zero a to zeros; e = held a", InProcess(copying.Copying())) is None


@pytest.mark.parametrize("text", [f"{ASSIGNED}c = detach g", f"{ASSIGNED}h = held a; i = multiply h g"])
def test_a_copy_is_told_from_the_very_tensor(text: str):
    assert broken(text, InProcess(copying.Unsaid())) is not None


def test_what_is_expected_where_nothing_was_observed():
    program = parse("a = leaf [1, 2]; c = leaf [1, 2] const; b = sin a", VOCABULARY)
    reference = Reference(program, Traits(begins_with_zeros=True))
    assert [None if g is None else g.tolist() for g in map(reference.grad, map(Ref, range(3)))] == [[0, 0], None, None]
    assert reference.empty().traits.begins_with_zeros
    assert Reference(program).grad(Ref(0)) is None


@pytest.mark.parametrize(
    ("framework", "said"),
    [
        (zeros.Unsaid(), "declare traits = Traits(begins_with_zeros=True)"),
        (zeros.Untrue(), "gradient() of a fresh leaf is None, though traits say begins_with_zeros"),
        (
            zeros.Ones(),
            "gradient() of a fresh leaf gave array([1., 1.]), not None (also for a placeholder), or zeros of its shape",
        ),
        (zeros.Placeholder(), "it is the gradient of a fresh leaf, 'none yet': gradient() has to return None there"),
        (unusable.Scalar(), "declare traits = Traits(scalars=True)"),
        (unusable.Traitless(), "traits has to be a programs.capabilities.Traits, not {'scalars': True}"),
        (unusable.Sourceless(), "trait_sources has to be a mapping of some of begins_with_zeros, "),
    ],
)
def test_the_smoke_test_names_the_trait(framework: zeros.Zeros, said: str):
    with pytest.raises(AdapterError) as raised:
        smoke(framework)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_only_what_differs_from_pytorch_is_named():
    assert Traits().named == ()
    assert Traits(scalars=True, begins_with_zeros=True).named == ("scalars", "begins with zeros")


def test_the_header_says_where_a_trait_is_documented():
    framework = header(FrameworkUnderTest(Settings("torch-checkpoint")), 1, "quick", 1).framework
    assert framework.traits == tuple(source.title for source in framework.trait_sources) == ("recomputes",)
    assert framework.trait_sources[0].where.startswith("https://docs.pytorch.org/")
    assert header(FrameworkUnderTest(Settings("torch")), 1, "quick", 1).framework.trait_sources == ()


def test_no_gradient_is_assigned_where_none_can_be_held():
    assert Capability.ZERO_TO_NONE in needs(parse("a = leaf [1]; assign a none", VOCABULARY))


@pytest.mark.slow
def test_a_framework_that_begins_with_zeros_can_be_conformant(tmp_path: Path):
    suites = ("suites/test_accumulation.py", "suites/test_lifetime.py")
    seen = run(tmp_path, *suites, "--hypothesis-seed=1", framework=f"{ADAPTERS}:Zeros")
    assert seen.code == 0, seen.output
    assert seen.report.header.framework.traits == ("begins with zeros",)
    verdicts = {each.rule.rule: each.verdict for each in summarize(seen.report).rules}
    for rule in ("first", "adds", "unreached", "zero-to-zeros", "constant"):
        assert verdicts[f"accumulation/{rule}"] == "pass"
    assert verdicts["accumulation/zero-to-none"] == "not applicable"


@pytest.mark.slow
def test_so_can_one_that_does_everything_else_as_pytorch(tmp_path: Path):
    suites = [f"suites/test_{name}.py" for name in ("accumulation", "optimizers", "hooks", "functional", "training")]
    known = f"--known={shipped('torch')}"  # below, it is PyTorch
    seen = run(tmp_path, *suites, known, "--hypothesis-seed=1", framework=f"{ADAPTERS}:TorchZeros")
    assert seen.code == 0, seen.output
    verdicts = {each.rule.rule: each.verdict for each in summarize(seen.report).rules}
    assert verdicts["optimizers/formula"] == verdicts["accumulation/assigned"] == "pass"
    assert verdicts["optimizers/skips"] == verdicts["accumulation/zero-to-none"] == "not applicable"


TWICE = "a = leaf [1, 2]; b = sin a; backward b with [1, 1] retain=True; backward b with [3, 4]"
ELSEWHERE = "a = leaf [1, 2]; z = leaf [3, 4]; b = sin a; backward b with [1, 1]; c = sin z; backward c with [1, 1]"
USED = "a = leaf [1, 2]; b = sin a; backward b with [1, 1]; c = exp a; z = leaf [3]; d = sin z; backward d with [1]"


@pytest.mark.parametrize(
    ("text", "framework", "rule"),
    [
        (TWICE, overwriting.Replaces(), None),
        (TWICE, overwriting.Adds(), "gradients/op"),
        (TWICE, overwriting.Tiny(), None),
        (ELSEWHERE, overwriting.Replaces(), None),
        (USED, overwriting.Replaces(), None),
        (USED, overwriting.Forgets(), None),
        (USED, overwriting.Unsaid(), "accumulation/unreached"),
        (USED, overwriting.ForgetsNothing(), "accumulation/unreached"),
    ],
)
def test_what_a_call_finds_in_a_leaf(text: str, framework: overwriting.Tiny, rule: str | None):
    assert broken(text, InProcess(framework)) == rule


def test_an_implicit_cotangent():
    assert [Traits().implies(shape) for shape in ((), (1, 1), (2,))] == [True, True, False]
    assert [Traits(implicit_ones=True).implies(shape) for shape in ((), (1, 1), (2,), (0,))] == [True] * 4
    assert [Traits(implicit_for_numbers=True).implies(shape) for shape in ((), (1, 1), (2,))] == [True, False, False]
