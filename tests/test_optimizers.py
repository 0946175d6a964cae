"""The reference's optimizers against optax, where its definitions are the same, and against PyTorch elsewhere."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from rules.language import Attrs, Ref, Step
from rules.reference import namespace
from rules.reference.optimizers import State, stepped

A = Ref(0)
START = np.array([1.0, -2.0, 0.5])
GRADIENTS = [np.array([0.5, 1.0, -3.0]), np.array([-1.0, 0.0, 2.0]), np.array([4.0, -0.25, 1.0])]


def ours(name: str, settings: Attrs) -> np.ndarray:
    step, state, value = Step((A,), name, settings), State(), START
    for gradient in GRADIENTS:
        value = stepped(step, state, A, value, gradient)
    return value


OPTAX = {
    "sgd": (("sgd", (("lr", 0.1),)), optax.sgd(0.1)),
    "momentum": (("sgd", (("lr", 0.1), ("momentum", 0.9))), optax.sgd(0.1, momentum=0.9)),
    "nesterov": (
        ("sgd", (("lr", 0.1), ("momentum", 0.9), ("nesterov", True))),
        optax.sgd(0.1, momentum=0.9, nesterov=True),
    ),
    "decay": (
        ("sgd", (("lr", 0.1), ("weight_decay", 0.5))),
        optax.chain(optax.add_decayed_weights(0.5), optax.sgd(0.1)),
    ),
    "adam": (("adam", (("lr", 0.1),)), optax.adam(0.1)),
    "adam with settings": (
        ("adam", (("lr", 0.1), ("betas", (0.5, 0.75)), ("eps", 1e-3))),
        optax.adam(0.1, b1=0.5, b2=0.75, eps=1e-3),
    ),
}


@pytest.mark.parametrize("name", OPTAX)
def test_optax_agrees(name: str) -> None:
    assert namespace.J  # JAX in float64
    (optimizer, settings), theirs = OPTAX[name]
    value = jnp.array(START)
    state = theirs.init(value)
    for gradient in GRADIENTS:
        update, state = theirs.update(jnp.array(gradient), state, value)
        value = optax.apply_updates(value, update)
    np.testing.assert_allclose(ours(optimizer, settings), value, rtol=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        (("lr", 0.1), ("momentum", 0.9), ("dampening", 0.5)),
        (("lr", 0.1), ("maximize", True)),
        (("lr", 0.1), ("momentum", 0.9), ("weight_decay", 0.25), ("nesterov", True)),
    ],
)
def test_pytorch_agrees(settings: Attrs) -> None:
    value = torch.tensor(START, requires_grad=True)
    optimizer = torch.optim.SGD([value], **dict(settings))
    for gradient in GRADIENTS:
        value.grad = torch.tensor(gradient)
        optimizer.step()
    np.testing.assert_allclose(ours("sgd", settings), value.detach().numpy(), rtol=1e-12)


def test_a_wrong_rate_is_seen() -> None:
    assert not np.allclose(ours("adam", (("lr", 0.1),)), ours("adam", (("lr", 0.101),)))
