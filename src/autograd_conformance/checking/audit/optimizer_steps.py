"""Fixed programs of an optimizer: each choice of its settings in each implementation, on several leaves."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from autograd_conformance.checking.audit.programs import sampling, supported
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Program, Shape
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.optimizers import OptimizerChoice, choices, variants

SHAPES: tuple[Shape, ...] = ((2, 3), (3,), ())
"""The shapes of the leaves; the last leaf has no gradient in the first steps."""


def programs(name: str, dtype: str) -> Iterator[Program]:
    """Yields the programs of an optimizer that the framework supports: four steps of each choice of settings in each
    implementation, of which the second has the gradients of the first, and the last follows a clear.
    """
    if not alphabet.current().can(Capability.OPTIMIZERS) or name not in alphabet.current().optimizers:
        return
    sampler = sampling(0, dtype)
    for _, settings in choices(sampler, name):
        for implementation in ((), *variants(sampler, name)):
            yield _steps((name, (*settings, *implementation), ()), dtype)


def _steps(chosen: OptimizerChoice, dtype: str) -> Program:
    sampler = sampling(zlib.crc32(f"steps {chosen}".encode()), dtype, tracked=True)
    leaves = [sampler.leaf(shape) for shape in alphabet.current().shapes(SHAPES)]
    walked = leaves[:-1] or leaves
    for root in map(sampler.ops.nonlinear, walked):
        sampler.actions.backward(root)
    for _ in range(2):
        sampler.actions.step(leaves, *chosen)
    for root in map(sampler.ops.nonlinear, leaves):
        sampler.actions.backward(root)
    sampler.actions.step(leaves, *chosen)
    sampler.actions.zero_grad(*leaves)
    sampler.actions.backward(sampler.ops.nonlinear(walked[0]))
    sampler.actions.step(leaves, *chosen)
    program = supported(sampler)
    assert program is not None, "ops that only save tensors have no limits"
    return program
