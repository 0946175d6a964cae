"""Layouts: the view op computes the value from its base, and in PyTorch the value has the layout in memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.strategies.building.layouts import (
    LAYOUTS,
    LEAST_RANK,
    Layout,
    differs_from_contiguous,
    downstream_op,
    equal_along,
    view,
)

SHAPES = ((3,), (2, 3), (3, 2), (2, 2, 3), (1, 3), (3, 1), (0, 3), (1, 2, 1, 2))

DENSE = ("reversed",)
"""The layouts for which PyTorch copies."""

ADAPTER = Torch()


def value(shape: tuple[int, ...], layout: Layout) -> np.ndarray:
    made = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    return equal_along(made, int(np.argmax(shape))) if layout == "expanded" and made.size else made


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_view_is_the_value(shape: tuple[int, ...], layout: Layout) -> None:
    wanted = value(shape, layout)
    made = view(wanted, layout)
    if made is None:
        assert len(shape) < LEAST_RANK[layout] or (layout == "expanded" and max(shape) <= 1) or not wanted.size
        return
    (got,) = ADAPTER.apply(made.op, [torch.tensor(made.base.copy())], made.attrs)
    assert got.shape == wanted.shape
    assert np.array_equal(got.numpy(), wanted)


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout not in (*DENSE, "offset")])
def test_the_value_is_not_contiguous(layout: Layout) -> None:
    wanted = value((2, 3, 4), layout)
    made = view(wanted, layout)
    assert made is not None
    (got,) = ADAPTER.apply(made.op, [torch.tensor(made.base.copy())], made.attrs)
    assert not got.is_contiguous()


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout not in (*DENSE, "offset")])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_differ_from_contiguous_where_predicted(shape: tuple[int, ...], layout: Layout) -> None:
    made = view(value(shape, layout), layout)
    if differs_from_contiguous(shape, layout):
        assert made is not None
        (got,) = ADAPTER.apply(made.op, [torch.tensor(made.base.copy())], made.attrs)
        assert not got.is_contiguous()
    elif made is not None and layout != "expanded":
        (got,) = ADAPTER.apply(made.op, [torch.tensor(made.base.copy())], made.attrs)
        assert got.is_contiguous()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_downstream_ops_fit_every_shape(shape: tuple[int, ...], layout: Layout) -> None:
    made = downstream_op(shape, layout)
    assert (made is None) == (len(shape) < LEAST_RANK[layout])
    if made is not None:
        ADAPTER.apply(made[0], [torch.ones(shape)], made[1])


def test_a_cotangent_is_not_contiguous() -> None:
    leaf = torch.ones(2, 3, requires_grad=True)
    seen: list[torch.Tensor] = []
    leaf.register_hook(seen.append)
    op, attrs = downstream_op((2, 3), "expanded") or ("", ())
    ADAPTER.apply(op, [leaf], attrs)[0].backward(torch.ones(3))
    assert seen[0].stride() == (0, 1)
