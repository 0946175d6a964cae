"""Collects what a framework's programs are drawn from: its ops, dtypes, optimizers and modules."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.hazards import Hazard
from autograd_conformance.strategies.building.alphabet import Alphabet


def alphabet_of(target: Target, dtypes: Sequence[str], spared: frozenset[Hazard] = frozenset(Hazard)) -> Alphabet:
    """Returns everything that a framework claims to support, with its ops in the op table's order and with the given
    dtypes. Programs have no `spared` situation, in which the framework ends the process; all, if nobody knows which.
    """
    names = tuple(name for name in OPS if name in target.ops)
    return Alphabet(
        names,
        dtypes,
        target.capabilities,
        optimizers=target.optimizers,
        modules=tuple(target.modules),
        writes=tuple(name for name in WRITES if name in target.writes),
        limits=target.limits,
        autocast=target.autocast,
        traits=target.traits,
        regions=target.has_regions,
        absent_forms=frozenset(target.absent),
        spared=spared,
    )
