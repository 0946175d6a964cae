"""Fixed programs of an optimizer: each choice of its settings in each implementation, on several leaves."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress

from autograd_conformance.checking.audit.programs import sampling, supported
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import COARSE
from autograd_conformance.programs.language import Program, Shape
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.optimizers import OptimizerChoice, choices, variants
from autograd_conformance.strategies.building.tensors import repeated
from autograd_conformance.strategies.building.unsupported import Unsupported

SHAPES: tuple[Shape, ...] = ((2, 17), (3,), ())
"""The shapes of the leaves; the last leaf has no gradient in the first steps. The first may have another dtype, and has
more elements than a processor computes at once, and not a multiple of them.
"""

SMALL = (0.0, 2.0**-14, 2.0**-24, 2.0**-7)
"""Gradients: the squares of the first three are 0 in float16."""

SMALL_SHAPE = (len(SMALL),)


def programs(name: str, dtypes: Sequence[str]) -> Iterator[Program]:
    """Yields the programs of an optimizer that the framework supports: four steps of each choice of settings in each
    implementation, of which the second has the gradients of the first, and the last follows a clear; each again with
    leaves of two dtypes, if the framework has them.
    """
    if not alphabet.current().can(Capability.OPTIMIZERS) or name not in alphabet.current().optimizers:
        return
    sampler = sampling(0, dtypes[0])
    for _, settings in choices(sampler, name):
        for implementation in ((), *variants(sampler, name)):
            for first in dtypes:
                with suppress(Unsupported):  # the framework lacks an op or a shape of this program
                    program = _steps((name, (*settings, *implementation), ()), dtypes[0], first)
                    if program is not None:
                        yield program


def small(name: str, dtypes: Sequence[str]) -> Iterator[Program]:
    """Yields programs of an optimizer in each dtype of few digits: a step by gradients whose squares the dtype does not
    have, in each implementation.
    """
    if not alphabet.current().can(Capability.OPTIMIZERS, Capability.COTANGENTS):
        return
    if name not in alphabet.current().optimizers:
        return
    sampler = sampling(0, dtypes[0])
    for dtype in filter(COARSE.__contains__, dtypes):
        _, settings = choices(sampler, name)[0]
        for implementation in ((), *variants(sampler, name)):
            with suppress(Unsupported):  # the framework lacks a shape of this program
                yield from filter(None, [_small((name, (*settings, *implementation), ()), dtype)])


def _small(chosen: OptimizerChoice, dtype: str) -> Program | None:
    sampler = sampling(0, dtype, tracked=True)
    leaf = sampler.leaf(value=repeated((1.0, 2.0, 3.0, 4.0), SMALL_SHAPE, dtype))
    sampler.actions.backward(leaf, cotangents=[repeated(SMALL, SMALL_SHAPE, dtype)])
    sampler.actions.step([leaf], *chosen)
    return supported(sampler)


def _steps(chosen: OptimizerChoice, dtype: str, first: str) -> Program | None:
    sampler = sampling(zlib.crc32(f"steps {chosen} {first}".encode()), dtype, tracked=True)
    one, *others = alphabet.current().shapes(SHAPES)
    leaves = [sampler.leaf(value=sampler.operands.tensor(one, first)), *map(sampler.leaf, others)]
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
    return supported(sampler)
