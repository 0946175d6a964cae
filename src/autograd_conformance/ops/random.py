"""Random ops: the values that a framework's generator draws are observed, and all later values are computed from them.

A drawing op seeds the generator and makes a value without a history. The reference adopts the observed value if it is a
possible one. Dropout seeds the generator again, so that its mask is the one that `dropout_mask` returned; the mask is
an operand for the reference only. Ops whose draws cannot be observed separately from their results are not included:
alpha dropout, randomized leaky ReLU, fractional pooling, Gumbel softmax.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.row import Certainty, Op, table
from autograd_conformance.ops.rows.shapes import offer
from autograd_conformance.programs.own_numpy import np

SEEDED = "(torch.manual_seed({{seed}}), {})[1]"


def _kept(value: np.ndarray, near: float, p: float, seed: int) -> bool:
    """Whether each element of an observed dropout mask is either 0 (dropped) or 1 / (1 - p) (scaled), up to `near`."""
    off = np.abs(value - 1 / (1 - p))
    return bool(((value == 0) | (off <= near)).all())


def _finite(value: np.ndarray, near: float, seed: int) -> bool:
    return bool(np.isfinite(value).all())


def _unit(value: np.ndarray, near: float, seed: int) -> bool:
    return bool(((value >= 0) & (value < 1)).all())


SEEDS = (0, 1, 7, 2147483647)

RANDOM_OPS = table(
    "random",
    Op(
        "dropout_mask", SEEDED.format("F.dropout(torch.ones_like({0}), {p})"),
        lambda j, x, p, seed: j.np.full(x.shape, 1 / (1 - p)), Certainty.NEVER,
        choices=offer(p=(0.5, 0.25), seed=SEEDS), draws=_kept,
    ),
    Op(
        "random_normal", SEEDED.format("torch.randn_like({0})"),
        lambda j, x, seed: j.np.full(x.shape, 0.5), Certainty.NEVER, choices=offer(seed=SEEDS), draws=_finite,
    ),
    Op(
        "random_uniform", SEEDED.format("torch.rand_like({0})"),
        lambda j, x, seed: j.np.full(x.shape, 0.5), Certainty.NEVER, choices=offer(seed=SEEDS), draws=_unit,
    ),
    Op(
        "dropout", SEEDED.format("F.dropout({0}, {p})"), lambda j, x, mask, p, seed: x * mask, Certainty.ALWAYS,
        unsaved=(1,), choices=offer(p=(0.5, 0.25), seed=SEEDS),
    ),
)  # fmt: skip
"""The rows of random ops. Except for `dropout`, their reference functions return placeholders, which are replaced by
the values that the framework drew.
"""
