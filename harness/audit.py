"""The audit: which ops are wrong by themselves, found before any random program is drawn.

Each op is run on a few fixed programs of its own. One that fails is left out of the programs of all other suites, so
that one bad op does not turn the whole board red; its own rule reports it.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from frameworks.base import Framework
from harness.checking import violation_of
from rules.catalogue import Needs
from rules.language import Literal, Program, Shape
from rules.ops import OPS
from rules.ops.domains import ANY, Domain
from rules.ops.shapes import size
from strategies.builder import Builder
from strategies.tensors import literal

SAMPLES = 4


class Sampler(Builder):
    """A builder that draws from NumPy's generator instead of Hypothesis."""

    def __init__(self, seed: int, dtype: str) -> None:
        self.random = np.random.default_rng(seed)
        super().__init__(lambda strategy: True, dtype)

    def below(self, n: int) -> int:
        return int(self.random.integers(n))

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.below(len(options))]

    def tensor(self, shape: Shape, dtype: str | None = None, domain: Domain = ANY) -> Literal:
        return literal(self.random.bytes(size(shape)), shape, dtype or self.dtype, domain)

    def cotangent(self, root: Any) -> Literal | None:
        if not self.can(Needs.COTANGENTS):
            return None
        return self.tensor(self.shape(root), self.dtypes[root])


def sample(op: str, seed: int, dtype: str) -> Program:
    """One program of an op on fresh leaves with a backward call from all its results."""
    sampler = Sampler(zlib.crc32(f"{op} {seed}".encode()), dtype)
    made = sampler.op(op, fresh=True)
    sampler.backward(*made)
    return Program(tuple(sampler.reference.steps))


def wrong_ops(framework: Framework, claims: Collection[Needs], dtypes: Sequence[str]) -> frozenset[str]:
    """The ops of the catalogue that the framework gets wrong by themselves."""
    return frozenset(name for name in OPS if name in framework.ops and is_wrong(name, framework, claims, dtypes))


def is_wrong(op: str, framework: Framework, claims: Collection[Needs], dtypes: Sequence[str]) -> bool:
    """Whether some of an op's programs breaks a rule. The alphabet in use has to be the framework's."""
    return any(violation_of(sample(op, seed, dtypes[0]), framework, claims) for seed in range(SAMPLES))
