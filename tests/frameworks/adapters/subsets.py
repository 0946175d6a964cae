"""The example's adapter with a random part of its ops and capabilities:
`tests.frameworks.adapters.subsets:Subset_1_42`.

The name contains the seed and the number of the subset, so that another process finds the same one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from autograd_conformance.programs.capabilities import Capability, Traits
from examples.tiny import Tensor
from examples.tiny_adapter import CAPABILITIES, OPS, Tiny
from tests.frameworks.adapters.zeros import WITH_ZEROS

RARELY = 0.03


@dataclass(frozen=True)
class Subset:
    """A part of the example's adapter."""

    ops: tuple[str, ...]
    capabilities: frozenset[Capability]
    dtypes: tuple[str, ...]
    traits: Traits
    prints: bool
    """Whether it has a dialect."""
    says: bool
    """Whether it declares its traits."""

    @staticmethod
    def drawn(seed: int, number: int) -> Subset:
        """A subset of a seed. A few have no op, no dtype, or undeclared traits."""
        random = Random(f"{seed} {number}")
        part = random.choice((0.2, 0.5, 0.8))
        capabilities = frozenset(c for c in sorted(CAPABILITIES, key=str) if random.random() < part)
        count = 0 if random.random() < RARELY else random.randint(1, len(OPS))
        dtypes = random.choice((("float64",), ("float32",), ("float64", "float32")))
        traits = Traits(scalars=random.random() < 0.25, begins_with_zeros=random.random() < 0.25)
        if traits.begins_with_zeros and Capability.ZERO_TO_NONE in capabilities:
            capabilities = capabilities - {Capability.ZERO_TO_NONE} | {Capability.ZERO_TO_ZEROS}
        return Subset(
            tuple(random.sample(sorted(OPS), count)),
            capabilities,
            () if random.random() < RARELY else dtypes,
            traits,
            random.random() < 0.5,
            random.random() > RARELY,
        )

    @property
    def usable(self) -> bool:
        """Whether the smoke test must accept it."""
        return bool(self.ops and self.dtypes) and (self.says or self.traits == Traits())

    def adapter(self) -> type[Tiny]:
        """The class of its adapter."""
        subset = self

        class Part(Tiny):
            name = "part of tiny"
            ops = frozenset(subset.ops)
            capabilities = subset.capabilities
            dtypes = subset.dtypes
            traits = subset.traits if subset.says else Traits()
            dialect = WITH_ZEROS if subset.prints else None

            def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
                if subset.traits.scalars:
                    float(data)  # it raises where there are several
                    assert not data.shape, "single numbers only"
                made = super().leaf(data, requires_grad)
                if subset.traits.begins_with_zeros and requires_grad:
                    made.grad = np.zeros_like(data)
                return made

            def zero_grad(self, leaves: Sequence[Tensor], set_to_none: bool) -> None:
                for leaf in leaves:
                    leaf.grad = None if set_to_none else np.zeros_like(leaf.data)

        return Part


def __getattr__(name: str) -> type[Tiny]:
    numbers = re.fullmatch(r"Subset_(\d+)_(\d+)", name)
    if not numbers:
        raise AttributeError(name)
    return Subset.drawn(*map(int, numbers.groups())).adapter()
