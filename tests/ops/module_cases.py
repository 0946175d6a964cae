"""Test cases of modules: settings of every kind, with operands."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from autograd_conformance.ops.modules import inputs, parameters, results
from autograd_conformance.programs.language import Apply, Attrs, Ref, Shape

Arrays = list[np.ndarray]


class Case(NamedTuple):
    """A module with its settings, the sizes of its parameters and the shape of its input."""

    op: str
    attrs: Attrs
    sizes: dict[str, int]
    first: Shape

    def __str__(self) -> str:
        return f"{self.op}{self.first} " + " ".join(f"{k}={v}" for k, v in self.attrs if v not in (None, False))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the operands."""
        return tuple(name for name, _ in self._named)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes of the operands."""
        return tuple(shape for _, shape in self._named)

    @property
    def _named(self) -> tuple[tuple[str, Shape], ...]:
        before = inputs(self.op, self.attrs, self.sizes, self.first)
        return (*before, *parameters(self.op, self.attrs, self.sizes))

    def operands(self) -> Arrays:
        """Values for the operands, multiples of 1/64; variances are positive."""
        rng = np.random.default_rng(zlib.crc32(str(self).encode()))
        values = [np.round(64 * rng.normal(size=shape)) / 64 for shape in self.shapes]
        return [np.abs(v) + 0.25 if n == "running_var" else v for n, v in zip(self.names, values, strict=True)]

    def requires(self) -> tuple[bool, ...]:
        """For every operand, whether it may require grad."""
        return tuple(not name.startswith("running") for name in self.names)

    def apply(self, *args: Ref) -> Apply:
        """The call of the module."""
        return Apply(self.op, args, self.attrs, results(self.op, self.attrs))


def case(op: str, first: Shape, sizes: dict[str, int], defaults: dict[str, Any], **settings: Any) -> Case:
    assert not settings.keys() - defaults.keys()
    return Case(op, tuple({**defaults, **settings}.items()), sizes, first)


def recurrent(op: str, first: Shape, **settings: Any) -> Case:
    defaults = {"layers": 1, "directions": 1, "batch_first": False, "bias": True, "state": False, "lengths": None}
    return case(op, first, {"inputs": 3, "hidden": 2}, defaults, **settings)


def attention(first: Shape, **settings: Any) -> Case:
    names = ("mask", "padding")
    defaults = {"heads": 1, "bias": True, "batch_first": False, "memory": False, **dict.fromkeys(names)}
    return case("nn_attention", first, {"width": 4, "keys": 3}, {**defaults, "need_weights": False}, **settings)


def encoder(first: Shape, **settings: Any) -> Case:
    defaults = {"heads": 1, "batch_first": False, "norm_first": False, "mask": None, "padding": None}
    return case("nn_transformer", first, {"width": 4, "feedforward": 3}, defaults, **settings)


def plain(op: str, first: Shape, sizes: dict[str, int], **settings: Any) -> Case:
    return Case(op, tuple(settings.items()), sizes, first)


ENDS = ((False, True, True), (False, False, False))
CASES = (
    *(
        built
        for op in ("nn_rnn", "nn_gru", "nn_lstm")
        for built in (
            recurrent(op, (4, 2, 3)),
            recurrent(op, (3, 2, 3), layers=2, directions=2, state=True),
            recurrent(op, (2, 4, 3), layers=3, bias=False, state=True, batch_first=True),
            recurrent(op, (4, 3), directions=2, bias=False, state=True),
            recurrent(op, (4, 3, 3), layers=2, directions=2, state=True, lengths=(2, 4, 1)),
            recurrent(op, (3, 5, 3), batch_first=True, lengths=(2, 4, 1)),
            recurrent(op, (1, 1, 3), state=True),
            recurrent(op, (12, 1, 3)),
        )
    ),
    *(plain("nn_linear", s, {"inputs": 3, "outputs": 2}, bias=b) for b in (True, False) for s in ((3,), (2, 1, 3))),
    *(
        plain(f"nn_conv{rank}d", first, {"inputs": 2, "outputs": 3, "kernel": k}, stride=s, padding=p, bias=b)
        for rank, first in ((1, (2, 2, 6)), (2, (2, 2, 5, 4)), (1, (2, 6)), (2, (2, 5, 5)))
        for k, s, p, b in ((2, 1, 0, True), (3, 2, 1, False), (1, 2, 0, True))
    ),
    *(
        plain(op, first, {"features": 3}, dimensions=dimensions, affine=affine)
        for op in ("nn_batch_norm", "nn_batch_norm_eval")
        for dimensions, first in ((1, (4, 3)), (1, (2, 3, 4)), (2, (2, 3, 2, 2)))
        for affine in (True, False)
    ),
    *(
        plain("nn_layer_norm", (2, 3, 4), {}, normalized_shape=shape, affine=affine)
        for shape in ((4,), (3, 4))
        for affine in (True, False)
    ),
    attention((3, 2, 4)),
    attention((3, 2, 4), heads=2, need_weights=True),
    attention((2, 3, 4), heads=2, bias=False, batch_first=True, mask="causal"),
    attention((2, 2, 4), heads=2, memory=True, need_weights=True, padding=ENDS),
    attention((2, 2, 4), memory=True, batch_first=True, mask="causal", bias=False),
    attention((3, 2, 4), need_weights=True, batch_first=True, mask=((False, True), (False, False))),
    attention((3, 2, 4), mask="causal", padding=ENDS),
    encoder((3, 2, 4)),
    encoder((2, 3, 4), heads=2, norm_first=True, batch_first=True, mask="causal"),
    encoder((3, 2, 4), heads=4, padding=ENDS),
    encoder((3, 1, 4), norm_first=True, mask=((False, True, False),) * 3),
)
FEW = tuple({c.op: c for c in CASES if dict(c.attrs).get("layers", 1) == 1}.values())
"""One case of each module."""

each = pytest.mark.parametrize("case", CASES, ids=str)
one_of_each = pytest.mark.parametrize("case", FEW, ids=str)


def cotangents(made: Any, seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    return [np.round(8 * rng.normal(size=np.shape(m))) / 8 for m in made]


def tensors(case: Case, requires: tuple[bool, ...]) -> list[torch.Tensor]:
    return [torch.tensor(v, requires_grad=r) for v, r in zip(case.operands(), requires, strict=True)]
