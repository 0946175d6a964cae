"""The probe: a property that cannot be read, or a leaf that reads back differently, is not a failure."""

from __future__ import annotations

import pytest

from autograd_conformance.checking.check import Check
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.frameworks.loading.registry import AdapterError, load
from autograd_conformance.frameworks.probing.probe import NOTHING_MISSING, probe
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.command import served
from autograd_conformance.frameworks.target import InProcess, open_target
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.rows.shapes import FORMS, form
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Returned
from autograd_conformance.strategies.building.unsupported import UnsupportedShape

BLAMED = "tests.frameworks.adapters.blamed"

LOOKS = {
    "NoMemory": (Capability.MEMORY, "memory() raised RuntimeError: there is no storage to look at"),
    "NoStrides": (Capability.LAYOUT, "strides() raised RuntimeError: there is no storage to look at"),
    "NoIdentity": (Capability.IDENTITY, "identity() raised RuntimeError: there is no storage to look at"),
    "NoFlag": (Capability.REQUIRES_GRAD, "requires_grad() raised RuntimeError: there is no storage to look at"),
}


@pytest.mark.parametrize("name", LOOKS)
def test_what_cannot_be_looked_at_is_a_capability_that_is_missing(name: str):
    target = open_target(f"{BLAMED}:{name}")
    capability, said = LOOKS[name]
    assert capability not in target.capabilities
    assert said in target.notes[0]
    check = Check(target)
    check(parse("a = leaf [1, 2]; b = exp a; backward b with [1, 1]; backward b with [1, 1]", VOCABULARY))
    assert not list(check.remarks.lines())


def test_a_look_that_fails_later_is_no_failure_and_noted_once():
    target = open_target(f"{BLAMED}:BlindLater")
    assert target.capabilities == InProcess(load(f"{BLAMED}:BlindLater")).capabilities
    program = parse("a = leaf [[1, 2, 3], [4, 5, 6], [7, 8, 9]]; b = exp a", VOCABULARY)
    assert isinstance(target.observe(program)[1].outcome, Returned)
    check = Check(target)
    check(program)
    check(program)
    (said,) = check.remarks.lines()
    assert said.startswith(
        "In 2 programs the adapter could not read something, which was not judged: requires_grad() raised"
    )


FORMED = {"NumbersAreVectors": {"numbers"}, "NoEmpty": {"tensors without elements"}, "NoMatrices": {"matrices"}}


@pytest.mark.parametrize("name", FORMED)
def test_leaves_that_do_not_read_back_are_never_drawn(name: str):
    target = open_target(f"{BLAMED}:{name}")
    assert target.absent == FORMED[name]
    (absent,) = target.absent
    shape = FORMS[absent]
    assert not alphabet_of(target, target.dtypes).admits(shape)
    numbers = {(): "1", (0,): "(0,) []", (2, 2): "[[1, 2], [3, 4]]"}[shape]
    program = parse(f"a = leaf {numbers}; b = exp a", VOCABULARY)
    assert unsupported_by(program, target) == {absent}
    with pytest.raises(UnsupportedShape, match=absent):
        Check(target)(program)
    assert f"leaves that are {absent} are not drawn" in target.notes[0]


def test_a_dtype_that_leaves_do_not_keep_is_not_there():
    target = open_target(f"{BLAMED}:SinglesAreDoubles")
    assert list(target.dtypes) == ["float64"]
    assert "a float32 leaf of shape (2,) reads back as float64: programs in float32 are not drawn" in target.notes[0]


def test_what_an_adapter_insists_on_is_judged():
    with pytest.raises(AdapterError, match=r"dtype\(\) of a float32 leaf gave 'float64', not 'float32'"):
        smoke(load(f"{BLAMED}:Insists"))
    assert not open_target(f"{BLAMED}:InsistsOnNumbers").absent


def test_an_adapter_insists_on_nothing_else():
    adapter = load(f"{BLAMED}:Insists")
    adapter.insists = ("everything",)  # type: ignore[attr-defined]
    with pytest.raises(AdapterError, match="insists has to be a collection of some of errors, float"):
        smoke(adapter)


def test_pytorch_has_it_all():
    assert probe(Torch()) == NOTHING_MISSING


def test_every_form_is_its_own():
    assert {name: form(shape) for name, shape in FORMS.items()} == {name: name for name in FORMS}


@pytest.mark.slow
def test_the_same_is_found_over_the_wire():
    for name in ("NumbersAreVectors", "NoMemory", "SinglesAreDoubles"):
        here, there = open_target(f"{BLAMED}:{name}"), open_target(served(f"{BLAMED}:{name}", None, 1000))
        assert isinstance(there, Remote)
        assert (there.absent, there.capabilities) == (here.absent, here.capabilities)
        assert list(there.dtypes) == list(here.dtypes)
        assert there.notes
