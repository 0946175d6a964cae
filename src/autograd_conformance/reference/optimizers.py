"""One step of an optimizer on one leaf: optax's own transformations, traced by JAX and run by NumPy in float64.

Where PyTorch and optax define a setting differently, the published formula is written here as a transformation of
optax; `ops.optimizers` names the source of each setting. A transformation's state is flattened to arrays, the step
count among them, so that one staged function computes every step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.language import Attr, Attrs, Clip, Ref, Shape
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.cache import store
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.reference.staging.intervals import Interval, enclosures, stage_enclosures
from autograd_conformance.reference.staging.numpy_source import stage
from autograd_conformance.reference.staging.source import Source, Staged

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    import optax
else:
    from autograd_conformance.reference.staging.lazy_modules import jax, jnp, optax

KEPT = 1024
"""Largest number of combinations of an optimizer, its settings and a shape whose NumPy functions are kept in memory."""


@dataclass
class LeafState:
    """An optimizer's state for one leaf: its averages and counts (`memory`), the value and gradient of every step so
    far (`history`), and the value after the latest step (`moved`).
    """

    memory: tuple[Array, ...] | None = None
    history: list[tuple[Array, Array]] = field(default_factory=list)
    moved: Array | None = None


def stepped(optimizer: str, settings: Mapping[str, Attr], state: LeafState, value: Array, gradient: Array) -> Array:
    """Returns the value of a leaf after one step; `state` is updated.

    `value` and `gradient` are float64 arrays of one shape. Settings that choose an implementation, such as ``fused``,
    are ignored.
    """
    value, gradient = np.array(value), np.array(gradient)  # copies, because `state` stores them
    start, step = _staged(optimizer, tuple(settings.items()), value.shape)
    moved, *memory = step(value, gradient, *(start() if state.memory is None else state.memory))
    state.memory, state.moved = tuple(memory), np.asarray(moved)
    state.history.append((value, gradient))
    return state.moved


def slack(optimizer: str, settings: Mapping[str, Attr], state: LeafState, dtype: str) -> Array:
    """Returns, for each element, the largest distance from `state.moved` at which a correct step in `dtype` may end.

    All steps so far are repeated in interval arithmetic, with each operation rounded outwards. Values and gradients are
    exact, as they were observed, and the averages accumulate the roundings of all steps. The result is infinite where
    there is no bound: at the root of a difference that rounding may make negative, or where an operation may overflow.
    """
    if state.moved is None:
        raise ValueError("no step was made")
    given, shape = tuple(settings.items()), state.moved.shape
    start, _ = _staged(optimizer, given, shape)
    enclosing = _enclosing(optimizer, _formula(optimizer, given), shape)
    memory = [Interval.exact(m) for m in start()]
    for value, gradient in state.history:
        bounds, *memory = enclosures(enclosing, [Interval.exact(value), Interval.exact(gradient), *memory], dtype)
    with np.errstate(invalid="ignore"):
        off = np.maximum(bounds.high - state.moved, state.moved - bounds.low)
    return np.where(np.isnan(off), np.inf, off)


# -- clipping ----------------------------------------------------------------------------------------------------------


CLIPPING_EPSILON = 1e-6
"""The number that is added to the norm before the bound is divided by the norm."""


def clipped(step: Clip, gradients: Mapping[Ref, Array]) -> dict[Ref, Array]:
    """Returns the gradients of leaves after clipping by value or by their common norm."""
    if step.kind == "value":
        return {leaf: np.clip(gradient, -step.bound, step.bound) for leaf, gradient in gradients.items()}
    total = np.sqrt(sum(float((gradient**2).sum()) for gradient in gradients.values()))
    factor = min(1.0, step.bound / (total + CLIPPING_EPSILON))
    return {leaf: gradient * factor for leaf, gradient in gradients.items()}


# -- the formulas ------------------------------------------------------------------------------------------------------


def transformation(optimizer: str, settings: Mapping[str, Attr]) -> optax.GradientTransformation:
    """Returns an optimizer as a transformation of optax, from a gradient to the change of a value."""
    given = SimpleNamespace(**OPTIMIZERS[optimizer].formula(settings))
    first = [optax.scale(-1.0)] if given.maximize else []
    if given.weight_decay and optimizer != "adamw":
        first.append(optax.add_decayed_weights(given.weight_decay))
    return optax.chain(*first, _FORMULAS[optimizer](given))


def _sgd(s: Any) -> optax.GradientTransformation:
    if s.momentum and s.dampening:
        dampened = _dampened(s.momentum, s.dampening, s.nesterov)
        return optax.chain(dampened, optax.scale_by_learning_rate(s.lr))
    return optax.sgd(s.lr, momentum=s.momentum or None, nesterov=s.nesterov)


def _adam(s: Any) -> optax.GradientTransformation:
    if s.amsgrad:
        return optax.chain(_amsgrad(s.betas, s.eps), optax.scale_by_learning_rate(s.lr))
    return optax.adam(s.lr, *s.betas, eps=s.eps)


def _adamw(s: Any) -> optax.GradientTransformation:
    if s.amsgrad:
        decayed = optax.add_decayed_weights(s.weight_decay)
        return optax.chain(_amsgrad(s.betas, s.eps), decayed, optax.scale_by_learning_rate(s.lr))
    return optax.adamw(s.lr, *s.betas, eps=s.eps, weight_decay=s.weight_decay)


def _rmsprop(s: Any) -> optax.GradientTransformation:
    momentum = s.momentum or None
    return optax.rmsprop(s.lr, s.alpha, s.eps, eps_in_sqrt=False, centered=s.centered, momentum=momentum)


def _dampened(momentum: float, dampening: float, nesterov: bool) -> optax.GradientTransformation:
    """Returns momentum with dampening: the buffer starts as the first gradient, and later adds (1 - dampening) times
    the gradient.
    """

    def init(value: Any) -> Any:
        return jnp.zeros((), jnp.int32), jnp.zeros_like(value)

    def update(gradient: Any, state: Any, value: Any = None) -> Any:
        count, buffer = state
        buffer = jnp.where(count == 0, gradient, momentum * buffer + (1 - dampening) * gradient)
        return (gradient + momentum * buffer if nesterov else buffer), (count + 1, buffer)

    return optax.GradientTransformation(init, update)


def _amsgrad(betas: tuple[float, float], eps: float) -> optax.GradientTransformation:
    """Returns AMSGrad: Adam with the largest mean of squared gradients so far, bias-corrected after the maximum is
    taken.
    """
    beta1, beta2 = betas

    def init(value: Any) -> Any:
        zeros = jnp.zeros_like(value)
        return jnp.zeros((), jnp.int32), zeros, zeros, zeros

    def update(gradient: Any, state: Any, value: Any = None) -> Any:
        count, first, second, largest = state
        count = count + 1
        first = beta1 * first + (1 - beta1) * gradient
        second = beta2 * second + (1 - beta2) * gradient**2
        largest = jnp.maximum(largest, second)
        root = jnp.sqrt(largest / (1 - beta2**count))
        return first / (1 - beta1**count) / (root + eps), (count, first, second, largest)

    return optax.GradientTransformation(init, update)


def _adagrad(s: Any) -> optax.GradientTransformation:
    """Returns Adagrad: the gradient over the root of the sum of all squares so far, at a rate that decays with the
    steps.
    """

    def init(value: Any) -> Any:
        return jnp.zeros((), jnp.int32), jnp.full_like(value, s.initial_accumulator_value)

    def update(gradient: Any, state: Any, value: Any = None) -> Any:
        count, total = state
        total = total + gradient**2
        rate = s.lr / (1 + count * s.lr_decay)
        return -rate * (gradient / (jnp.sqrt(total) + s.eps)), (count + 1, total)

    return optax.GradientTransformation(init, update)


_FORMULAS: dict[str, Callable[[Any], optax.GradientTransformation]] = {
    "sgd": _sgd, "adam": _adam, "adamw": _adamw, "adagrad": _adagrad, "rmsprop": _rmsprop,
}  # fmt: skip


# -- from transformations to functions of arrays -----------------------------------------------------------------------


@lru_cache(maxsize=KEPT)
def _formula(optimizer: str, settings: Attrs) -> Attrs:
    return tuple(OPTIMIZERS[optimizer].formula(dict(settings)).items())


@lru_cache(maxsize=KEPT)
def _staged(optimizer: str, settings: Attrs, shape: Shape) -> tuple[Staged, Staged]:
    """Returns two NumPy functions: one makes the initial state of a leaf, the other maps a value, a gradient and a
    state to the next value and state.
    """
    attrs = _formula(optimizer, settings)
    key = (_optax(), optimizer, attrs, shape)

    def make(which: int) -> Callable[[], Source]:
        def made() -> Source:
            functions, shapes = _functions(optimizer, attrs, shape)
            return stage(functions[which], *(shapes if which else ()))

        return made

    start, step = (store().staged((f"optimizer's {part}", *key), make(k)) for k, part in enumerate(("start", "step")))
    return start.function, step.function


@lru_cache(maxsize=KEPT)
def _enclosing(optimizer: str, attrs: Attrs, shape: Shape) -> Staged:
    """Returns one step of an optimizer as a function of intervals, which encloses the result for any rounding."""

    def made() -> Source:
        (_, step), shapes = _functions(optimizer, attrs, shape)
        return stage_enclosures(jax.make_jaxpr(step)(*(jax.ShapeDtypeStruct(s, np.float64) for s in shapes)))

    return store().staged(("optimizer's enclosure", _optax(), optimizer, attrs, shape), made).function


@lru_cache(maxsize=1)
def _optax() -> str:
    """Returns the version of optax, which is part of the keys of staged functions."""
    return version("optax")


def _functions(optimizer: str, attrs: Attrs, shape: Shape) -> tuple[tuple[Callable, Callable], list[Shape]]:
    """Returns the initial state and the step as JAX functions of float64 arrays, and the shapes of a step's
    arguments.
    """
    chain = transformation(optimizer, dict(attrs))
    leaves, tree = jax.tree_util.tree_flatten(jax.eval_shape(chain.init, jax.ShapeDtypeStruct(shape, np.float64)))

    def flat(state: Any) -> tuple[jax.Array, ...]:
        return tuple(x.astype(np.float64) for x in jax.tree_util.tree_leaves(state))

    def start() -> tuple[jax.Array, ...]:
        return flat(chain.init(jnp.zeros(shape)))

    def step(value: jax.Array, gradient: jax.Array, *memory: jax.Array) -> tuple[jax.Array, ...]:
        typed = [m.astype(leaf.dtype) for m, leaf in zip(memory, leaves, strict=True)]
        update, state = chain.update(gradient, jax.tree_util.tree_unflatten(tree, typed), value)
        return optax.apply_updates(value, update), *flat(state)

    return (start, step), [shape, shape, *(leaf.shape for leaf in leaves)]
