"""One step of an optimizer on one leaf: optax's own transformations, traced by JAX and run by NumPy in float64.

Where PyTorch and optax define a setting differently, the published formula stands here, written as a transformation
of optax, too; `ops.optimizers` says for each setting which it is. What a transformation remembers is flattened to
arrays, the count of steps among them, so that one staged function serves every step.
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
from autograd_conformance.reference.staging.numpy_source import Source, Staged, stage

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    import optax
else:
    from autograd_conformance.reference.staging.lazy_modules import jax, jnp, optax

KEPT = 1024
"""Of how many settings, and shapes, what was staged is kept in memory."""


@dataclass
class LeafState:
    """What an optimizer remembers of one leaf: its averages and counts, and each value and gradient it has seen.

    `moved` is the value after the latest step.
    """

    memory: tuple[Array, ...] | None = None
    history: list[tuple[Array, Array]] = field(default_factory=list)
    moved: Array | None = None


def stepped(optimizer: str, settings: Mapping[str, Attr], state: LeafState, value: Array, gradient: Array) -> Array:
    """The value of a leaf after one step; `state` is brought up to date.

    `value` and `gradient` are float64 arrays of one shape. Settings that choose an implementation are passed over.
    """
    value, gradient = np.array(value), np.array(gradient)  # copies, because they are kept
    start, step = _staged(optimizer, tuple(settings.items()), value.shape)
    moved, *memory = step(value, gradient, *(start() if state.memory is None else state.memory))
    state.memory, state.moved = tuple(memory), np.asarray(moved)
    state.history.append((value, gradient))
    return state.moved


def slack(optimizer: str, settings: Mapping[str, Attr], state: LeafState, dtype: str) -> Array:
    """How far from `state.moved` a right step in `dtype` may end, for each element.

    The whole history is run in interval arithmetic, each operation rounded outwards: values and gradients are exact, as
    they were seen, and the averages carry the roundings of all steps. It is infinite where nothing can be said: the
    root of a difference that rounding may turn negative, or what may overflow.
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
"""What is added to the norm before the bound is divided by it."""


def clipped(step: Clip, gradients: Mapping[Ref, Array]) -> dict[Ref, Array]:
    """What leaves hold after their gradients were clipped."""
    if step.kind == "value":
        return {leaf: np.clip(gradient, -step.bound, step.bound) for leaf, gradient in gradients.items()}
    total = np.sqrt(sum(float((gradient**2).sum()) for gradient in gradients.values()))
    factor = min(1.0, step.bound / (total + CLIPPING_EPSILON))
    return {leaf: gradient * factor for leaf, gradient in gradients.items()}


# -- the formulas ------------------------------------------------------------------------------------------------------


def transformation(optimizer: str, settings: Mapping[str, Attr]) -> optax.GradientTransformation:
    """An optimizer as optax's transformation of a gradient to what is added to a value."""
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
    """Momentum whose buffer takes up the first gradient whole, and of each later one what dampening leaves."""

    def init(value: Any) -> Any:
        return jnp.zeros((), jnp.int32), jnp.zeros_like(value)

    def update(gradient: Any, state: Any, value: Any = None) -> Any:
        count, buffer = state
        buffer = jnp.where(count == 0, gradient, momentum * buffer + (1 - dampening) * gradient)
        return (gradient + momentum * buffer if nesterov else buffer), (count + 1, buffer)

    return optax.GradientTransformation(init, update)


def _amsgrad(betas: tuple[float, float], eps: float) -> optax.GradientTransformation:
    """Adam over the largest second moment so far, which is corrected for its bias after the maximum was taken."""
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
    """The gradient over the root of the sum of all squares so far, at a rate that falls with the steps."""

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
    """What a leaf's memory is at first, and one step from a value, a gradient and a memory to a value and a memory."""
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
    """One step on intervals."""

    def made() -> Source:
        (_, step), shapes = _functions(optimizer, attrs, shape)
        return stage_enclosures(jax.make_jaxpr(step)(*(jax.ShapeDtypeStruct(s, np.float64) for s in shapes)))

    return store().staged(("optimizer's enclosure", _optax(), optimizer, attrs, shape), made).function


@lru_cache(maxsize=1)
def _optax() -> str:
    """The version of optax, which what is staged depends on."""
    return version("optax")


def _functions(optimizer: str, attrs: Attrs, shape: Shape) -> tuple[tuple[Callable, Callable], list[Shape]]:
    """The start and the step as JAX functions of float64 arrays, and the shapes of what a step takes."""
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
