"""Recurrent modules: layers of cells over a sequence, in one direction or both, in one call.

They follow the published equations: Elman (1990) with tanh, Cho et al. (2014) with the reset gate applied after the
product, Hochreiter and Schmidhuber (1997) with forget gates. The weights and biases of the gates are stacked in the
order of PyTorch's documentation: reset, update, new; input, forget, cell, output.

If the sequences of a batch have separate `lengths`, a step after a sequence's end keeps its state and returns zeros. In
the backward direction, each sequence begins at its own end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograd_conformance.ops.modules.module import (
    Call,
    Given,
    Module,
    Named,
    Settings,
    Size,
    Sizes,
    made,
    module,
    unless,
)
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np


def _elman(j, given, state, w, b):
    return (j.np.tanh(given + _affine(j, state[0], w, b)),)


def _gru(j, given, state, w, b):
    (h,) = state
    gr, gz, gn = j.np.split(given, 3, axis=-1)
    kr, kz, kn = j.np.split(_affine(j, h, w, b), 3, axis=-1)
    r, z = j.nn.sigmoid(gr + kr), j.nn.sigmoid(gz + kz)
    return ((1 - z) * j.np.tanh(gn + r * kn) + z * h,)


def _lstm(j, given, state, w, b):
    h, c = state
    i, f, g, o = j.np.split(given + _affine(j, h, w, b), 4, axis=-1)
    c = j.nn.sigmoid(f) * c + j.nn.sigmoid(i) * j.np.tanh(g)
    return j.nn.sigmoid(o) * j.np.tanh(c), c


def _affine(j, x, w, b):
    out = j.np.matmul(x, w.T)
    return out if b is None else out + b


def _over(j, cell, x, state, weights, inside, reverse):
    """One layer in one direction: the output of every step, and the last state. `inside` masks the steps that are
    inside a sequence.
    """
    w_ih, w_hh, *biases = weights
    b_ih, b_hh = biases or (None, None)

    def step(state, at):
        given, counts = at
        new = cell(j, given, state, w_hh, b_hh)
        if counts is None:
            return new, new[0]
        kept = tuple(j.np.where(counts, n, old) for n, old in zip(new, state, strict=True))
        return kept, j.np.where(counts, new[0], 0.0)

    last, out = j.lax.scan(step, state, (_affine(j, x, w_ih, b_ih), inside), reverse=reverse)
    return out, last


def _recurrent(cell: Callable[..., Any], states: int) -> Callable[..., Any]:
    def reference(j, x, *operands, layers, directions, batch_first, bias, state, lengths):
        alone, swapped = x.ndim == 2, batch_first and x.ndim == 3
        x = x[:, None] if alone else j.np.swapaxes(x, 0, 1) if swapped else x
        weights = operands[states * state :]
        count, hidden = 4 if bias else 2, weights[1].shape[1]
        zeros = j.np.zeros((layers * directions, x.shape[1], hidden))
        starts = [s[:, None] if alone else s for s in operands[:states]] if state else [zeros] * states
        inside = None
        if lengths is not None:
            inside = j.np.asarray(np.arange(x.shape[0])[:, None, None] < np.array(lengths)[None, :, None])
        ends = []
        for layer in range(layers):
            outs = []
            for k in range(layer * directions, (layer + 1) * directions):
                start = tuple(j.lax.index_in_dim(s, k, axis=0, keepdims=False) for s in starts)
                used = weights[count * k : count * (k + 1)]
                out, last = _over(j, cell, x, start, used, inside, reverse=k > layer * directions)
                outs.append(out)
                ends.append(last)
            x = j.np.concatenate(outs, axis=2) if directions > 1 else outs[0]
        last = [j.np.stack(s, axis=0) for s in zip(*ends, strict=True)]
        if alone:
            return (x[:, 0], *(s[:, 0] for s in last))
        return (j.np.swapaxes(x, 0, 1) if swapped else x, *last)

    return reference


def _parameters(gates: int) -> Callable[[Settings, Sizes], Named]:
    def parameters(settings: Settings, sizes: Sizes) -> Named:
        hidden = sizes["hidden"]
        named: list[tuple[str, Shape]] = []
        for layer in range(settings["layers"]):
            inputs = sizes["inputs"] if layer == 0 else settings["directions"] * hidden
            for suffix in (f"_l{layer}", f"_l{layer}_reverse")[: settings["directions"]]:
                named += [("weight_ih" + suffix, (gates * hidden, inputs))]
                named += [("weight_hh" + suffix, (gates * hidden, hidden))]
                if settings["bias"]:
                    named += [(name + suffix, (gates * hidden,)) for name in ("bias_ih", "bias_hh")]
        return tuple(named)

    return parameters


def _states(names: tuple[str, ...]) -> Callable[[Settings, Sizes, Shape], Named]:
    def states(settings: Settings, sizes: Sizes, first: Shape) -> Named:
        batch = () if len(first) == 2 else (first[0 if settings["batch_first"] else 1],)
        shape = (settings["layers"] * settings["directions"], *batch, sizes["hidden"])
        return tuple((name, shape) for name in names) if settings["state"] else ()

    return states


def _call(kind: str, states: Sequence[str]) -> Callable[[Given, Settings], Call]:
    pair = len(states) > 1

    def call(given: Given, settings: Settings) -> Call:
        x, batch_first = given["x"], settings["batch_first"]
        layers = made(
            kind, Size("x", -1), Size("weight_hh_l0", 1),
            num_layers=unless(1, settings["layers"]), bias=unless(True, settings["bias"]),
            batch_first=unless(False, batch_first), bidirectional=unless(1, settings["directions"]) and "True",
        )  # fmt: skip
        begin = [given[s] for s in states] if settings["state"] else []
        begin = [f"({', '.join(begin)})"] if pair and begin else begin
        if settings["lengths"] is None:
            return Call(layers, (x, *begin), nested=pair)
        first = ", batch_first=True" if batch_first else ""
        packed = f"{x}, {list(settings['lengths'])}{first}, enforce_sorted=False"
        padded = f"pad_packed_sequence(y{first}, total_length={x}.shape[{int(batch_first)}])[0]"
        return Call(
            layers,
            (f"torch.nn.utils.rnn.pack_padded_sequence({packed})", *begin),
            result=f"(lambda y, s: (torch.nn.utils.rnn.{padded}, {'*s' if pair else 's'}))(*{{call}})",
        )

    return call


def _module(name: str, kind: str, cell: Callable[..., Any], gates: int, states: tuple[str, ...]) -> Module:
    return module(
        name,
        _call(kind, states),
        _recurrent(cell, len(states)),
        _parameters(gates),
        ("inputs", "hidden"),
        (("layers", 1), ("directions", 1), ("batch_first", False), ("bias", True), ("state", True), ("lengths", None)),
        _states(states),
        lambda settings: 1 + len(states),
        others=((("lengths", (1,)),),),
    )


RECURRENT = (
    _module("nn_rnn", "RNN", _elman, 1, ("h0",)),
    _module("nn_gru", "GRU", _gru, 3, ("h0",)),
    _module("nn_lstm", "LSTM", _lstm, 4, ("h0", "c0")),
)
