"""Types of values that exist only in the reference, besides those of the program.

They are subclasses of `Ref`, which is a tuple, with numbers that no value of a program has. So they are distinct keys
from all values of the program; their numbers have no other meaning.
"""

from __future__ import annotations

from autograd_conformance.programs.language import Ref

FIRST_INTERNAL = 1000
"""The output number of the first internal value of an instruction; values of a program have smaller numbers."""


class GradTensor(Ref):
    """A tensor in some value's `.grad` that no instruction of the program made: ``-1, -2, ...``."""

    __slots__ = ()


class InternalValue(Ref):
    """An intermediate value on the tape for which the program has no name, such as the result of an in-place write or
    an intermediate cotangent of a backward call with create_graph.
    """

    __slots__ = ()
