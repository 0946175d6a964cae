"""Recurrent ops: a gated recurrent unit over a sequence, in one direction or both.

They follow the published equations (Cho et al. 2014, with the reset gate after the product, as in cuDNN and PyTorch).
The weights and biases of the reset, update and new gates are stacked; the first state is zero.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.domains import MODERATE, strictly
from autograd_conformance.ops.rows.row import Certainty, Choices, Op, table
from autograd_conformance.programs.language import Shape

HIDDEN = (1, 2)

LONGEST = (5, 3, 3)
"""The largest length of a sequence, size of a batch, and width of an input."""


def _sequence(shape: Shape) -> bool:
    fits = all(1 <= n <= most for n, most in zip(shape, LONGEST, strict=False))
    return len(shape) == 3 and fits and shape[0] * shape[1] <= 6


def _weights(directions: int):
    def rest(first: Shape) -> list[tuple[Shape, ...]]:
        return [((3 * h, first[2]), (3 * h, h), (3 * h,), (3 * h,)) * directions for h in HIDDEN]

    return rest


def _hidden(*shapes: Shape) -> Choices:
    return [{"hidden": shapes[2][1]}]


def _scan(j, x, weights, hidden, reverse=False):
    w_ih, w_hh, b_ih, b_hh = weights
    h = j.np.zeros((x.shape[1], hidden))
    states = [h] * x.shape[0]
    for t in reversed(range(x.shape[0])) if reverse else range(x.shape[0]):
        given, kept = j.np.matmul(x[t], w_ih.T) + b_ih, j.np.matmul(h, w_hh.T) + b_hh
        r, z = (j.nn.sigmoid(given[:, k : k + hidden] + kept[:, k : k + hidden]) for k in (0, hidden))
        n = j.np.tanh(given[:, 2 * hidden :] + r * kept[:, 2 * hidden :])
        h = (1 - z) * n + z * h
        states[t] = h
    return j.np.concatenate([s[None] for s in states], axis=0), h[None]


def _gru(j, x, *weights, hidden):
    return _scan(j, x, weights, hidden)


def _both(j, x, *weights, hidden):
    forward, last = _scan(j, x, weights[:4], hidden)
    backward, first = _scan(j, x, weights[4:], hidden, reverse=True)
    return j.np.concatenate([forward, backward], axis=2), j.np.concatenate([last, first], axis=0)


def _code(directions: int) -> str:
    weights = ", ".join(f"{{{k}}}" for k in range(1, 1 + 4 * directions))
    state = f"{{0}}.new_zeros({directions}, {{0}}.shape[1], {{hidden}})"
    return f"torch.gru({{0}}, {state}, [{weights}], True, 1, 0.0, True, {directions == 2}, False)"


def _op(name: str, directions: int, reference) -> Op:
    fresh = ((2, 1, 3), (2, 2, 3), (3, 2, 1), (5, 1, 2))
    return Op(
        name, _code(directions), reference, Certainty.ALWAYS, accepts=_sequence, fresh=fresh, rest=_weights(directions),
        choices=_hidden,
        domains=(strictly(MODERATE),),  # outside, gates are shut, and derivatives are only rounding errors
    )  # fmt: skip


RECURRENT = table("recurrent", _op("gru", 1, _gru), _op("gru_bidirectional", 2, _both))
