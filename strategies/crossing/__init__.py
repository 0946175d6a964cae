"""Crossed programs: recorded programs that take instructions of others, where facts meet that never met.

The situations of the other strategies are those that somebody thought of, and the recorded programs have what ever met
in these. Crossing continues from there: it puts an instruction next to a value whose facts no drawn program had
together with those of the instruction.
"""

from autograd_conformance.strategies.crossing.copying import supported_part
from autograd_conformance.strategies.crossing.drawing import crossed

__all__ = ["crossed", "supported_part"]
