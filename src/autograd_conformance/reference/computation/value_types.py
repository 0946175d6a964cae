"""Values that the reference has beside those of the program, told apart by their types.

Their numbers lie where the program has none: a `Ref` is a tuple, so they stay distinct from all values of the program
as keys, and nothing else may be read from the numbers.
"""

from __future__ import annotations

from autograd_conformance.programs.language import Ref

FIRST_INTERNAL = 1000
"""The output number of the first internal value of an instruction."""


class GradTensor(Ref):
    """A gradient that some value of the program holds, and that no instruction of the program made: ``-1, -2, ...``."""

    __slots__ = ()


class InternalValue(Ref):
    """A value that an instruction makes on the way: what a write makes of its target, an intermediate cotangent of a
    backward call with create_graph. The tape has it, the program has no name for it.
    """

    __slots__ = ()
