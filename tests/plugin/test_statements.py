"""A framework's description is the same in every process of a run, or the run ends with the difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograd_conformance.failures.confirmation.fresh_process import Request, run_in_subprocess
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.descriptions import Description, describe_difference
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.limits import Limit
from autograd_conformance.programs.capabilities import Capability, Traits
from examples.tiny_adapter import Tiny
from tests.plugin.test_cli import ONE, SINE, run

CHANGING = "tests.frameworks.adapters.changing"

DIFFERENT = {
    "name": ("other", "the name is 'other', not 'tiny'"),
    "version": ("1.1", "the version is '1.1', not '1.0'"),
    "ops": (Tiny.ops - {"sin", "exp"}, "the ops lack exp, sin"),
    "capabilities": (Tiny.capabilities | {Capability.HOOKS}, "the capabilities also have HOOKS"),
    "dtypes": (("float64",), "the dtypes lack float32"),
    "traits": (Traits(scalars=True), "the traits lack scalars=False; the traits also have scalars=True"),
    "writes": (("add_",), " and "),
    "limits": ({"sum": Limit({"keepdim": (False,)})}, "the limits also have sum (keepdim False)"),
    "modules": (("linear",), "the modules also have linear"),
    "optimizers": ({"sgd": ("lr",)}, "the optimizers lack adam(betas, lr, weight_decay), sgd(lr, momentum, "),
}


@pytest.mark.parametrize("part", DIFFERENT)
def test_a_difference_is_said_in_words(part):
    value, words = DIFFERENT[part]
    said, other = Description.of(InProcess(Tiny())), Tiny()
    setattr(other, part, value)
    assert describe_difference(said, InProcess(Tiny()), "a worker") is None
    why = describe_difference(Description.from_json(said.to_json()), InProcess(other), "a worker")
    assert why is not None
    assert words in why
    assert "in a worker its description differs from that of the first load: the " in why


def test_no_order_of_a_set_makes_a_difference():
    one, other = Tiny(), Tiny()
    one.ops, other.ops = ["sin", "exp"], ["exp", "sin"]  # type: ignore[misc, assignment]
    assert Description.of(InProcess(one)) == Description.of(InProcess(other))


def test_a_process_of_its_own_is_held_to_what_was_said():
    said = Description.of(InProcess(Tiny()))
    request = Request("examples.tiny_adapter:Tiny", "cpu", False, 60.0, (), {"version": 1, "instructions": []}, 0)
    assert run_in_subprocess(replace(request, statement=said.to_json())).error is None
    form = said.to_json() | {"version": ["0.9"]}
    with pytest.raises(AdapterError, match=r"in a fresh process .*: the version is '1.0', not '0.9'"):
        run_in_subprocess(replace(request, statement=form))


ENDED = {
    "FewerOps": "in the worker gw0 {}the ops lack add, mm",
    "FewerOpsAudited": "in the audit {}the ops lack add, ",
    "FewerClaims": "in the worker gw0 {}the capabilities l",
    "AnotherVersion": "in the worker gw0 {}the version is ",
    "AnotherDtype": "in the worker gw0 {}the dtypes lack",
    "AnotherTrait": "in the audit {}the traits lack impli",
    "MoreWrites": "in the worker gw0 {}the writes also have add_",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDED)
def test_a_run_ends_where_a_process_has_another_framework(name, tmp_path):
    seen = run(tmp_path, ONE, framework=f"{CHANGING}:{name}")
    assert seen.code == 10
    said = ENDED[name].format("its description differs from that of the first load: ")
    assert f"adapter error: tiny: {said}" in " ".join(seen.output.split())
    assert "Traceback" not in seen.output


@pytest.mark.slow
def test_a_run_ends_where_a_failure_is_run_again_on_another_framework(tmp_path):
    exp = SINE.replace("sin", "exp")
    seen = run(tmp_path, exp, "--confirm=1", framework=f"{CHANGING}:OtherWhenConfirming")
    assert seen.code == 10
    assert "adapter error: tiny: in a fresh process its description differs" in seen.output
    assert "the version is '2.0', not '1.0'" in seen.output


class Loose(str):
    """A version that equals any other, since version classes may define their own comparison."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


def test_a_version_of_a_class_of_its_own_is_a_plain_text():
    adapter = Tiny()
    adapter.version = Loose("1.0+local")
    said = Description.of(InProcess(adapter))
    assert [type(text) for text in said.parts["version"]] == [str]
    assert said != Description.of(InProcess(Tiny()))
