"""What programs may be drawn from: the ops, dtypes and claims of the framework under test.

The alphabet in use is set once per process, when the framework is known and its broken ops have been found;
strategies read it when they draw, not when they are defined.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import Capability

CORE = (
    "multiply", "sum", "add", "sin", "negative", "exp", "subtract", "sigmoid", "tanh", "matmul", "divide", "square",
    "mean", "reshape", "matrix_transpose", "relu", "split", "unstack", "concat", "expand_dims", "multiply_scalar",
    "softmax",
)  # fmt: skip
"""Ops that most programs are made of: the simplest first, which is also the order in which failures shrink."""


@dataclass(frozen=True)
class Alphabet:
    """Ops (weighted by repetition, simplest first), dtypes, and what the framework claims. `once` are the ops that may
    not stand where a program differentiates twice, `twice_only` the others that may not where it does three times.
    `optimizers` maps the optimizers to the settings that they know; `modules` are the modules of layers.
    """

    ops: Sequence[str]
    dtypes: Sequence[str] = ("float64", "float32")
    claims: frozenset[Capability] = frozenset(Capability)
    once: frozenset[str] = frozenset()
    twice_only: frozenset[str] = frozenset()
    optimizers: Mapping[str, Collection[str]] = field(default_factory=dict)
    modules: Sequence[str] = ()
    weighted: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        core = [name for name in CORE if name in self.ops]
        rare = [name for name in self.ops if name not in core]
        weight = max(1, len(rare) // max(1, 2 * len(core)))
        object.__setattr__(self, "weighted", tuple(core) + tuple(core * weight) + tuple(rare))

    def without(self, ops: Collection[str]) -> Alphabet:
        """The alphabet less some ops."""
        return replace(self, ops=tuple(name for name in self.ops if name not in ops))

    @cached_property
    def twice(self) -> Alphabet:
        """The alphabet of what may stand under a call with create_graph."""
        return self.without(self.once)

    @cached_property
    def thrice(self) -> Alphabet:
        """The alphabet of what may stand where a program differentiates three times."""
        return self.without(self.once | self.twice_only)


_current = Alphabet(tuple(OPS), optimizers={name: tuple(dict(row.defaults)) for name, row in OPTIMIZERS.items()})


def use(alphabet: Alphabet) -> None:
    """Make an alphabet the one that strategies draw from in this process."""
    global _current
    _current = alphabet


def current() -> Alphabet:
    """The alphabet in use."""
    return _current
