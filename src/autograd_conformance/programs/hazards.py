"""Situations that end the process of some framework, and that its programs can leave out."""

from __future__ import annotations

from enum import Enum


class Hazard(Enum):
    """A situation that a framework's programs do not have if its file of known differences spares it, because the
    process would end in it and take the other programs along.
    """

    OUTDATED_HOOK = "hook on an outdated view"
    """A hook is registered on a value whose memory was written to after the value was made."""
    WRITTEN_RESULT = "write to a result whose gradient is kept"
    """A write goes into a result of an op that is not its first one, or into a view of it, after an instruction kept or
    requested the gradient of this result. If regions (instructions that run as one function) are one node of the graph,
    this is any result.
    """
    CONSTANT_GRADIENT = "call through a constant gradient"
    """A backward call goes through a result of a functional call with create_graph that depends on no leaf."""
