"""Layers of PyTorch's modes: pairs that are not shipped, a layer of one's own, and modes written before layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
import torch

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.loading.entry_points import frameworks
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.modes import checkpoints, compiled, regions
from autograd_conformance.frameworks.pytorch.modes.checkpoints import CapturedCheckpoint, Checkpoint, TorchCheckpoint
from autograd_conformance.frameworks.pytorch.modes.compiled import EAGER, TorchCompile, TorchCompileAot
from autograd_conformance.frameworks.pytorch.modes.layers import Layer
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions, composed
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program
from examples.offloaded_mode import TorchCheckpointOffloaded, TorchOffloaded

PROGRAM = parse("a = leaf [1, 2]; b = square a; c = sin b; backward c with [1, 2]", VOCABULARY)


class Halved(Layer):
    """A layer that computes half of a region's results."""

    label = "halved"
    words = "half"
    excludes = (Capability.VIEWS,)
    call = "[y / 2 for y in {function}({inputs})]"

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        return not run

    def called(self, function: Any, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return tuple(y / 2 for y in function(*inputs))


NEEDS = {"torch-thunder": "thunder", "torch-xla": "torch_xla"}
"""The packages that modes need besides PyTorch."""


@pytest.mark.parametrize("name", [name for name in frameworks() if name.startswith("torch")])
def test_a_mode_is_named_as_it_is_offered(name: str) -> None:
    pytest.importorskip(NEEDS.get(name, "torch"))
    assert load(name).name == name


PAIRS = {
    "torch-compile-eager-checkpoint-captured": (EAGER, CapturedCheckpoint()),
    "torch-checkpoint-compile-eager": (Checkpoint(), EAGER),
    "torch-checkpoint-captured-checkpoint": (CapturedCheckpoint(), Checkpoint()),
    "torch-compile-eager-checkpoint-checkpoint": (EAGER, Checkpoint(), Checkpoint()),
}


@pytest.mark.parametrize(("name", "layers"), PAIRS.items(), ids=PAIRS)
def test_a_composed_mode_is_right_as_called_and_as_printed(name: str, layers: tuple[Layer, ...]) -> None:
    adapter = composed(*layers)("cpu:0")
    assert adapter.name == name
    assert adapter.traits == Traits(recomputes=True, captures=CapturedCheckpoint() in layers)
    target = InProcess(adapter)
    smoke(adapter)
    for seen in (target.observe(PROGRAM), target.observe_printed(PROGRAM)):
        assert first_violation(PROGRAM, seen, target) is None
        assert (1, 2) in [each.region for each in seen]


@pytest.mark.parametrize("mode", [TorchOffloaded, TorchCheckpointOffloaded])
def test_the_example_is_right_as_called_and_as_printed(mode: type[TorchRegions]) -> None:
    target = InProcess(mode())
    smoke(target.adapter)
    for seen in (target.observe(PROGRAM), target.observe_printed(PROGRAM)):
        assert first_violation(PROGRAM, seen, target) is None
    assert target.capabilities == TorchRegions.capabilities - {Capability.WRITE_CHECKS}
    assert "without save_on_cpu" in target.simpler_modes()


def test_a_compiler_sees_through_the_layers_inside_it() -> None:
    """A compiled checkpoint is one graph, without a break."""
    adapter = composed(EAGER, Checkpoint())()
    graphs: list[torch.fx.GraphModule] = []
    source = "def region(x0):\n    return (torch.sin(x0 * x0),)"
    function = regions.nested(Checkpoint(), regions._defined(source, adapter.dialect.prelude))
    torch.compile(function, backend=lambda graph, _: graphs.append(graph) or graph, fullgraph=True)(
        torch.ones(2, requires_grad=True)
    )
    assert len(graphs) == 1
    assert "checkpoint" in graphs[0].code


def test_the_simpler_modes_of_layers_leave_out_one_each() -> None:
    made = composed(EAGER, Checkpoint(), Halved())().simpler_modes()
    assert {words: mode().name for words, mode in made.items()} == {
        "without half": "torch-compile-eager-checkpoint",
        "without the checkpoint": "torch-compile-eager-halved",
        "without torch.compile": "torch-checkpoint-halved",
        "with none of them": "torch",
    }


def test_layers_are_printed_around_each_other() -> None:
    assert composed(EAGER, Checkpoint()).call == (
        "torch.compile(lambda {inputs}: checkpoint({arguments}, use_reentrant=False), backend='eager')({inputs})"
    )
    both = composed(Checkpoint(), EAGER)
    assert (both.head, both.call) == ("@torch.compile(backend='eager')", Checkpoint.call)


def test_a_layer_of_ones_own_is_around_a_region() -> None:
    target = InProcess(composed(Checkpoint(), Halved())())
    observations = target.observe(PROGRAM), target.observe_printed(PROGRAM)
    assert Capability.VIEWS not in target.capabilities
    for seen in observations:
        assert [each.region for each in seen] == [(), (1,), (2,), ()]
        assert first_violation(PROGRAM, seen, target) is not None


def test_a_mode_that_names_a_backend_runs_with_a_warning() -> None:
    with pytest.warns(FutureWarning, match=r"Old has to name layers.* `backend` and `dynamic` end with the next"):

        class Old(TorchCompile):
            """Dynamo alone, as a user wrote it before."""

            name = "old"
            backend = "eager"
            dynamic = True

    with pytest.warns(FutureWarning, match="OldToo has to name layers"):

        class OldToo(TorchCompileAot):
            """A variant of another mode, with its name and claims."""

            dynamic = True

    assert OldToo.name == TorchCompileAot.name and OldToo.traits == TorchCompileAot.traits
    assert OldToo.head == "@torch.compile(backend='aot_eager', dynamic=True)"
    adapter = Old()
    assert (adapter.name, adapter.backend, adapter.programs_each, adapter.traits) == ("old", "eager", 8, Traits())
    assert adapter.dialect.unit_head == "@torch.compile(backend='eager', dynamic=True)"
    assert first_violation(PROGRAM, InProcess(adapter).observe(PROGRAM), InProcess(adapter)) is None
    assert (TorchCompileAot.backend, TorchCompileAot.dynamic) == ("aot_eager", None)


class Older(TorchCheckpoint):
    """A mode as it was written before layers: it overrides methods and templates."""

    name = "older"
    traits = Traits()
    prelude = f"{TorchCheckpoint.prelude}\nimport math"
    head, call = "", "tuple({function}({inputs}))"
    calls: ClassVar[list[str]] = []

    def made(self, function: Any) -> Any:
        self.calls.append("made")
        return super().made(function)

    def called(self, function: Any, inputs: Sequence[torch.Tensor]) -> Any:
        self.calls.append("called")
        return super().called(function, inputs)


def test_what_a_class_defines_wins_over_its_layers() -> None:
    target = InProcess(Older())
    assert first_violation(PROGRAM, target.observe(PROGRAM), target) is None
    assert Older.calls == ["made", "called"]
    assert (target.name, target.traits, target.trait_sources) == ("older", Traits(), TorchCheckpoint.trait_sources)
    assert "import math" in target.dialect.prelude
    assert target.dialect.unit == "tuple({function}({inputs}))"


@pytest.mark.parametrize(
    ("name", "module"),
    [("TorchCheckpoint", checkpoints), ("TorchCompileAot", compiled), ("TorchCompileInductor", compiled)],
)
def test_modes_are_found_where_they_were(name: str, module: Any) -> None:
    with pytest.warns(FutureWarning, match=f"{name} is in {module.__name__} now"):
        assert getattr(regions, name) is getattr(module, name)
    assert issubclass(getattr(module, name), TorchRegions)
    with pytest.raises(AttributeError, match="has no attribute 'TorchNothing'"):
        regions.TorchNothing  # noqa: B018
