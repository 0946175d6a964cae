"""Mutants of what is around PyTorch: optimizers that resume wrongly, threads that lose something of their call,
exported modules that keep what they must not, saved tensors that come back otherwise, and modes
that disturb each other.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.modes.around import (
    ON_DISK,
    Surrounding,
    TorchAround,
    TorchSavedClones,
    TorchSavedFiles,
    TorchSavedSame,
    saving,
)
from autograd_conformance.frameworks.pytorch.modes.exported import TorchExport
from autograd_conformance.frameworks.pytorch.modes.layers import Function
from autograd_conformance.frameworks.pytorch.modes.pairs import TorchTwoContexts
from autograd_conformance.frameworks.pytorch.modes.resumed import TorchResumed
from autograd_conformance.frameworks.pytorch.modes.threads import TorchThreads
from autograd_conformance.programs.capabilities import Capability
from evaluation.mutants.mutant import UNSOUND, Faulty, unsound

# --- resumed optimizers -----------------------------------------------------------------------------------------------


class Resuming(Faulty, TorchResumed):
    """PyTorch whose optimizers are resumed. Subclasses change the saved form, or the optimizer that loaded it."""

    framework = "torch-resumed"
    ops = TorchResumed.ops - UNSOUND
    writes = frozenset(TorchResumed.writes) - {f"{op}_" for op in UNSOUND}

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.resumed = self.resume

    def saved(self, state: dict[str, Any]) -> dict[str, Any]:
        """The saved form of an optimizer; here as PyTorch makes it."""
        return state

    def loaded(self, fresh: torch.optim.Optimizer) -> None:
        """Change the optimizer that loaded the saved form; here not at all."""

    def resume(self, optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
        """A new optimizer that has loaded what was saved of another."""
        file = io.BytesIO()
        torch.save(optimizer.state_dict(), file)
        file.seek(0)
        groups = [{"params": group["params"]} for group in optimizer.param_groups]
        fresh = type(optimizer)(groups, lr=0.5)  # type: ignore[call-arg]
        fresh.load_state_dict(self.saved(torch.load(file)))
        self.loaded(fresh)
        return fresh


class HonestResuming(Resuming):
    """Has no fault: every failure is a false alarm."""


class ResumesWithoutState(Resuming):
    """A resumed optimizer has the settings of the saved one, and none of its state."""

    killed_by = ("optimizers/remembers",)

    def saved(self, state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "state": {}}


class ResumesWithItsOwnRate(Resuming):
    """A resumed optimizer keeps the learning rate that it was made with."""

    killed_by = ("optimizers/formula", "optimizers/groups", "optimizers/variants")

    def saved(self, state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "param_groups": [{**group, "lr": 0.5} for group in state["param_groups"]]}


class ResumesWithFirstGroup(Resuming):
    """A resumed optimizer gives all groups the settings of the first one."""

    killed_by = ("optimizers/groups",)

    def saved(self, state: dict[str, Any]) -> dict[str, Any]:
        groups = state["param_groups"]
        return {**state, "param_groups": [{**groups[0], "params": group["params"]} for group in groups]}


class ResumesInSingle(Resuming):
    """The state of a resumed optimizer has the digits of float32."""

    killed_by = ("optimizers/remembers",)

    def loaded(self, fresh: torch.optim.Optimizer) -> None:
        for kept in fresh.state.values():
            kept.update({key: x.float().to(x.dtype) for key, x in kept.items() if isinstance(x, torch.Tensor)})


class ResumesAtFirstStep(Resuming):
    """A resumed optimizer counts its steps from the start."""

    killed_by = ("optimizers/remembers",)

    def loaded(self, fresh: torch.optim.Optimizer) -> None:
        for kept in fresh.state.values():
            if "step" in kept:
                kept["step"] = torch.zeros_like(kept["step"])


class ResumesInReverse(Resuming):
    """The states of the leaves are resumed in the reverse order."""

    killed_by = ("optimizers/remembers", "optimizers/groups", "optimizers/skips", "optimizers/variants")

    def saved(self, state: dict[str, Any]) -> dict[str, Any]:
        numbers = list(state["state"])
        return {**state, "state": dict(zip(reversed(numbers), state["state"].values(), strict=True))}


# --- threads ----------------------------------------------------------------------------------------------------------


class Threading(Faulty, TorchThreads):
    """PyTorch whose backward calls run in threads."""

    framework = "torch-threads"
    ops = TorchThreads.ops - UNSOUND
    writes = frozenset(TorchThreads.writes) - {f"{op}_" for op in UNSOUND}


class LosesErrorsOfThreads(Threading):
    """An error in a thread stays there, and the call returns."""

    killed_by = ("lifetime/same-root-raises", "errors/no-grad-root", "lifetime/default-frees")

    def backward(self, *given: Any, **named: Any) -> None:
        def call() -> None:
            try:
                super(Threading, self).backward(*given, **named)
            except RuntimeError:
                return

        call()


class LosesGraphsOfThreads(Threading):
    """A call in a thread records nothing, so that its gradients have no graph."""

    killed_by = ("higher/differentiable", "higher/op")

    def grad(self, *given: Any) -> Sequence[torch.Tensor | None]:
        *others, creates, unused, zeros = given
        made = super().grad(*others, creates, unused, zeros)
        return [None if x is None else x.detach() for x in made] if creates else made


# --- exported ---------------------------------------------------------------------------------------------------------


class Exporting(Faulty, TorchExport):
    """PyTorch whose regions are exported. Subclasses call what was exported in another way."""

    framework = "torch-export"
    ops = TorchExport.ops - UNSOUND - unsound("torch-export")
    writes = frozenset(TorchExport.writes) - {f"{op}_" for op in UNSOUND}
    capabilities = TorchExport.capabilities - {Capability.MEMORY, Capability.VIEWS, Capability.LAYOUT}


class ExportsConstants(Exporting):
    """An exported function keeps its last operand of the first call as a constant."""

    killed_by = ("gradients/graph", "gradients/op", "accumulation/first")
    longest = 10

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.kept: dict[tuple[Function, torch.Size], torch.Tensor] = {}

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        if len(inputs) > 1:
            *others, last = inputs
            inputs = (*others, self.kept.setdefault((function, last.shape), last.detach().clone()))
        return super().called(function, inputs)


class ExportsForInference(Exporting):
    """An exported function records nothing if one of its operands requires no grad."""

    killed_by = ("gradients/requires-grad", "accumulation/first", "gradients/graph")

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        call = partial(super().called, function, inputs)
        if all(each.requires_grad for each in inputs):
            return call()
        with torch.no_grad():
            return call()


# --- saved tensors ----------------------------------------------------------------------------------------------------


class Around(Faulty, TorchAround):
    """PyTorch inside of context managers."""

    ops = TorchAround.ops - UNSOUND
    writes = frozenset(TorchAround.writes) - {f"{op}_" for op in UNSOUND}


class FilesLackOffsets(Around, TorchSavedFiles):
    """A file of a saved view has the first elements of the memory that the view is a part of."""

    framework = "torch-saved-files"
    killed_by = ("gradients/graph", "gradients/op", "gradients/equal-leaves")
    surroundings = (saving("lambda t: to_disk(t.as_strided(t.shape, t.stride(), 0))", "from_disk", ON_DISK),)


class FilesAreFlat(Around, TorchSavedFiles):
    """A file of a saved matrix has its elements in the order of the transposed matrix."""

    framework = "torch-saved-files"
    killed_by = ("gradients/op", "gradients/graph", "gradients/equal-leaves")
    surroundings = (
        saving(
            "lambda t: (to_disk(t.T.reshape(-1) if t.ndim == 2 else t), t.shape)",
            "lambda kept: from_disk(kept[0]).reshape(kept[1])",
            ON_DISK,
        ),
    )


class UnpacksTransposed(Around, TorchSavedSame):
    """Of a saved square matrix, its hook gives back the transpose."""

    framework = "torch-saved-same"
    killed_by = ("gradients/op", "gradients/graph", "gradients/equal-leaves")
    surroundings = (saving("lambda t: t", "lambda t: t.T if t.ndim == 2 and t.shape[0] == t.shape[1] else t"),)


# --- two modes at once ------------------------------------------------------------------------------------------------


class HooksDoubleInside(Around, TorchTwoContexts):
    """Hooks on saved tensors that are installed inside of another mode give back twice of what was saved."""

    framework = "torch-two-contexts"
    killed_by = ("gradients/op", "gradients/graph", "gradients/equal-leaves")

    def alternatives(self) -> Sequence[Sequence[Surrounding]]:
        (hooks,) = TorchSavedClones.surroundings
        faulty = saving("lambda t: t.detach().clone()", "lambda t: 2 * t")
        return [(*outer, faulty if inner is hooks else inner) for *outer, inner in super().alternatives()]
