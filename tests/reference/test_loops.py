"""A loop of JAX becomes a loop of NumPy, by the names that each version of JAX gives its parts; else JAX runs it."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import numpy as np
import pytest

from autograd_conformance.reference.staging import numpy_source
from autograd_conformance.reference.staging.numpy_source import stage


def powers(factor, first, added):
    return jax.lax.scan(lambda carry, x: (carry * factor + x, carry), first, added)


def run() -> tuple[bool, list[np.ndarray]]:
    made = stage(powers, (), (), (3,)).loaded()
    return made.portable, made.function(np.float64(2), np.float64(1), np.array([1.0, 2.0, 3.0]))


def test_numpy_runs_a_loop() -> None:
    portable, (last, carried) = run()
    assert portable and last == 19
    np.testing.assert_array_equal(carried, [1, 3, 8])


def test_jax_runs_a_loop_of_unknown_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_source, "_loop", lambda _: None)
    portable, (last, carried) = run()
    assert not portable and last == 19
    np.testing.assert_array_equal(carried, [1, 3, 8])


@pytest.mark.parametrize(
    ("params", "parts"),
    [
        ({"num_consts": 2, "num_carry": 1}, (2, 1)),
        ({"ft_in": SimpleNamespace(unpack=lambda: ((None, None), (None,), ()))}, (2, 1)),
        ({"constants": 2}, None),
    ],
    ids=["up to JAX 0.10", "from JAX 0.11", "unknown"],
)
def test_the_parts_of_a_loop(params: dict[str, object], parts: tuple[int, int] | None) -> None:
    assert numpy_source._loop(params) == parts
