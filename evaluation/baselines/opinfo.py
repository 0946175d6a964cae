"""PyTorch's own sample inputs: the OpInfo database, which PyTorch's gradient tests use.

An op's samples are found by the name of the PyTorch function in its catalogue row. The database needs the package
`expecttest`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import torch

from autograd_conformance.ops.tables import OPS

MOST = 200
"""Largest number of samples of an op."""

WRITTEN = {
    r"^-\{0\}": "neg", r"^\{\w+\} \+ \{\w+\}": "add", r"^\{\w+\} - \{\w+\}": "sub", r"^\{\w+\} \* \{\w+\}": "mul",
    r"^\{\w+\} / \{\w+\}": "div", r"^\{\w+\} \*\* \{\w+\}": "pow", r"^\{0\} @": "matmul", r"^\{0\}\.mT": "mT",
    r"^\{0\}\[": "__getitem__", r"^\{0\}\.to\(": "to", r"^\{0\}\.unfold\(": "unfold",
}  # fmt: skip
"""PyTorch's names of ops that the catalogue writes with operators, by patterns of their code."""


@dataclass(frozen=True)
class Sample:
    """A sample as a function of its tensors, with the options of PyTorch's gradient tests."""

    function: Callable[..., Any]
    tensors: tuple[torch.Tensor, ...]
    output: Callable[[Any], Any]
    fast: bool
    nondeterminism: float


def available() -> bool:
    """Whether the database can be imported."""
    try:
        return bool(_database())
    except ModuleNotFoundError:
        return False


@lru_cache(maxsize=1)
def _database() -> dict[str, tuple[Any, ...]]:
    from torch.testing._internal.common_methods_invocations import op_db

    found: dict[str, tuple[Any, ...]] = {}
    for info in op_db:
        for name in {info.name, *(alias.name for alias in info.aliases or ())}:
            found[name] = (*found.get(name, ()), info)
    return found


def name_of(op: str) -> str | None:
    """PyTorch's name for an op of the catalogue; None if its code has none."""
    code = OPS[op].torch
    for pattern, name in WRITTEN.items():
        if re.match(pattern, code):
            return name
    called = re.match(r"(torch|F)\.([\w.]+)\(", code)
    return called and ("nn.functional." if called[1] == "F" else "") + called[2]


@lru_cache(maxsize=None)
def samples(op: str, order: int) -> tuple[Sample, ...]:
    """The samples of an op of the catalogue that are differentiable `order` times."""
    return tuple(islice(_samples(op, order), MOST))


def sample(op: str, number: int, order: int) -> Sample | None:
    """The sample of a number; None past the last."""
    found = samples(op, order)
    return found[number] if number < len(found) else None


def _samples(op: str, order: int) -> Iterator[Sample]:
    for info in _database().get(name_of(op) or "", ()):
        if not info.supports_autograd or (order == 2 and not info.supports_gradgrad):
            continue
        torch.manual_seed(0)
        for given in info.sample_inputs("cpu", torch.float64, requires_grad=True):
            made = _as_function(info, given)
            if made is not None:
                yield made


def _as_function(info: Any, given: Any) -> Sample | None:
    """A sample as a function whose arguments are the float64 tensors in the sample's inputs, in order."""
    tensors: list[torch.Tensor] = []

    def out(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype == torch.float64:
            tensors.append(value)
            return _Hole(len(tensors) - 1)
        if type(value) in (list, tuple):
            return type(value)(map(out, value))
        return value

    first, args = out(given.input), out(tuple(given.args))
    named = {key: out(value) for key, value in given.kwargs.items()}
    if not any(x.requires_grad for x in tensors) or not all(x.layout == torch.strided for x in tensors):
        return None

    def function(*operands: torch.Tensor) -> Any:
        def back(value: Any) -> Any:
            if isinstance(value, _Hole):
                return operands[value.place]
            if type(value) in (list, tuple):
                return type(value)(map(back, value))
            return value

        return info.gradcheck_wrapper(
            info.op, back(first), *back(args), **{key: back(value) for key, value in named.items()}
        )

    def output(made: Any) -> Any:
        made = made[0] if isinstance(made, tuple) and len(made) == 1 else made
        made = given.output_process_fn_grad(made)
        return made if isinstance(made, torch.Tensor) else tuple(y for y in made if _is_differentiable(y))

    return Sample(function, tuple(tensors), output, info.gradcheck_fast_mode is not False, info.gradcheck_nondet_tol)


def _is_differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


@dataclass(frozen=True)
class _Hole:
    place: int
