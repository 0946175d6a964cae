"""Recurrent networks: cells over a sequence, in layers and directions, by one module or step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.programs.language import Attrs, Literal, Ref, Shape
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.networks.network import (
    WEIGHT,
    Network,
    Parameters,
    affine,
    apply_module,
    by_module,
    concatenated,
    op,
    stacked,
)

CELLS = ("gru", "lstm", "rnn")
STATES = {"rnn": 1, "gru": 1, "lstm": 2}


class Settings(NamedTuple):
    """The settings of a recurrent module."""

    layers: int = 1
    """Number of layers; each gets the outputs of the one before."""

    directions: int = 1
    """Number of directions: 2 if each layer also processes the sequence backwards."""

    batch_first: bool = False
    """Whether the batch is the first dimension of inputs; otherwise time is first and the batch second."""

    bias: bool = True
    """Whether cells have biases."""

    state: bool = False
    """Whether the first state is an input; otherwise it is zeros."""

    def attrs(self, lengths: tuple[int, ...] | None = None) -> Attrs:
        """Returns the settings as attributes of the module, with the sequences' lengths if the batch is packed."""
        return (*zip(self._fields, self, strict=True), ("lengths", lengths))


SETTINGS = (
    Settings(),
    Settings(state=True),
    Settings(layers=2, batch_first=True),
    Settings(batch_first=True, state=True),
    Settings(layers=2, bias=False, state=True),
    Settings(directions=2, state=True),
    Settings(layers=2, directions=2, batch_first=True),
    Settings(directions=2, batch_first=True, bias=False),
    Settings(layers=2, directions=2, state=True),
)
"""Combinations of settings: almost every pair of values of two settings occurs. There are few rows because JAX, which
computes the right values, traces each separately.
"""

CARRYING = tuple(s for s in SETTINGS if s.state and s.directions == 1)
"""Settings of networks whose last state can be the first state of another call: the first state is an input, and there
is one direction.
"""

WIDTHS = (1, 2)
SIZES = ((2, 1), (3, 2), (1, 2), (2, 0), (5, 1), (3, 3))
"""Pairs of a sequence length and a batch size; batch size 0 is an input without a batch dimension."""

LONG = (12, 1)
"""Length and batch size of the longest sequence, which is drawn rarely."""


@dataclass(frozen=True)
class Recurrent(Network):
    """Layers of one kind of cell. The results are the outputs at all times, then the last states."""

    cell: str
    """The kind of cell: "gru", "lstm" or "rnn"."""

    settings: Settings
    """The options of the framework's module, such as the number of layers and directions."""

    @property
    def modules(self) -> tuple[str, ...]:
        return (f"nn_{self.cell}",)

    @property
    def states(self) -> int:
        """Number of values that a state consists of: 2 for "lstm", else 1."""
        return STATES[self.cell]

    def module(self, a: Draft, *inputs: Ref) -> list[Ref]:
        return apply_module(a, f"nn_{self.cell}", self.settings.attrs(), (*inputs, *self.operands))

    def packed(self, a: Draft, lengths: tuple[int, ...], *inputs: Ref) -> list[Ref]:
        """Applies the module to a packed batch of sequences of different lengths."""
        return apply_module(a, f"nn_{self.cell}", self.settings.attrs(lengths), (*inputs, *self.operands))

    def composed(self, a: Draft, *inputs: Ref) -> list[Ref]:
        layers, directions, *_ = self.settings
        x, *starts = inputs
        along = self.time_dim(a, x)
        starts = starts or [self._zeros(a, x)] * self.states
        count = len(self.operands) // (layers * directions)
        ends: list[tuple[Ref, ...]] = []
        for layer in range(layers):
            outs = []
            for k in range(layer * directions, (layer + 1) * directions):
                state = tuple([op(a, "select", s, dim=0, index=k) for s in starts])
                weights = self.operands[count * k : count * (k + 1)]
                out, last = self._layer(a, x, state, weights, along, reverse=k > layer * directions)
                outs.append(out)
                ends.append(last)
            x = concatenated(a, outs, len(a.shape(x)) - 1)
        return [x, *(stacked(a, parts, 0) for parts in zip(*ends, strict=True))]

    def _layer(
        self, a: Draft, x: Ref, state: tuple[Ref, ...], weights: tuple[Ref, ...], along: int, reverse: bool
    ) -> tuple[Ref, tuple[Ref, ...]]:
        """Computes one layer in one direction, and returns the outputs at all times and the last state."""
        w_ih, w_hh, *biases = weights
        b_ih, b_hh = biases or (None, None)
        given = affine(a, x, w_ih, b_ih)
        (name,) = a.available("unstack")
        times = a.apply(name, (given,), (("dim", along),))
        outs = []
        for at in times[::-1] if reverse else times:
            state = next_state(a, self.cell, at, affine(a, state[0], w_hh, b_hh), state)
            outs.append(state[0])
        return stacked(a, outs[::-1] if reverse else outs, along), state

    def time_dim(self, a: Draft, x: Ref) -> int:
        """Returns the index of the input's time dimension."""
        return 1 if self.settings.batch_first and len(a.shape(x)) == 3 else 0

    def batch(self, a: Draft, x: Ref) -> tuple[int, ...]:
        """Returns the size of the batch as a tuple; empty if the input has no batch dimension."""
        return (a.shape(x)[1 - self.time_dim(a, x)],) if len(a.shape(x)) == 3 else ()

    def state_shape(self, a: Draft, x: Ref) -> Shape:
        """Returns the shape of a state for an input: (layers times directions, batch, hidden), or without the batch if
        the input has none.
        """
        hidden = a.shape(self.operands[1])[1]  # weight_hh_l0
        return (self.settings.layers * self.settings.directions, *self.batch(a, x), hidden)

    def _zeros(self, a: Draft, x: Ref) -> Ref:
        shape = self.state_shape(a, x)
        return a.leaf(value=Literal((0.0,) * size(shape), shape, a.operands.dtype), requires_grad=False)

    def sequence(self, a: Draft, time: int, batch: int, requires_grad: bool = False) -> Ref:
        """Adds a leaf that is an input of `time` steps; with `batch` of 0 it has no batch dimension."""
        inputs = a.shape(self.operands[0])[1]
        shape = (batch, time) if self.settings.batch_first else (time, batch)
        return a.leaf((*shape, inputs) if batch else (time, inputs), requires_grad, WEIGHT)

    def first(self, a: Draft, x: Ref, requires_grad: bool = False) -> list[Ref]:
        """Adds leaves that are the first state for an input: two for "lstm", else one."""
        return [a.leaf(self.state_shape(a, x), requires_grad, WEIGHT) for _ in range(self.states)]

    def inputs(self, a: Draft, requires_grad: bool = False) -> list[Ref]:
        x = self.sequence(a, *sizes(a), requires_grad)
        return [x, *(self.first(a, x, requires_grad) if self.settings.state else ())]


def sizes(a: Draft) -> tuple[int, int]:
    """Draws a sequence length and a batch size; 0 means no batch dimension."""
    return LONG if a.below(24) == 23 else a.pick(SIZES)


def recurrent(
    a: Draft,
    cell: str | None = None,
    width_in: int | None = None,
    hidden: int | None = None,
    settings: Settings | None = None,
    frozen: bool = False,
) -> Recurrent:
    """Draws a recurrent network. Arguments that are None are drawn."""
    cell = cell or a.pick(CELLS)
    settings = settings or a.pick(SETTINGS)
    width_in = a.pick(WIDTHS) if width_in is None else width_in
    hidden = a.pick(WIDTHS) if hidden is None else hidden
    drawn = Parameters(a, frozen)
    drawn.for_module(f"nn_{cell}", settings.attrs(), inputs=width_in, hidden=hidden)
    return Recurrent(drawn.refs, drawn.names, by_module(a, f"nn_{cell}"), cell, settings)


def next_state(a: Draft, cell: str, given: Ref, kept: Ref, state: tuple[Ref, ...]) -> tuple[Ref, ...]:
    """Computes one step of a cell: the next state, from the affine maps of the input (`given`) and of the hidden state
    (`kept`).
    """
    match cell:
        case "rnn":
            return (op(a, "tanh", op(a, "add", given, kept)),)
        case "gru":
            (h,) = state
            (gr, gz, gn), (kr, kz, kn) = _gates(a, given, 3), _gates(a, kept, 3)
            r, z = (op(a, "sigmoid", op(a, "add", g, k)) for g, k in ((gr, kr), (gz, kz)))
            n = op(a, "tanh", op(a, "add", gn, op(a, "multiply", r, kn)))
            rest = op(a, "subtract", n, op(a, "multiply", z, n))
            return (op(a, "add", rest, op(a, "multiply", z, h)),)
        case "lstm":
            _, c = state
            i, f, g, o = _gates(a, op(a, "add", given, kept), 4)
            i, f, o = (op(a, "sigmoid", gate) for gate in (i, f, o))
            c = op(a, "add", op(a, "multiply", f, c), op(a, "multiply", i, op(a, "tanh", g)))
            return op(a, "multiply", o, op(a, "tanh", c)), c
        case _:
            raise ValueError(cell)


def _gates(a: Draft, values: Ref, count: int) -> list[Ref]:
    """Splits values along the last dimension into `count` gates."""
    (name,) = a.available("split")
    *_, width = shape = a.shape(values)
    return a.apply(name, (values,), (("sizes", (width // count,) * count), ("dim", len(shape) - 1)))


NEEDED = ("select", "unstack", "expand_dims", "concat", "tanh", "add")
"""Ops that a composed network needs for any cell, besides those of linear layers."""

CELL_OPS = {
    "rnn": (),
    "gru": ("split", "sigmoid", "multiply", "subtract"),
    "lstm": ("split", "sigmoid", "multiply"),
}


def composable(a: Draft, cell: str) -> bool:
    """Whether the framework has the ops that a cell can be composed of."""
    ops = set(a.alphabet.ops)
    maps = "linear" in ops or {"matmul", "matrix_transpose"} <= ops
    return maps and ops.issuperset((*NEEDED, *CELL_OPS[cell]))
