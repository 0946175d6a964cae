"""Functions that take a window or indices in another form than PyTorch's are found, and called in that form."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.frameworks.torchlike import adapter as adapters
from autograd_conformance.frameworks.torchlike.adapter import TorchLike
from autograd_conformance.frameworks.torchlike.findings import Findings
from autograd_conformance.frameworks.torchlike.search import search
from autograd_conformance.frameworks.torchlike.trials import OTHER_INDICES, missing_op, other_call
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from tests.frameworks.torchlike import partial as partial_module

INDEXED = "a = leaf [1, 2, 3]; b = index a index=(2, 0); backward b with [4, 5]"
POOLED = "a = leaf [[[[1, 2], [3, 4]]]]; b = max_pool2d a kernel_size=2 stride=2 padding=0; backward b with [[[[5]]]]"
INT64 = "tensors used as indices must be long, int, byte or bool tensors"


def _of_pairs(x: torch.Tensor, kernel: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int]) -> Any:
    rows, columns = kernel
    return F.max_pool2d(x, (rows, columns), stride=(stride[0], stride[1]), padding=(padding[0], padding[1]))


def _of_floats(data: Any, device: object = None, **flags: Any) -> torch.Tensor:
    return torch.tensor(data, **({} if isinstance(data, np.ndarray) or flags else {"dtype": torch.float32}), **flags)


def _without_device(data: Any, dtype: torch.dtype | None = None, requires_grad: bool = False) -> torch.Tensor:
    return torch.tensor(data, dtype=dtype, requires_grad=requires_grad)


def _refuses_indices(data: Any, device: object = None, **flags: Any) -> torch.Tensor:
    if isinstance(data, np.ndarray) and data.dtype.kind == "i":
        raise IndexError(INT64)
    return _of_floats(data, device, **flags)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], TorchLike]:
    """Makes a framework that is PyTorch, apart from its pooling of pairs and its function that makes tensors."""

    def make(tensor: Any) -> TorchLike:
        package, nn, functional = (ModuleType(name) for name in ("formed", "formed.nn", "formed.nn.functional"))
        package.__getattr__ = partial_module.__getattr__  # type: ignore[method-assign]
        functional.__getattr__ = lambda name: getattr(F, name)  # type: ignore[method-assign, assignment]
        functional.max_pool2d, package.tensor = _of_pairs, tensor  # type: ignore[attr-defined]
        package.nn, nn.functional, package.__path__, nn.__path__ = nn, functional, [], []  # type: ignore[attr-defined]
        for module in (package, nn, functional):
            monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(adapters, "search", lambda adapter: Findings("formed", "1"))
        return TorchLike("formed")

    return make


@pytest.mark.parametrize(
    ("op", "text", "tensor", "template"),
    [
        (
            "max_pool2d", POOLED, torch.tensor,
            "F.max_pool2d({0}, ({kernel_size}, {kernel_size}), "
            "stride=({stride}, {stride}), padding=({padding}, {padding}))",
        ),
        ("index", INDEXED, _of_floats, "{0}[torch.tensor(numpy.array({index}))]"),
        ("index", INDEXED, _without_device, "{0}[torch.tensor({index})]"),
    ],
)  # fmt: skip
def test_another_form_is_found(made: Callable, op: str, text: str, tensor: Any, template: str) -> None:
    adapter = made(tensor)
    why = missing_op(adapter, op, "float64")
    assert why is not None and other_call(adapter, op, "float64", why) == template
    adapter._call_otherwise({op: template})
    target, program = InProcess(adapter), parse(text, VOCABULARY)
    for observed in (target.observe(program), target.observe_printed(program)):
        assert first_violation(program, observed, target) is None


def test_what_takes_no_other_indices_is_not_missing(made: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = made(_refuses_indices)
    monkeypatch.setattr("autograd_conformance.frameworks.torchlike.search.SINGLE", ("embedding", "exp"))
    why = missing_op(adapter, "embedding", "float64")
    assert why is not None and why.startswith(OTHER_INDICES)
    found = search(adapter)
    assert "embedding" not in found.ops and "embedding" not in found.templates
