"""`check` finds what is wrong with an adapter: its calls, its templates, its printed code, and unknown errors."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from autograd_conformance.authoring import command, new_adapter
from autograd_conformance.authoring.check import Blame, Remark, check
from autograd_conformance.authoring.found import UNCLAIMED, UNKNOWN, findings_of
from autograd_conformance.checking.soundness.templates import empty
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.remote.command import served
from autograd_conformance.frameworks.target import InProcess, open_target
from autograd_conformance.frameworks.torchlike.findings import TABLES
from autograd_conformance.known_differences import known, read
from autograd_conformance.ops.catalogue import ROWS
from autograd_conformance.package.address import repository
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind
from evaluation import address
from examples.tiny_adapter import Tiny


def remarks(adapter: Adapter) -> list[Remark]:
    return list(check(InProcess(adapter), known(adapter.name)))


class Few(Torch):
    """PyTorch with few ops, so that a check is quick."""

    ops = frozenset({"add", "multiply", "negative", "sin", "sum", "transpose", "reshape"})
    modules = ()


class WrongOp(Few):
    """The adapter applies another op."""

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        return super().apply("cos" if op == "sin" else op, operands, attrs)


class Misspelt(Few):
    """The adapter calls a function that is not there."""

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        if op != "sin":
            return super().apply(op, operands, attrs)
        return (eval("torch.nn.Sine()(a)", {"torch": torch}, {"a": operands[0]}),)


class WrongTemplate(Few):
    """The printed code of an op applies another op."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        ops = {name: ROWS[name].template for name in self.ops} | {"sin": "torch.cos({0})"}
        self.dialect = replace(self.dialect, ops=ops)


class BrokenTemplate(Few):
    """The printed code of an op is no Python."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        ops = {name: ROWS[name].template for name in self.ops} | {"sin": "torch.sin({0}"}
        self.dialect = replace(self.dialect, ops=ops)


class EmptyTemplate(Few):
    """A template is missing."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dialect = replace(self.dialect, held="")


class NoModes(Few):
    """The words for grad modes are missing, and one mode records."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dialect = replace(self.dialect, modes={})

    def mode(self, name: str) -> Any:
        return super().mode("enable_grad")


class Unsteady(Few):
    """The result of an op is another one each time."""

    times = 0

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        self.times += 1
        made = super().apply(op, operands, attrs)
        return [each + self.times for each in made] if op == "sin" else made


class KnowsNoFreedGraph(Few):
    """`classify` does not know the error of a freed graph."""

    insists = ()

    def classify(self, error: BaseException) -> Kind:
        kind = super().classify(error)
        return Kind.UNKNOWN if kind is Kind.GRAPH_FREED else kind


class LosesHook(Few):
    """Hooks are not called."""

    def hook(self, value: torch.Tensor, function: Any) -> Any:
        return super().hook(value, lambda gradient: None)


class WrongOptimizer(Few):
    """The printed code of a step has another optimizer than the adapter's call."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dialect = replace(self.dialect, optimizers={**self.dialect.optimizers, "adamw": "SGD"})


class WithoutCotangents(Few):
    """No call takes a cotangent, and the printed code of a step has a name that is not there."""

    capabilities = Few.capabilities - {Capability.COTANGENTS, Capability.COTANGENT_CHECK}

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dialect = replace(self.dialect, optimizers={})


def test_nothing_is_wrong_with_pytorch_and_the_example():
    assert remarks(Few()) == []
    assert remarks(Tiny()) == []


@pytest.mark.parametrize(
    ("adapter", "blame", "about", "text"),
    [
        (Misspelt, Blame.EITHER, "op sin", "may be an error of the adapter or of the framework"),
        (WrongOp, Blame.EITHER, "op sin", "gradients/forward: returned another value"),
        (WrongOp, Blame.ADAPTER, "op sin", "line 2 of its printed code gives"),
        (WrongTemplate, Blame.ADAPTER, "op sin", "line 2 of its printed code gives"),
        (Unsteady, Blame.EITHER, "op sin", "line 2 of its program does not end alike each time that it runs"),
        (BrokenTemplate, Blame.ADAPTER, "op sin", "SyntaxError"),
        (EmptyTemplate, Blame.ADAPTER, "template held", "`dialect.held` is empty, so no script can show"),
        (NoModes, Blame.ADAPTER, "template modes", "`dialect.modes` is empty, so no script can show MODES"),
        (NoModes, Blame.EITHER, "MODES", "modes/no-grad-result"),
        (KnowsNoFreedGraph, Blame.NOTE, "classify", "return Kind.GRAPH_FREED"),
        (WrongOptimizer, Blame.ADAPTER, "optimizer adamw", "line 4 of its printed code gives"),
        (WithoutCotangents, Blame.ADAPTER, "OPTIMIZERS", "line 4 of its printed code raises"),
        (WithoutCotangents, Blame.ADAPTER, "MAKES_OPTIMIZERS", "its printed code cannot be run: NameError"),
        (LosesHook, Blame.EITHER, "HOOKS", "hooks/called: the hook was not called"),
    ],
)
def test_each_fault_is_found(adapter: type[Adapter], blame: Blame, about: str, text: str):
    found = [remark for remark in remarks(adapter()) if remark.blame is blame and remark.about == about]
    assert any(text in remark.text for remark in found), remarks(adapter())


def test_templates_that_a_claim_needs_are_there_in_pytorchs_dialect():
    assert list(empty(Torch().dialect, frozenset(Capability) - {Capability.COUNTS_SAVED})) == []


def test_templates_are_needed_only_for_what_is_claimed():
    dialect = Torch().dialect
    assert list(empty(replace(dialect, hook=""), frozenset())) == []
    assert list(empty(replace(dialect, hook=""), frozenset({Capability.HOOKS}))) == [("hook", "HOOKS")]


# -- the commands ------------------------------------------------------------------------------------------------------


def test_a_sound_adapter_ends_with_0(capsys: pytest.CaptureFixture[str]):
    assert command.main(["check", "examples.tiny_adapter:Tiny"]) == 0
    assert capsys.readouterr().out == "tiny 1.0: the check found nothing wrong\n"


@pytest.mark.parametrize(("name", "code"), [("BrokenTemplate", 10), ("LosesHook", 1)])
def test_a_faulty_adapter_ends_otherwise(name: str, code: int, capsys: pytest.CaptureFixture[str]):
    assert command.main(["check", f"{__name__}:{name}"]) == code
    assert "- " in capsys.readouterr().out


def test_a_framework_that_dies_in_its_process_is_a_remark(capsys: pytest.CaptureFixture[str]):
    name = "tests.frameworks.adapters.dying:DiesInExp"
    assert command.main(["check", name, "--framework-python", sys.executable]) == 1
    assert "SIGSEGV" in capsys.readouterr().out


def test_problems_with_one_text_are_printed_once(capsys: pytest.CaptureFixture[str]):
    same = [Remark(Blame.EITHER, f"op {k}", "a result of shape (1,)", f"x = {k}") for k in range(12)]
    command._print(Blame.EITHER, [*same, Remark(Blame.EITHER, "op sin", "another value")])
    assert capsys.readouterr().out.splitlines() == [
        "",
        "Wrong, in the adapter or in the framework (2 problems):",
        "",
        "- op 0, op 1, op 2, op 3, op 4, op 5, op 6, op 7 and 4 more: a result of shape (1,)",
        "      x = 0",
        "- op sin: another value",
    ]


@pytest.mark.parametrize("words", [["check", "nosuch"], ["probe", "torch-like:"], ["new-adapter", "nosuch_module"]])
def test_wrong_usage_ends_with_4(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert command.main(words) == 4
    assert capsys.readouterr().err.startswith("ERROR: ")


def test_probe_prints_claims_and_writes_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "partial.toml"
    assert command.main(["probe", "torch-like:tests.frameworks.torchlike.partial", "--write", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "claimed      RETAIN             a flag that keeps the graph" in lines
    assert any(line.startswith("not claimed  DEFAULT_DTYPE      AttributeError: ") for line in lines)
    assert any(line.startswith("missing      block_diag         AttributeError: ") for line in lines)
    assert "[ops]\n" in path.read_text()
    assert command.main(["probe", "examples.tiny_adapter:Tiny"]) == 0
    assert "not claimed  HOOKS              its adapter does not claim it" in capsys.readouterr().out


def test_probe_names_and_writes_what_a_class_with_a_known_interface_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "probed_class.py").write_text(
        "from autograd_conformance.frameworks.torchlike.adapter import TorchLike\n"
        "class Partial(TorchLike):\n"
        "    module = 'tests.frameworks.torchlike.partial'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "found.toml"
    assert command.main(["probe", "probed_class:Partial", "--write", str(path)]) == 0
    assert "missing      block_diag         AttributeError: " in capsys.readouterr().out
    assert "[ops]\n" in path.read_text()
    assert command.main(["probe", "examples.tiny_adapter:Tiny", "--write", str(path)]) == 4
    assert "or a subclass of one of their adapters" in capsys.readouterr().err


# -- new-adapter -------------------------------------------------------------------------------------------------------

TORCH_LIKE = "torch-like:tests.frameworks.torchlike.partial"
NUMPY_LIKE = "numpy-like:tests.frameworks.numpylike.partial"


@pytest.mark.parametrize(
    ("name", "words", "lacks"),
    [
        ("my-torch", ["my-torch", "--module", "tests.frameworks.torchlike.partial"], "block_diag"),
        ("my-numpy", ["my-numpy", "--module", "tests.frameworks.numpylike.partial"], "tan"),
        ("tests.frameworks.torchlike.partial", [TORCH_LIKE, "--framework-python", sys.executable], "cosh"),
    ],
)
def test_a_new_adapter_of_a_framework_with_a_known_interface_is_ready(
    name: str, words: list[str], lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    assert command.main(["new-adapter", *words, "--folder", str(tmp_path)]) == 0
    assert "Next: autograd-conformance check " in capsys.readouterr().out
    (adapter,) = tmp_path.glob("*_adapter.py")
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        "conformance.yml",
        f"{name}.toml",
        f"{name}.findings.toml",
        adapter.name,
    }
    assert all(len(line) <= 88 for line in adapter.read_text().splitlines() if "partial" not in line)
    monkeypatch.syspath_prepend(tmp_path)
    made = getattr(importlib.import_module(adapter.stem), new_adapter.kind_of(name))()
    assert made.name == words[-1].partition(":")[2] or made.name.startswith("tests.frameworks.")
    assert lacks not in made.ops
    assert made.path == str(tmp_path / f"{name}.findings.toml")
    assert read(tmp_path / f"{name}.toml") == ()


def test_the_workflow_installs_the_suite_from_its_repository(tmp_path: Path):
    assert command.main(["new-adapter", TORCH_LIKE, "--folder", str(tmp_path)]) == 0
    text = (tmp_path / ".github" / "workflows" / "conformance.yml").read_text()
    assert f'pip install . "autograd-conformance @ git+{repository()}"' in text
    assert repository() == address.address()


def test_the_address_is_set_in_all_pages_at_once():
    text = "clone https://github.com/OWNER/suite; uses: OWNER/suite@REVISION"
    after = address.changed(text, "https://github.com/OWNER/suite", "https://github.com/me/mine")
    assert after == "clone https://github.com/me/mine; uses: me/mine@REVISION"
    for path in address.SHOWN:
        assert "OWNER" not in path.read_text().replace(address.address().removeprefix(address.HOST), "")


def test_a_new_adapter_of_another_framework_has_all_methods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert command.main(["new-adapter", "thing", "--module", "math", "--folder", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert (
        "math has no tensors as PyTorch has them (math.tensor: there is none; math.Tensor: there is none)\n" in printed
    )
    monkeypatch.syspath_prepend(tmp_path)
    import thing_adapter  # type: ignore[import-not-found]

    with pytest.raises(NotImplementedError, match="TODO"):
        thing_adapter.Thing().leaf([1.0], True)


@pytest.mark.parametrize("name", ["numpy-like:math", "torch-like:math"])
def test_a_framework_without_the_interface_that_was_named_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert command.main(["new-adapter", name, "--folder", str(tmp_path)]) == 10
    assert "autograd-conformance new-adapter NAME --module math\n" in capsys.readouterr().out
    assert not [*tmp_path.iterdir()]


def test_another_word_before_the_module_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert command.main(["new-adapter", "jax-like:math", "--folder", str(tmp_path)]) == 4
    assert "write NAME, or one of torch-like:MODULE, numpy-like:MODULE" in capsys.readouterr().err


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["new-adapter", "thing", "--module", "math", "--folder", str(tmp_path)]
    assert command.main(words) == 0
    assert command.main(words) == 4
    assert "is there already; nothing was written; name another --folder" in capsys.readouterr().err


def test_a_second_adapter_leaves_the_workflow_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["--module", "math", "--folder", str(tmp_path)]
    assert command.main(["new-adapter", "thing", *words]) == 0
    workflow = tmp_path / ".github" / "workflows" / "conformance.yml"
    text = workflow.read_text()
    assert "Left as it was" not in capsys.readouterr().out
    assert command.main(["new-adapter", "other", *words]) == 0
    said = capsys.readouterr().out
    assert f"Left as it was: {workflow}" in said
    assert "add: autograd-conformance --framework other_adapter:Other --known other.toml" in said
    assert workflow.read_text() == text and "thing_adapter:Thing --known thing.toml" in text
    assert (tmp_path / "other_adapter.py").exists() and (tmp_path / "other.toml").exists()


def test_what_a_framework_in_another_process_lacks_is_found_with_its_reasons():
    here, there = open_target(TORCH_LIKE), open_target(served(TORCH_LIKE, sys.executable, None))
    one, other = findings_of(here), findings_of(there)
    assert all({*getattr(one, table)} == {*getattr(other, table)} for table in TABLES)
    assert (other.ops, other.capabilities) == (one.ops, one.capabilities)
    assert UNKNOWN not in other.writes.values()
    tiny = findings_of(open_target(served("examples.tiny_adapter:Tiny", sys.executable, None)))
    assert {*tiny.capabilities.values()} == {UNKNOWN}
    assert findings_of(InProcess(Tiny())).capabilities["HOOKS"] == UNCLAIMED


def test_what_a_framework_prints_is_not_in_the_table(tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "talkative.py").write_text(
        "from examples.tiny_adapter import Tiny\n"
        "class Talks(Tiny):\n"
        "    def apply(self, *given):\n"
        "        print('look at this')\n"
        "        return super().apply(*given)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert command.main(["probe", "talkative:Talks"]) == 0
    said = capsys.readouterr().out
    assert "claimed" in said
    assert "look at this" not in said
