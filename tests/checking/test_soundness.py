"""A run refuses an adapter whose templates are empty or no Python, and lists all faults of its methods."""

from __future__ import annotations

import ast
import re
import shlex
from dataclasses import replace
from inspect import getsource
from pathlib import Path

import pytest

from autograd_conformance.checking.soundness.contracts import MOST, Faults, programs
from autograd_conformance.checking.soundness.printed_code import Problem, problems
from autograd_conformance.checking.soundness.templates import FIELDS
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.loading.registry import AdapterError, load
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess, open_target
from autograd_conformance.plugin import sound_adapter
from autograd_conformance.printing import dialect as printing
from autograd_conformance.programs.language import Optimizer, Step
from examples.tiny_adapter import Tiny
from tests.frameworks.adapters.unsound import BrokenCode
from tests.plugin.test_cli import run

SOUND = [
    "torch", "torch-func", "torch-jvp", "torch-jacfwd", "torch-vmap", "torch-per-sample",
    "torch-reverse-over-vmap", "torch-jacrev", "torch-batched",
    "torch-dispatch-mode", "torch-subclass", "torch-checkpoint", "torch-compile-inductor", "autograd", "autograd-jvp",
    "jax", "jax-jit", "jax-jvp", "jax-vmap", "jax-per-sample",
    "jax-custom", "jax-jit-custom", "autograd-custom", "mygrad",
    "examples.tiny_adapter:Tiny", "examples.micrograd_adapter:Micrograd",
    "torch-like:tests.frameworks.torchlike.partial",
]  # fmt: skip


def found(adapter: Adapter) -> dict[str, str]:
    return {each.about: each.text for each in problems(InProcess(adapter))}


@pytest.mark.parametrize("name", SOUND)
def test_adapters_of_the_checkout_are_sound(name: str):
    assert list(problems(InProcess(load(name)))) == []


def test_each_faulty_template_is_found():
    seen = found(BrokenCode())
    assert (
        seen.pop("template retain")
        == "`dialect.retain` is empty, so no script can show RETAIN: write the code, or do not claim it"
    )
    assert seen.pop("op sin") == "its printed code is no Python ('(' was never closed): tiny.sin(x0"
    assert seen.pop("op exp").startswith("its code cannot be printed: IndexError")
    assert seen.pop("DETACH").startswith("its printed code is no Python")
    assert seen == {}


def test_faulty_templates_of_writes_are_found():
    class Wrong(Torch):
        def __init__(self, device: str = "cpu") -> None:
            super().__init__(device)
            writes = {**self.dialect.writes, "mul_": "{0}.mul_({1}"}
            del writes["copy_"]
            self.dialect = replace(self.dialect, writes=writes)

    seen = found(Wrong())
    assert seen["in-place op mul_"].startswith("its printed code is no Python")
    assert seen["in-place op copy_"] == "there is no template for it"


def test_templates_with_fields_that_they_do_not_have_are_found():
    adapter = Torch()
    adapter.dialect = replace(
        adapter.dialect, optimizer="{name} = torch.optim.{optimizer}([{leaves}])", clear="{}.zero()", hook="{ {target}"
    )
    faults = found(adapter)
    assert "it has no field {name}, only {optimizer}, {leaves}, {settings}" in faults["template optimizer"]
    assert "it has no field {}, only {name}, {set_to_none}" in faults["template clear"]
    assert "its braces do not match" in faults["template hook"]


def test_fields_of_templates_are_those_of_their_descriptions():
    (described,) = (node for node in ast.parse(getsource(printing)).body if isinstance(node, ast.ClassDef))
    for name, text in zip(described.body, described.body[1:], strict=False):
        if isinstance(name, ast.AnnAssign) and name.target.id in FIELDS:  # type: ignore[union-attr]
            assert isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            assert set(re.findall(r"\{(\w+)\}", str(text.value.value))) == set(FIELDS[name.target.id]), name.target.id  # type: ignore[union-attr]


def test_no_code_is_looked_at_where_none_is_printed():
    class Silent(Tiny):
        dialect = None

    assert found(Silent()) == {}


def test_the_message_lists_the_first_faults_and_the_command_that_shows_more():
    many = [Problem(f"op {k}", "wrong") for k in range(10)]
    said = sound_adapter.refusal("tiny", ["a:B", "--framework-python", "my env/python"], many).splitlines()
    assert said[0] == "tiny: the run does not start, because its adapter has 10 faults:"
    assert said[1] == "- op 0: wrong"
    assert said[-2:] == [
        "- and 2 more",
        "To see more, type: autograd-conformance check a:B --framework-python 'my env/python'",
    ]
    assert shlex.split(said[-1].partition("type: ")[2])[-1] == "my env/python"


# -- contracts --------------------------------------------------------------------------------------------------------


def test_no_optimizer_is_made_to_try_the_methods():
    tried = dict(programs(open_target("torch")))
    assert {"HOOKS", "WRITES", "FUNCTIONAL"} <= {*tried}
    assert not any(isinstance(step, Step | Optimizer) for program in tried.values() for step in program)


def test_faults_outlast_their_process_and_are_told_together(tmp_path: Path):
    faults = Faults(tmp_path)
    faults.refuse()
    with faults:
        raise AdapterError("sin returned text")
    with pytest.raises(AdapterError, match=r"^sin returned text$"):
        faults.refuse()
    for fault in ("exp returned text", "sin returned text"):
        with Faults(tmp_path):
            raise AdapterError(fault)
    with pytest.raises(AdapterError, match=r"has 2 faults:\n- sin returned text\n- exp returned text$"):
        faults.refuse()
    assert not faults.are_many
    for k in range(MOST):
        with faults:
            raise AdapterError(f"{k}")
    assert faults.are_many
    with pytest.raises(ValueError, match="another"), faults:
        raise ValueError("another")


# -- whole runs -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_refuses_faulty_templates_before_it_begins(tmp_path: Path):
    seen = run(tmp_path, "suites/test_accumulation.py", framework="tests.frameworks.adapters.unsound:BrokenCode")
    assert seen.code == 10
    assert "adapter error: tiny: the run does not start, because its adapter has 4 faults:\n- template retain" in (
        seen.output
    )
    assert "To see more, type: autograd-conformance check tests.frameworks.adapters.unsound:BrokenCode" in seen.output
    assert not (tmp_path / "report").exists()


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--programs", "100")])
def test_a_run_refuses_faulty_methods_with_a_list(tmp_path: Path, more: tuple[str, ...]):
    name = "tests.frameworks.adapters.unsound:BrokenMethods"
    seen = run(tmp_path, "suites/test_accumulation.py", *more, framework=name)
    assert seen.code == 10
    said = " ".join(seen.output.split())
    assert "the adapter has 2 faults: - tiny: detach() raised NotImplementedError: to be written" in said
    assert "- tiny: zero_grad() raised NotImplementedError: to be written, too" in said
