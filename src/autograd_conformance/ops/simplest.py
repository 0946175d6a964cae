"""Finds ops that work on operands of one given shape, for code that needs any working op."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from autograd_conformance.ops.rows.row import Attrs, choices_of, rest_of
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Shape


def simplest(ops: Collection[str], shape: Shape) -> Iterator[tuple[str, int, Attrs]]:
    """Yields those of the given ops that accept operands which all have this shape, each with the number of operands
    and the simplest attributes: first ``sin``, then the others in the order of the op tables.
    """
    for name in dict.fromkeys(("sin", *OPS)):
        if name in ops and OPS[name].accepts(shape):
            fitting = (others for others in rest_of(OPS[name], shape) if set(others) <= {shape})
            for others in islice(fitting, 1):
                shapes = (shape, *others)
                yield name, len(shapes), choices_of(OPS[name], shapes)[0]
