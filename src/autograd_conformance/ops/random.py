"""Random ops: what the framework's own generator draws is observed, and all the rest follows from it.

A drawing op seeds the generator and makes a value without history, which the reference takes as it was seen, if it may
have been drawn at all. Dropout seeds it again, so that the mask is the one that the drawing op showed; the mask is an
operand for the reference alone. Left out, because what they draw cannot be seen apart from what they make of it:
alpha dropout, randomized leaky ReLU, fractional pooling, Gumbel softmax.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.row import Certainty, Op, table
from autograd_conformance.ops.rows.shapes import offer
from autograd_conformance.programs.own_numpy import np

SEEDED = "(torch.manual_seed({{seed}}), {})[1]"


def _kept(value: np.ndarray, p: float, seed: int) -> bool:
    """Whether each element is dropped or scaled."""
    off = np.abs(value - 1 / (1 - p))
    return bool(((value == 0) | (off <= 1e-6)).all())


def _finite(value: np.ndarray, seed: int) -> bool:
    return bool(np.isfinite(value).all())


def _unit(value: np.ndarray, seed: int) -> bool:
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
"""What a drawing op draws is only known when it was seen: until then the reference takes a number in its place."""
