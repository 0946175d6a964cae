"""Fixed programs of calls and writes that have to fail: each way to fail with each option, in each grad mode, and legal
instructions in the same mode and after it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import product

from autograd_conformance.checking.audit.programs import sampling, supported
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Modes, Program
from autograd_conformance.strategies.building.randomness.choices import Rarity
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.situations.errors import FAILURES

MODES: tuple[Modes, ...] = ((), ("no_grad",), ("no_grad", "enable_grad"))
"""The grad modes in which a call or a write fails."""

OPTIONS: tuple[Rarity | None, ...] = (None, "created", "restricted")
"""The options of the failing calls: none, create_graph, and inputs."""

WAYS = {fail.__name__.removeprefix("_"): (fail, needs) for fail, needs in FAILURES}
"""The functions that add a failing call or write, each with the capabilities that it needs, by name."""


def programs(way: str, dtype: str) -> Iterator[Program]:
    """Yields the programs in which a call or a write fails in one way of `WAYS`, as far as the framework supports
    them.
    """
    for modes, option in product(MODES, OPTIONS):
        with suppress(Unsupported):  # the framework lacks an op or an option of this program
            program = _program(way, modes, option, dtype)
            if program is not None:
                yield program


def _program(way: str, modes: Modes, option: Rarity | None, dtype: str) -> Program | None:
    fail, needs = WAYS[way]
    b = sampling(zlib.crc32(f"{way} {modes} {option}".encode()), dtype, rarity=option, tracked=True)
    b.require(*needs, *((Capability.MODES,) if modes else ()))
    leaves = [b.vector() for _ in range(2)]
    parts = [b.ops.nonlinear(leaf) for leaf in leaves]
    root = b.ops.nonlinear(b.ops.join(*parts))
    b.actions.backward(b.ops.nonlinear(leaves[1]))
    b.actions.varies = True
    with b.under(*modes):
        fail(b, root, parts[0])
        b.actions.varies = False
        b.ops.nonlinear(leaves[0])
    b.actions.backward(b.ops.nonlinear(b.ops.join(leaves[0], b.vector())))
    with b.under(*modes):
        b.ops.nonlinear(leaves[1])
    return supported(b)
