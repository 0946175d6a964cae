"""An elementwise recurrent step, for frameworks with few ops: the elements do not mix.

h' = f(w * h + u * x), element by element (Li et al. 2018, IndRNN).
"""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.networks.network import WEIGHT, Parameters, op

ACTIVATIONS = ("tanh", "sin", "sigmoid", "atan")
SHAPES = ((2,), (1,), (2, 2))


@dataclass(frozen=True)
class Elementwise:
    """A recurrent step h' = f(w * h + u * x), whose elements do not mix."""

    weights: tuple[Ref, Ref]
    """The weights of the state and of the input: w and u."""

    activation: str | None
    """The op f; None if the framework has none of `ACTIVATIONS`."""

    @property
    def parameters(self) -> tuple[Ref, ...]:
        """The parameter leaves, each once."""
        return tuple(dict.fromkeys(self.weights))

    def step(self, a: Draft, x: Ref, state: Ref) -> Ref:
        """Computes the next state from an input and a state."""
        w, u = self.weights
        made = op(a, "add", op(a, "multiply", state, w), op(a, "multiply", x, u))
        return op(a, self.activation, made) if self.activation else made

    def input(self, a: Draft, requires_grad: bool = False) -> Ref:
        """Adds a leaf of the weights' shape, to be used as an input or as the first state."""
        return a.leaf(a.shape(self.weights[0]), requires_grad, WEIGHT)


def elementwise(a: Draft) -> Elementwise:
    """Draws a recurrent step f(w * h + u * x) whose elements do not mix; w and u may be the same leaf."""
    drawn, shape = Parameters(a), a.pick(SHAPES)
    weights = drawn.leaf("w", shape), drawn.leaf("u", shape)
    known = [name for name in ACTIVATIONS if name in a.alphabet.ops]
    return Elementwise(weights, a.pick(known) if known else None)
