"""The reference's optimizers against PyTorch's in all their implementations, and against optax run by JAX itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from autograd_conformance.ops.optimizers import FOR_LOOP, FUSED, IMPLEMENTATION, OPTIMIZERS, Row
from autograd_conformance.programs.language import Attr, Attrs
from autograd_conformance.reference import optimizers as reference
from autograd_conformance.reference.optimizers import LeafState, slack, stepped, transformation

DTYPES = ("float32", "float64")
SHAPES: tuple[tuple[tuple[int, ...], int], ...] = (((), 5), ((0,), 2), ((5,), 1), ((2, 3), 8), ((3, 1, 11), 3))
"""Shapes, and the number of steps for each."""

CHOICES = [pytest.param(row, choice, id=f"{row.name}-{i}") for row in OPTIMIZERS.values() for i, choice in
           enumerate(row.choices)]  # fmt: skip
IMPLEMENTED = [
    pytest.param(row, choice, variant, id=f"{row.name}-{i}-{'-'.join(f'{k}={v}' for k, v in variant)}")
    for row in OPTIMIZERS.values()
    for i, choice in enumerate(row.choices)
    for variant in row.variants
]


def gradients(shape: tuple[int, ...], seed: int = 0, steps: int = 4) -> Iterator[np.ndarray]:
    """Gradients that contain zeros; some elements are always zero, and some are constant."""
    random = np.random.default_rng(seed)
    kind = random.integers(0, 5, size=shape)
    first = random.normal(size=shape)
    for _ in range(steps):
        new = random.normal(size=shape)
        yield np.select([kind == 0, kind == 1, kind == 2], [np.zeros(shape), first, np.round(new)], new)


def laid_out(value: torch.Tensor, layout: str) -> torch.Tensor:
    """The same values in memory that is not in row-major order, or that has gaps."""
    match layout:
        case "transposed":
            return value.t().contiguous().t()
        case "gaps":
            return value.new_zeros((value.shape[0], 2 * value.shape[1]))[:, ::2].copy_(value)
    return value


def numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().to(torch.float64).numpy().copy()


def compared_with_torch(
    row: Row, settings: Mapping[str, Attr], start: torch.Tensor, fed: Iterator[np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """For each step: the old value, PyTorch's new value, the reference's new value from the observed ones, and the
    slack.
    """
    leaf = start.requires_grad_()
    optimizer = getattr(torch.optim, row.torch)([leaf], **settings)
    state = LeafState()
    dtype = str(leaf.dtype).removeprefix("torch.")
    for gradient in fed:
        leaf.grad = torch.empty_like(leaf).copy_(torch.as_tensor(gradient))
        old, observed = numpy(leaf), numpy(leaf.grad)
        optimizer.step()
        want = stepped(row.name, settings, state, old, observed)
        yield old, numpy(leaf), want, slack(row.name, settings, state, dtype)


def fine(got: np.ndarray, want: np.ndarray, room: np.ndarray) -> bool:
    return bool(((np.abs(got - want) <= room) | np.isinf(room)).all())


# -- against PyTorch ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("row", "choice", "variant"), IMPLEMENTED)
def test_pytorch_agrees(row: Row, choice: Attrs, variant: Attrs, dtype: str) -> None:
    settings = dict(choice + variant)
    for seed, (shape, steps) in enumerate(SHAPES):
        start = torch.as_tensor(np.random.default_rng(seed).normal(size=shape)).to(getattr(torch, dtype))
        made = list(compared_with_torch(row, settings, start, gradients(shape, seed, steps)))
        assert len(made) == steps
        for old, got, want, room in made:
            assert want.shape == room.shape == shape
            assert (np.abs(got - want) <= room).all(), (shape, got, want, room)
            moved = np.abs(old) + np.abs(want - old)
            assert (room <= (1e-11 if dtype == "float64" else 2e-3) * moved + 1e-12).all(), "too loose to see faults"


@pytest.mark.parametrize(("row", "choice", "variant"), IMPLEMENTED)
def test_a_leaf_that_is_not_contiguous(row: Row, choice: Attrs, variant: Attrs) -> None:
    # PyTorch 2.13's fused kernels on the CPU take memory with gaps for dense, and write into the gaps
    for layout in ("transposed",) if variant == FUSED else ("transposed", "gaps"):
        start = laid_out(torch.arange(6.0, dtype=torch.float64).reshape(2, 3), layout)
        assert not start.is_contiguous()
        for _, got, want, room in compared_with_torch(row, dict(choice + variant), start, gradients((2, 3))):
            assert (np.abs(got - want) <= room).all(), layout


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("row", "choice"), CHOICES)
def test_no_alarm_for_small_and_large_gradients(row: Row, choice: Attrs, dtype: str) -> None:
    for variant in row.variants:
        for scale in (1e-30, 1e-20, 1e-12, 1e-8, 1e-4, 1e4, 1e12, 1e25):
            start = torch.tensor([1.0, -2.0, 0.5, 0.0, 3e-9, -1e3], dtype=getattr(torch, dtype))
            fed = (scale * g for g in gradients(tuple(start.shape), seed=3))
            for _, got, want, room in compared_with_torch(row, dict(choice + variant), start, fed):
                assert fine(got, want, room), (variant, scale, got, want, room)
                assert dtype == "float32" or np.isfinite(room).all(), "float64 has room for all of these"


@pytest.mark.parametrize("row", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_defaults_are_pytorchs(row: Row) -> None:
    parameters = inspect.signature(getattr(torch.optim, row.torch)).parameters
    assert {name: parameters[name].default for name, _ in row.defaults} == dict(row.defaults)
    assert dict(row.defaults).keys() == dict(row.sources).keys()
    for _, got, want, room in compared_with_torch(row, {}, torch.tensor([1.0, -2.0, 3.0]), gradients((3,))):
        assert (np.abs(got - want) <= room).all()


@pytest.mark.parametrize("row", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_variants_are_those_that_pytorch_has(row: Row) -> None:
    made = getattr(torch.optim, row.torch)
    assert row.variants[0] == FOR_LOOP
    assert {name for variant in row.variants for name, _ in variant} == inspect.signature(made).parameters.keys() & set(
        IMPLEMENTATION
    )


OTHER: dict[str, Attr] = {
    "lr": 0.5, "momentum": 0.75, "dampening": 0.25, "weight_decay": 0.5, "maximize": True, "betas": (0.75, 0.875),
    "eps": 0.5, "amsgrad": True, "lr_decay": 1.0, "alpha": 0.5, "centered": True,
}  # fmt: skip
KEPT = "initial_accumulator_value"
"""Settings of a group that PyTorch stores and does not use, a known difference."""

OVERRIDES = [
    pytest.param(row, name, id=f"{row.name}-{name}")
    for row in OPTIMIZERS.values()
    for name in row.overrides
    if name != KEPT
]


@pytest.mark.parametrize(("row", "name"), OVERRIDES)
def test_a_parameter_group_may_override_it(row: Row, name: str) -> None:
    base = dict(row.choices[1])
    if name == "dampening":
        base["momentum"] = 0.5
    own = {**base, name: OTHER[name]}
    leaf, plain = (torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True) for _ in range(2))
    groups = [{"params": [plain]}, {"params": [leaf], name: OTHER[name]}]
    optimizer, state = getattr(torch.optim, row.torch)(groups, **base), LeafState()
    for gradient in ([4.0, -0.5], [0.125, 0.25], [-1.0, 2.0]):
        leaf.grad, plain.grad = (torch.tensor(gradient, dtype=torch.float64) for _ in range(2))
        old = numpy(leaf)
        optimizer.step()
        want = stepped(row.name, own, state, old, numpy(leaf.grad))
        assert (np.abs(numpy(leaf) - want) <= slack(row.name, own, state, "float64")).all()
    assert not torch.equal(leaf, plain)


# -- against optax -----------------------------------------------------------------------------------------------------


def by_optax(row: Row, settings: Mapping[str, Any]) -> optax.GradientTransformation | None:
    """The optimizer as users of optax write it, if optax has it."""
    s = row.formula(settings)
    match row.name:
        case "sgd" if not s["dampening"]:
            made = optax.sgd(s["lr"], s["momentum"] or None, s["nesterov"])
        case "adam" if not s["amsgrad"]:
            made = optax.adam(s["lr"], *s["betas"], s["eps"])
        case "adamw" if not s["amsgrad"]:
            made = optax.adamw(s["lr"], *s["betas"], s["eps"], weight_decay=s["weight_decay"])
        case "rmsprop":
            made = optax.rmsprop(
                s["lr"], s["alpha"], s["eps"], 0.0, False, s["centered"], s["momentum"] or None
            )  # fmt: skip
        case _:
            return None
    decay = optax.identity() if row.name == "adamw" else optax.add_decayed_weights(s["weight_decay"])
    return optax.chain(optax.scale(-1.0 if s["maximize"] else 1.0), decay, made)


def run_by_jax(chain: optax.GradientTransformation, start: np.ndarray, fed: list[np.ndarray]) -> list[np.ndarray]:
    value, found = jnp.array(start), []
    state = chain.init(value)
    for gradient in fed:
        update, state = chain.update(jnp.array(gradient), state, value)
        value = optax.apply_updates(value, update)
        found.append(np.asarray(value))
    return found


def run_staged(name: str, settings: Mapping[str, Attr], start: np.ndarray, fed: list[np.ndarray]) -> list[np.ndarray]:
    state, found = LeafState(), [start]
    for gradient in fed:
        found.append(stepped(name, settings, state, found[-1], gradient))
    return found[1:]


START, FED = np.array([1.0, -2.0, 0.5, 0.0]), list(gradients((4,), seed=1, steps=4))


@pytest.mark.parametrize(("row", "choice"), CHOICES)
def test_optax_agrees(row: Row, choice: Attrs) -> None:
    theirs = by_optax(row, dict(choice))
    published = {name for name, source in row.sources if source.startswith("published")}
    assert (theirs is None) == ("lr" in published or any(v for k, v in choice if k in published))
    ours = run_staged(row.name, dict(choice), START, FED)
    for chain in (theirs, transformation(row.name, dict(choice))):
        if chain is not None:
            np.testing.assert_allclose(ours, run_by_jax(chain, START, FED), rtol=1e-13, atol=1e-15)


def test_nothing_is_traced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Attr] = {"lr": 0.125, "betas": (0.5, 0.75)}
    state = LeafState()
    value = stepped("adam", settings, state, START, FED[0])
    assert np.isfinite(slack("adam", settings, state, "float32")).all()
    monkeypatch.setattr(reference, "_functions", None)
    monkeypatch.setattr(reference, "stage", None)
    for gradient in FED[1:]:
        value = stepped("adam", settings, state, value, gradient)
        assert np.isfinite(slack("adam", settings, state, "float32")).all()
    np.testing.assert_allclose(value, run_by_jax(transformation("adam", settings), START, FED)[-1], rtol=1e-13)


# -- faults ------------------------------------------------------------------------------------------------------------


def faulty(row: Row, fault: optax.GradientTransformation, choice: Mapping[str, Attr], dtype: str) -> bool:
    """Whether a framework with this formula is detected within four steps."""
    values = [np.array(v, dtype=dtype).astype(float) for v in [START, *run_by_jax(fault, START, FED)]]
    state = LeafState()
    for old, got, gradient in zip(values, values[1:], FED, strict=False):
        want = stepped(row.name, choice, state, old, gradient)
        if (np.abs(got - want) > slack(row.name, choice, state, dtype)).any():
            return True
    return False


def factor(of_step: Any) -> optax.GradientTransformation:
    return optax.scale_by_schedule(lambda count: of_step(count + 1))


MOMENTUM, ADAM = {"lr": 0.125, "momentum": 0.5}, {"lr": 0.125, "betas": (0.5, 0.75)}
RMS, DECAY = {"lr": 0.0625, "alpha": 0.75}, optax.add_decayed_weights(0.25)
QUICK = optax.adam(0.125, 0.5, 0.75)
FAULTS: dict[str, tuple[str, dict[str, Attr], optax.GradientTransformation]] = {
    "the buffer's sign": ("sgd", MOMENTUM, optax.sgd(0.125, momentum=-0.5)),
    "no buffer": ("sgd", MOMENTUM, optax.sgd(0.125)),
    "the buffer dampened at the first step": (
        "sgd", {**MOMENTUM, "dampening": 0.5}, optax.chain(optax.scale(0.5), optax.sgd(0.125, momentum=0.5)),
    ),
    "no dampening": ("sgd", {**MOMENTUM, "dampening": 0.5}, optax.sgd(0.125, momentum=0.5)),
    "momentum instead of Nesterov's": ("sgd", {**MOMENTUM, "nesterov": True}, optax.sgd(0.125, momentum=0.5)),
    "no decay": ("sgd", {"lr": 0.125, "weight_decay": 0.25}, optax.sgd(0.125)),
    "the decay's sign": (
        "sgd", {"lr": 0.125, "weight_decay": 0.25}, optax.chain(optax.add_decayed_weights(-0.25), optax.sgd(0.125)),
    ),
    "decay before the sign": (
        "sgd", {"lr": 0.125, "weight_decay": 0.25, "maximize": True},
        optax.chain(DECAY, optax.scale(-1.0), optax.sgd(0.125)),
    ),
    "downhill instead of up": ("sgd", {"lr": 0.125, "maximize": True}, optax.sgd(0.125)),
    "Adam's eps under the root": ("adam", {**ADAM, "eps": 0.125}, optax.adam(0.125, 0.5, 0.75, 0.0, 0.125)),
    "Adam's first moment not corrected": ("adam", ADAM, optax.chain(QUICK, factor(lambda n: 1 - 0.5**n))),
    "Adam's second moment not corrected": ("adam", ADAM, optax.chain(QUICK, factor(lambda n: (1 - 0.75**n) ** -0.5))),
    "Adam's second moment not corrected, at the defaults": (
        "adam", {"lr": 0.125}, optax.chain(optax.adam(0.125), factor(lambda n: (1 - 0.999**n) ** -0.5)),
    ),
    "Adam's moments swapped": ("adam", ADAM, optax.adam(0.125, 0.75, 0.5)),
    "Adam's decay decoupled": (
        "adam", {**ADAM, "weight_decay": 0.25}, optax.adamw(0.125, 0.5, 0.75, weight_decay=0.25),
    ),
    "AdamW's decay coupled": ("adamw", {**ADAM, "weight_decay": 0.25}, optax.chain(DECAY, QUICK)),
    "AdamW's decay without the rate": (
        "adamw", {**ADAM, "weight_decay": 0.25}, optax.chain(QUICK, optax.add_decayed_weights(-0.25)),
    ),
    "no AMSGrad": ("adam", {**ADAM, "amsgrad": True}, QUICK),
    "AMSGrad over corrected moments": ("adam", {**ADAM, "amsgrad": True}, optax.amsgrad(0.125, 0.5, 0.75)),
    "Adagrad's eps under the root": (
        "adagrad", {"lr": 0.125, "eps": 0.125}, optax.adagrad(0.125, initial_accumulator_value=0.0, eps=0.125),
    ),
    "Adagrad's sum from another start": (
        "adagrad", {"lr": 0.125}, optax.adagrad(0.125, initial_accumulator_value=0.1, eps=1e-10),
    ),
    "Adagrad's rate a step ahead": (
        "adagrad", {"lr": 0.125, "lr_decay": 0.5},
        optax.chain(transformation("adagrad", {"lr": 0.125}), factor(lambda n: 1 / (1 + 0.5 * n))),
    ),
    "RMSprop's eps under the root": ("rmsprop", {**RMS, "eps": 0.125}, optax.rmsprop(0.0625, 0.75, 0.125)),
    "RMSprop not centered": ("rmsprop", {**RMS, "centered": True}, optax.rmsprop(0.0625, 0.75, eps_in_sqrt=False)),
    "RMSprop corrected": (
        "rmsprop", RMS, optax.rmsprop(0.0625, 0.75, eps_in_sqrt=False, bias_correction=True),
    ),
    "RMSprop without its momentum": (
        "rmsprop", {**RMS, "momentum": 0.5}, optax.rmsprop(0.0625, 0.75, eps_in_sqrt=False),
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_outside_the_slack(name: str, dtype: str) -> None:
    optimizer, choice, fault = FAULTS[name]
    assert faulty(OPTIMIZERS[optimizer], fault, choice, dtype)
    assert not faulty(OPTIMIZERS[optimizer], transformation(optimizer, choice), choice, dtype)


@pytest.mark.parametrize(("row", "choice"), CHOICES)
def test_a_rate_that_is_a_millionth_off_is_outside_the_slack_of_float64(row: Row, choice: Attrs) -> None:
    settings: dict[str, Any] = dict(choice)
    off = transformation(row.name, {**settings, "lr": settings["lr"] * (1 + 1e-6)})
    assert faulty(row, off, settings, "float64")


def test_a_forgotten_state_is_detected() -> None:
    for row, choice in ((row, row.choices[1]) for row in OPTIMIZERS.values()):
        settings, state, value = dict(choice), LeafState(), START
        for gradient in FED[:2]:
            old, value = value, stepped(row.name, settings, state, value, gradient)
        fresh = stepped(row.name, settings, LeafState(), old, FED[1])
        assert (np.abs(fresh - value) > slack(row.name, settings, state, "float32")).any(), row.name


# -- what cannot be said -----------------------------------------------------------------------------------------------


def test_a_root_that_rounding_may_make_negative_is_not_judged() -> None:
    settings: dict[str, Attr] = {"lr": 0.125, "alpha": 0.5, "centered": True}
    state, value = LeafState(), np.array([1.0, 1.0])
    for _ in range(30):
        value = stepped("rmsprop", settings, state, value, np.array([0.7, 0.0]))
    assert np.isinf(slack("rmsprop", settings, state, "float32")).tolist() == [True, False]
    assert np.isfinite(slack("rmsprop", settings, state, "float64")).all()


def test_an_unknown_setting() -> None:
    with pytest.raises(ValueError, match="sgd has no setting beta; it has lr, momentum"):
        stepped("sgd", {"lr": 0.1, "beta": 0.5}, LeafState(), START, START)
    with pytest.raises(ValueError, match="no step was made"):
        slack("sgd", {"lr": 0.1}, LeafState(), "float64")
