"""One step of an optimizer, by its published formula, in float64.

SGD with momentum, dampening,
weight decay and Nesterov's variant follows Sutskever et al. 2013 as PyTorch's documentation states
it; Adam follows Kingma and Ba 2014 with bias correction. `tests/test_optimizers.py` holds both against optax where its
definition is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rules.language import Ref, Step

Array = np.ndarray


@dataclass
class State:
    """What an optimizer remembers of each leaf: how many steps, and its running averages."""

    steps: dict[Ref, int] = field(default_factory=dict)
    first: dict[Ref, Array] = field(default_factory=dict)
    second: dict[Ref, Array] = field(default_factory=dict)


def stepped(step: Step, state: State, leaf: Ref, value: Array, gradient: Array) -> Array:
    """The value of a leaf after one step; `state` is brought up to date."""
    settings = dict(step.settings)
    state.steps[leaf] = state.steps.get(leaf, 0) + 1
    rate = float(settings.get("lr", 0.001))  # type: ignore[arg-type]
    decay = float(settings.get("weight_decay", 0.0))  # type: ignore[arg-type]
    gradient = (-gradient if settings.get("maximize") else gradient) + decay * value
    if step.optimizer == "sgd":
        return value - rate * _momentum(settings, state, leaf, gradient)
    return value - rate * _adam(settings, state, leaf, gradient)


def _momentum(settings: dict, state: State, leaf: Ref, gradient: Array) -> Array:  # type: ignore[type-arg]
    momentum, dampening = settings.get("momentum", 0.0), settings.get("dampening", 0.0)
    if not momentum:
        return gradient
    old = state.first.get(leaf)
    state.first[leaf] = gradient if old is None else momentum * old + (1 - dampening) * gradient
    return gradient + momentum * state.first[leaf] if settings.get("nesterov") else state.first[leaf]


def _adam(settings: dict, state: State, leaf: Ref, gradient: Array) -> Array:  # type: ignore[type-arg]
    (beta1, beta2), eps = settings.get("betas", (0.9, 0.999)), settings.get("eps", 1e-8)
    n, zero = state.steps[leaf], np.zeros_like(gradient)
    state.first[leaf] = beta1 * state.first.get(leaf, zero) + (1 - beta1) * gradient
    state.second[leaf] = beta2 * state.second.get(leaf, zero) + (1 - beta2) * gradient**2
    return state.first[leaf] / (1 - beta1**n) / (np.sqrt(state.second[leaf] / (1 - beta2**n)) + eps)
