"""The simplest operands of each op, for whoever has to try some op at all."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from autograd_conformance.ops.rows.row import Attrs, choices_of, rest_of
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Shape


def simplest(ops: Collection[str], shape: Shape) -> Iterator[tuple[str, int, Attrs]]:
    """Those of some ops that take operands of a shape, each with the number of its operands, the simplest first."""
    for name in dict.fromkeys(("sin", *OPS)):
        if name in ops and OPS[name].accepts(shape):
            fitting = (others for others in rest_of(OPS[name], shape) if set(others) <= {shape})
            for others in islice(fitting, 1):
                shapes = (shape, *others)
                yield name, len(shapes), choices_of(OPS[name], shapes)[0]
