"""Origins of errors: any part of the adapter's code, its framework, or unknown."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import pytest

from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.counts.remarks import Remarks
from autograd_conformance.frameworks.blame.blame import Origin, blame
from autograd_conformance.frameworks.environment import interrupts
from autograd_conformance.frameworks.loading.registry import AdapterError, load
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Kind, Raised

BLAMED = "tests.frameworks.adapters.blamed"
EXP = parse("a = leaf [1, 2]; b = exp a; c = sum b dim=(0,) keepdim=False; backward c", VOCABULARY)
TWICE = parse("a = leaf [1, 2]; b = exp a; backward b with [1, 1]; backward b with [1, 1]", VOCABULARY)

ADAPTERS = {
    "InHelper": "apply('exp') raised KeyError: 'axis' (blamed.py, line ",
    "InComprehension": "apply('exp') raised KeyError: 'exp' (blamed.py, line ",
    "InGenerator": "apply('exp') raised ZeroDivisionError: division by zero (blamed.py, line ",
    "OfTable": "apply('exp') raised TypeError: 'NoneType' object is not callable (blamed.py, line ",
    "OfText": "apply('exp') raised ValueError: invalid literal for int()",
    "OfNumPy": "apply('exp') raised ValueError: cannot reshape array of size 3",
    "OfKeyword": "apply('exp') raised TypeError: _scale() got an unexpected keyword argument 'off'",
    "OfIndex": "apply('exp') raised IndexError: list index out of range (blamed.py, line ",
    "OfNothing": "apply('exp') raised TypeError: object of type 'NoneType' has no len()",
    "Asserts": "apply('exp') raised AssertionError: who asked for that? (blamed.py, line ",
    "InClosure": "apply('exp') raised KeyError: 'exp' (blamed.py, line ",
    "InHook": "gradient() raised ZeroDivisionError",
    "OfBase": "apply('exp') raised NotImplementedError",
}


@pytest.mark.parametrize("name", ADAPTERS)
def test_what_fails_before_the_framework_was_called_is_the_adapters(name: str):
    adapter = load(f"{BLAMED}:{name}")
    smoke(adapter)
    with pytest.raises(AdapterError, match=re.escape(f"tiny: {ADAPTERS[name]}")):
        run(EXP, adapter)


OUTCOMES = {
    "WrongKeyword": (Kind.UNDECIDED, "apply('exp'): exp() got an unexpected keyword argument 'axis' (blamed.py, line "),
    "TooMany": (Kind.UNDECIDED, "apply('exp'): exp() takes 1 positional argument but 2 were given (blamed.py, line "),
    "RaisesItself": (Kind.UNDECIDED, "apply('exp'): status 7 (blamed.py, line "),
    "OfOperator": (Kind.UNKNOWN, "unsupported operand type(s) for @"),
    "OfAttribute": (Kind.UNKNOWN, "'Tensor' object has no attribute 'exponential'"),
    "OfIteration": (Kind.UNKNOWN, "'Tensor' object is not iterable"),
    "OfConversion": (Kind.UNKNOWN, "float() argument must be a string or a real number"),
    "TheirClass": (Kind.NO_GRAD, "said so"),
    "Beside": (Kind.UNKNOWN, "freed"),
    "Declared": (Kind.UNKNOWN, "it cannot be done"),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_what_the_framework_raised_is_an_outcome_and_what_nobody_can_tell_says_so(name: str):
    seen = run(EXP, load(f"{BLAMED}:{name}"))[1].outcome
    assert isinstance(seen, Raised)
    kind, said = OUTCOMES[name]
    assert seen.kind is kind, seen
    assert seen.message.startswith(said), seen


def test_what_an_adapter_passes_on_is_its_frameworks():
    seen = run(TWICE, load(f"{BLAMED}:Translates"))[-1].outcome
    assert isinstance(seen, Raised)
    assert (seen.kind, seen.type) == (Kind.UNKNOWN, "LookupError")


def test_what_nobody_can_tell_breaks_no_rule_and_is_noted():
    check = Check(InProcess(load(f"{BLAMED}:RaisesItself")))
    check(EXP)
    assert not check.exercised["gradients/graph"]
    (said,) = check.remarks.lines()
    assert "an error may be the framework's or the adapter's: RuntimeError: apply('exp')" in said


def test_an_error_of_a_compiled_call_is_the_frameworks():
    torch = pytest.importorskip("torch")
    adapter = Torch()
    for call in (
        lambda: torch.ones(3).reshape(2, 2),
        lambda: adapter.apply("reshape", [torch.ones(3)], (("shape", (2, 2)),)),
        lambda: adapter.apply("matmul", [torch.ones(3), torch.ones(4)], ()),
    ):
        with pytest.raises(RuntimeError) as error:
            call()
        assert blame(error.value, adapter).origin is Origin.FRAMEWORK


# -- errors that the adapter does not know -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["KnowsNothing", "KnowsHalf"])
def test_a_call_that_was_refused_by_an_error_that_nobody_knows_is_a_note(name: str):
    check, refused = (
        Check(InProcess(load(f"{BLAMED}:{name}"))),
        parse("a = leaf [1, 2]; b = exp a; backward b; backward b with [1, 1]; backward b with [1, 1]", VOCABULARY),
    )
    check(refused)
    said = list(check.remarks.lines())
    assert len(said) == (2 if name == "KnowsNothing" else 1)
    assert "1 call had to raise an error (non-scalar root)" in said[0]
    assert (
        'add to classify(): `if "a cotangent can only be left out for a root of one element" in str(error): ' in said[0]
    )
    assert said[0].endswith("return Kind.NON_SCALAR_ROOT`")
    assert check.exercised["errors/non-scalar-root"] == 1


def test_numbers_and_shapes_are_left_out_of_what_is_noted():
    check = Check(InProcess(load(f"{BLAMED}:KnowsNothing")))
    for count in (1, 3):
        numbers = ", ".join("1" * count)
        check(parse(f"a = leaf [1, 2]; b = exp a; backward b with [{numbers}]", VOCABULARY))
    ((refusal, times),) = check.remarks.refusals.items()
    assert (refusal.message, times) == ("a cotangent of shape # for a root of shape #", 2)


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("RefusesAll", "a = leaf [1, 2]; b = exp a; backward b with [1, 1]", "errors/legal-returns"),
        ("NeverRefuses", "a = leaf [1]; b = exp a; backward b; backward b", "lifetime/same-root-raises"),
    ],
)
def test_a_call_that_has_to_return_or_does_is_judged_all_the_same(name: str, text: str, rule: str):
    with pytest.raises(RuleViolated) as broken:
        Check(InProcess(load(f"{BLAMED}:{name}")))(parse(text, VOCABULARY))
    assert broken.value.violation.rule == rule


def test_what_an_adapter_insists_on_knowing_is_judged():
    with pytest.raises(RuleViolated) as broken:
        Check(InProcess(load("tests.frameworks.adapters.misbehaving:Asserts")))(TWICE)
    assert broken.value.violation.rule == "lifetime/same-root-raises"


ACCIDENTS = ["Recurses", "Exits", "Closes", "Stops"]


@pytest.mark.parametrize("name", ACCIDENTS)
def test_an_accident_is_no_refusal(name: str):
    interrupts.watch()  # else a KeyboardInterrupt is the user's
    adapter = load(f"tests.frameworks.adapters.misbehaving:{name}")
    adapter.insists = ()  # type: ignore[attr-defined]
    with pytest.raises(RuleViolated) as broken:
        Check(InProcess(adapter))(TWICE)
    assert broken.value.violation.rule == "lifetime/same-root-raises"


@pytest.mark.parametrize(("name", "advised"), [("SaysOneThing", False), ("SaysOneThingRightly", True)])
def test_no_line_is_advised_for_an_error_that_legal_calls_raise(name: str, advised: bool):
    check = Check(InProcess(load(f"tests.frameworks.adapters.ending:{name}")))
    check(parse("a = leaf [1, 2] const; b = multiply a a; backward b with [1, 1]", VOCABULARY))
    with suppress(RuleViolated):
        check(parse("a = leaf 2; b = exp a; backward b", VOCABULARY))
    remarks = Remarks.from_json(json.loads(json.dumps(check.remarks.to_json())))
    (said,) = remarks.lines()
    assert "1 call had to raise an error (no grad)" in said
    assert ("add to classify(): " in said) == advised
    assert ("Legal calls raise it, too" in said) != advised
