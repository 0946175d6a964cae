"""Computes the capabilities that a program requires of a framework, including the one for ops on operands of several
dtypes.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs import capabilities
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import DTYPES, widest
from autograd_conformance.programs.language import Apply, Detach, Grad, InPlace, Leaf, Program, ReadGrad, Ref
from autograd_conformance.programs.operands import results


def needs(program: Program) -> set[Capability]:
    """The capabilities that a program requires of a framework."""
    mixed = any(len({*given}) > 1 for given in _operands(program))
    return capabilities.needs(program) | ({Capability.PROMOTES} if mixed else set())


def _operands(program: Program) -> Iterator[list[str]]:
    """Yields the dtypes of the operands of each op and in-place write, as far as the program determines these
    dtypes.
    """
    found: dict[Ref, str] = {}
    for at, step in enumerate(program):
        match step:
            case Leaf(value):
                found[Ref(at)] = value.dtype
            case Detach(source) | ReadGrad(source):
                found.update({Ref(at): found[source]} if source in found else {})
            case Grad(_, inputs):
                found.update({Ref(at, k): found[ref] for k, ref in enumerate(inputs) if ref in found})
            case InPlace(_, target, args):
                yield [found[ref] for ref in (target, *args) if found.get(ref) in DTYPES]
            case Apply(op, args):
                given = [found[ref] for ref in args if found.get(ref) in DTYPES]
                yield given
                made = row_of(op).dtype or (widest(given) if given else None)
                found.update(dict.fromkeys((Ref(at, k) for k in range(results(step))), made) if made else {})
            case _:
                pass
