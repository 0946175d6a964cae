"""Invalid return values of an adapter: the message names the method, and never the framework."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from autograd_conformance.frameworks.loading.registry import AdapterError, load
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.running.runner import run as observed
from autograd_conformance.ops.catalogue import CUT, VOCABULARY
from autograd_conformance.programs.formats import observation_codec
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind, Raised, undecided_error
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judge import judge
from examples import tiny
from examples.tiny_adapter import Tiny

ANSWERING = "tests.frameworks.adapters.answering"

PROGRAMS = [
    parse(text, VOCABULARY)
    for text in (
        "a = leaf [1, 2]; b = exp a; c = sin b; d = add b c; backward d with [1, 1]",
        "a = leaf f32 [1, 2]; b = exp a; backward b with f32 [1, 1]",
        "a = leaf [1, 2]; b = leaf [3, 4]; c = add a b; backward c with [1, 1]",
        "a = leaf [1, 2]; b = exp a; backward b with [1, 1]; c = exp a; backward c with [1, 1]; d = sin a; "
        "backward d with [1, 1]",
        "a = leaf [[1, 2], [3, 4]]; b = exp a; backward b with [[1, 1], [1, 1]]; c = exp a; "
        "backward c with [[1, 1], [1, 1]]",
    )
]
PLAIN, TYPED = "not a plain NumPy array of float64", "not an array of float64, as dtype() says"

REFUSED = {
    "Masked": f"read() gave a MaskedArray, {PLAIN}",
    "Subclass": f"read() gave a Units, {PLAIN}",
    "Records": f"read() gave a recarray, {PLAIN}",
    "Wide": "read() gave an array of float64, not an array of float32, as dtype() says",
    "Narrow": f"read() gave an array of float32, {TYPED}",
    "Half": f"read() gave an array of float16, {TYPED}",
    "Long": f"read() gave an array of float128, {TYPED}",
    "Complex": f"read() gave an array of complex128, {TYPED}",
    "Whole": f"read() gave an array of int64, {TYPED}",
    "Truths": f"read() gave an array of bool, {TYPED}",
    "Objects": f"read() gave an array of object, {TYPED}",
    "Texts": f"read() gave an array of <U32, {TYPED}",
    "Spans": f"read() gave an array of timedelta64[s], {TYPED}",
    "Fields": f"read() gave an array of [('x', '<f8')], {TYPED}",
    "Convertible": "read() gave <tests.frameworks.adapters.answering.Interface object at",
    "Memory": "read() gave <memory at",
    "NamesShort": "dtype() gave what it may not: 'f8' is a short name; that dtype is called 'float64'",
    "NamesModule": "dtype() gave what it may not: 'numpy.float64' is not the name of a dtype, like 'float64'",
    "NamesBlank": "dtype() gave what it may not: 'float64 ' is not the name of a dtype",
    "One": "identity() gave 1 for two different gradients, [",
    "IsTrue": "identity() gave True, not an int or None",
    "IsNumPyTrue": "identity() gave np.True_, not an int or None",
    "Counts": "for the same gradient; it has to give one number, or None if there is none",
    "Dtype": "for two different gradients, [",
    "Fraction": ", not an int or None",
    "Dimensions": "identity() gave 1 for two different gradients, [",
    "Wraps": " for two different gradients, [",
    "OneLater": "identity() gave 1 for two different gradients, [",
    "ReadsView": "read() gave memory that changed later (it now holds [",
    "ReadsLater": "read() gave memory that changed later (it now holds [",
    "ReadsMatrices": "read() gave memory that changed later (it now holds [[",
    "ReadsBuffer": "read() gave memory that changed later (it now holds [",
    "ReadsRing": "read() gave memory that changed later (it now holds [",
}


def used(adapter):
    smoke(adapter)
    for _ in range(20):
        [observed(program, adapter) for program in PROGRAMS]


@pytest.mark.parametrize("name", REFUSED)
def test_the_method_is_named(name):
    adapter = load(f"{ANSWERING}:{name}")
    with pytest.raises(AdapterError, match=re.escape(REFUSED[name])) as caught:
        used(adapter)
    assert str(caught.value).startswith("tiny: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["BigEndian", "Fortran", "Reversed", "Numbers", "Frozen", "Immutable", "Growing"])
def test_what_is_unusual_and_right_is_taken(name):
    adapter = load(f"{ANSWERING}:{name}")
    smoke(adapter)
    for program in PROGRAMS:
        seen = observed(program, adapter)
        assert judge(program, seen, Reference(program), adapter.capabilities).violation is None


@pytest.mark.parametrize(("name", "rule"), [("Foreign", "gradients/form"), ("Shares", "accumulation/own-object")])
def test_a_fault_of_the_framework_stays_its_own(name, rule):
    adapter, broken = load(f"{ANSWERING}:{name}"), set()
    smoke(adapter)
    for program in PROGRAMS:
        violation = judge(program, observed(program, adapter), Reference(program), adapter.capabilities).violation
        broken.add(violation and violation.rule)
    assert broken - {None} == {rule}


class Unstacks(Tiny):
    """Has `unstack`, and a `sum` that adds nothing up."""

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op == "sum":
            return super().apply("negative", operands, Attrs())
        return tuple(map(tiny.Tensor, operands[0].data)) if op == "unstack" else super().apply(op, operands, attrs)


def test_a_value_of_a_wrong_shape_that_is_cut_into_more_parts_is_at_fault():
    program = parse("a = leaf [[1, 2], [3, 4]]; b = sum a dim=(0,) keepdim=True; c = unstack b dim=0", VOCABULARY)
    seen = observed(program, Unstacks())
    violation = judge(program, seen, Reference(program), Unstacks.capabilities).violation
    assert violation is not None
    assert (violation.rule, violation.at) == ("gradients/forward", 1)
    assert undecided_error(*seen) == Raised(Kind.UNDECIDED, "OtherCount", "apply('unstack') gave 2 results, not 1")


def test_a_runner_in_another_language_may_cut_a_value_of_a_wrong_shape_into_more_parts():
    text = "a = leaf [[1, 2], [3, 4]]; b = sum a dim=(0,) keepdim=True; c = unstack b dim=0; d = exp c; backward d"
    program = parse(f"{text} with [1, 1]", VOCABULARY)
    seen = observed(program, Unstacks())
    form = observation_codec.to_json(seen)
    part = form[1]["returned"][0]
    form[2:] = [{"returned": [part, part]}, {"returned": [part]}, {"returned": [], "gradients": {"%0": None}}]
    assert repr(observation_codec.from_json(form, program, CUT)) == repr(tuple(seen))
    with pytest.raises(observation_codec.MalformedObservation, match="instruction 2: it returned 2 results, not 1"):
        observation_codec.from_json(form, program)
    form[2] = {"returned": []}
    with pytest.raises(observation_codec.MalformedObservation, match="instruction 2: it returned 0 results, not 1"):
        observation_codec.from_json(form, program, CUT)


def test_a_framework_that_fails_in_some_op_passes_the_smoke_test(monkeypatch: pytest.MonkeyPatch):
    def fails(*operands: tiny.Tensor, **attributes: object) -> tiny.Tensor:
        raise RuntimeError("it is broken")

    monkeypatch.setattr(tiny, "sin", fails)
    smoke(Tiny())
    for op in Tiny.ops:
        monkeypatch.setattr(tiny, op, fails)
    with pytest.raises(AdapterError, match=r"apply\('sin'\) raised RuntimeError: it is broken"):
        smoke(Tiny())
