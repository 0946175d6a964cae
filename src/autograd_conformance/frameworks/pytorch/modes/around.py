"""PyTorch with something around each program that is documented to leave gradients as they are: hooks on saved tensors,
modes that pass each call on, modes that are switched off, a subclass of the tensor.

Sources: https://docs.pytorch.org/docs/stable/autograd.html, https://docs.pytorch.org/docs/stable/notes/extending.html.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.printing.openings import chosen
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Program

PASSES_OPS_ON = """
from torch.utils._python_dispatch import TorchDispatchMode


class PassesOpsOn(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))
"""

PASSES_FUNCTIONS_ON = """
from torch.overrides import TorchFunctionMode


class PassesFunctionsOn(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))
"""

DETERMINISTIC = """
class Deterministic:
    def __enter__(self):
        torch.use_deterministic_algorithms(True)

    def __exit__(self, *error):
        torch.use_deterministic_algorithms(False)
"""

ON_DISK = """
from tempfile import TemporaryFile


def to_disk(saved):
    file = TemporaryFile()
    torch.save(saved.detach(), file)
    return file


def from_disk(file):
    file.seek(0)
    return torch.load(file)
"""

TRACES_BACKWARD = """
import torch._dynamo.compiled_autograd


def traced(graph):
    return graph
"""

PLAIN = """
class Plain(torch.Tensor):
    pass
"""


@dataclass(frozen=True, slots=True)
class Surrounding:
    """A context manager in which a whole program runs, as code: what runs is what scripts of failures print."""

    manager: str
    """The expression that makes the context manager."""
    definitions: str = ""
    """The statements that the expression needs beside `import torch`; empty if there are none."""


def saving(pack: str, unpack: str, definitions: str = "") -> Surrounding:
    """Returns hooks on saved tensors: the code of the function that packs one, and of the one that unpacks it."""
    return Surrounding(f"torch.autograd.graph.saved_tensors_hooks({pack}, {unpack})", definitions)


class TorchAround(TorchEager):
    """Eager PyTorch whose programs run inside of context managers."""

    surroundings: ClassVar[tuple[Surrounding, ...]] = ()
    """The context managers, the outermost first."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.entered = ExitStack()
        self.choices = self.alternatives()
        self.names: dict[str, Any] = {"torch": torch}
        for each in dict.fromkeys(each.definitions for choice in self.choices for each in choice):
            exec(each, self.names)
        self.dialect = replace(self.dialect, openings=tuple(map(entering, self.choices)))

    def alternatives(self) -> Sequence[Sequence[Surrounding]]:
        """Returns the context managers, the outermost first; of several choices, each program gets one."""
        return [self.surroundings]

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns eager PyTorch alone."""
        return {"without the context manager": partial(TorchEager, self.requested_device)}

    def prepare(self, program: Program) -> None:
        """Enter the context managers, before a program."""
        for each in chosen(program, self.choices):
            self.entered.enter_context(eval(each.manager, self.names))

    def finish(self) -> None:
        """Leave the context managers, after a program."""
        self.entered.close()


def entering(surroundings: Sequence[Surrounding]) -> str:
    """Returns the code that enters context managers, the outermost first."""
    definitions = [f"{each.definitions.strip()}\n\n" for each in surroundings if each.definitions]
    entered = [f"around{k} = {each.manager}\naround{k}.__enter__()" for k, each in enumerate(surroundings)]
    return "\n".join([*definitions, *entered])


class TorchAllowMutation(TorchAround):
    """PyTorch that keeps the saved values of tensors which a program writes to."""

    name = "torch-allow-mutation"
    surroundings = (Surrounding("torch.autograd.graph.allow_mutation_on_saved_tensors()"),)


class TorchSavedClones(TorchAround):
    """PyTorch that saves copies, by a pair of hooks on saved tensors."""

    name = "torch-saved-clones"
    surroundings = (saving("lambda t: t.detach().clone()", "lambda t: t"),)


class TorchSavedArrays(TorchAround):
    """PyTorch that saves NumPy arrays, by a pair of hooks on saved tensors. NumPy has no bfloat16."""

    name = "torch-saved-arrays"
    capabilities = TorchEager.capabilities - {Capability.AUTOCAST}
    dtypes = ("float64", "float32", "float16")
    surroundings = (
        saving(
            "lambda t: (t.device, t.numpy(force=True).copy())", "lambda kept: torch.from_numpy(kept[1]).to(kept[0])"
        ),
    )


class TorchSavedFiles(TorchAround):
    """PyTorch that saves files on disk, by a pair of hooks on saved tensors:
    https://docs.pytorch.org/tutorials/intermediate/autograd_saved_tensors_hooks_tutorial.html.
    """

    name = "torch-saved-files"
    surroundings = (saving("to_disk", "from_disk", ON_DISK),)


class TorchSavedSame(TorchAround):
    """PyTorch that saves what it would save anyway, by a pair of hooks on saved tensors that return what they get."""

    name = "torch-saved-same"
    surroundings = (saving("lambda t: t", "lambda t: t"),)


class TorchSaveOnCpu(TorchAround):
    """PyTorch that keeps saved tensors in the CPU's memory."""

    name = "torch-save-on-cpu"
    surroundings = (Surrounding("torch.autograd.graph.save_on_cpu()"),)


class TorchDispatch(TorchAround):
    """PyTorch in a dispatch mode that passes each call on."""

    name = "torch-dispatch-mode"
    surroundings = (Surrounding("PassesOpsOn()", PASSES_OPS_ON),)


class TorchFunctions(TorchAround):
    """PyTorch in a function mode that passes each call on."""

    name = "torch-function-mode"
    surroundings = (Surrounding("PassesFunctionsOn()", PASSES_FUNCTIONS_ON),)


class TorchAnomaly(TorchAround):
    """PyTorch in anomaly mode, which also remembers where each value was made."""

    name = "torch-anomaly"
    surroundings = (Surrounding("torch.autograd.detect_anomaly(check_nan=False)"),)


class TorchOneThread(TorchAround):
    """PyTorch whose backward calls run in the thread that calls them."""

    name = "torch-one-thread"
    surroundings = (Surrounding("torch.autograd.set_multithreading_enabled(False)"),)


class TorchDeterministic(TorchAround):
    """PyTorch that uses deterministic algorithms only."""

    name = "torch-deterministic"
    surroundings = (Surrounding("Deterministic()", DETERMINISTIC),)


class TorchDualLevel(TorchAround):
    """PyTorch inside of a level of forward mode in which no value has a tangent."""

    name = "torch-dual-level"
    surroundings = (Surrounding("torch.autograd.forward_ad.dual_level()"),)


class TorchInferenceOff(TorchAround):
    """PyTorch in inference mode, which is switched off again inside."""

    name = "torch-inference-off"
    surroundings = (Surrounding("torch.inference_mode()"), Surrounding("torch.inference_mode(False)"))


class TorchAutocastOff(TorchAround):
    """PyTorch that may cast to bfloat16, which is switched off again inside."""

    name = "torch-autocast-off"
    surroundings = (
        Surrounding("torch.autocast('cpu', torch.bfloat16)"),
        Surrounding("torch.autocast('cpu', enabled=False)"),
    )


class TorchCompiledAutograd(TorchAround):
    """PyTorch that traces each backward call, whole, once for equal graphs, and runs the trace:
    https://docs.pytorch.org/tutorials/intermediate/compiled_autograd_tutorial.html. The compiler gives back the trace
    as it is.
    """

    name = "torch-compiled-autograd"
    surroundings = (Surrounding("torch._dynamo.compiled_autograd._enable(traced)", TRACES_BACKWARD),)


class TorchSubclass(TorchEager):
    """PyTorch whose tensors have a separate class, which changes nothing."""

    name = "torch-subclass"

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        names: dict[str, Any] = {"torch": torch}
        exec(PLAIN, names)
        self.plain: type[torch.Tensor] = names["Plain"]
        made = self.dialect.tensor.replace("{flags}", "") + ".as_subclass(Plain){flags}"
        empty = self.dialect.empty.replace("{flags}", "") + ".as_subclass(Plain){flags}"
        self.dialect = replace(
            self.dialect,
            prelude=f"{self.dialect.prelude}\n\n{PLAIN}",
            tensor=made,
            empty=empty,
            differentiable=".requires_grad_()",
        )

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns PyTorch with its own class of tensors."""
        return {"without the subclass": partial(TorchEager, self.requested_device)}

    def tensor(self, data: np.ndarray, requires_grad: bool = False) -> torch.Tensor:
        """Returns a tensor of the class, with the array's dtype."""
        return super().tensor(data).as_subclass(self.plain).requires_grad_(requires_grad)
