"""The op catalogue: one table, by name, of every differentiable op that programs may use.

Adding an op is adding a row to the file of its family. Names are the Array API standard's where it has the op, and
otherwise those of PyTorch's documentation.
"""

from __future__ import annotations

from rules.ops.activations import ACTIVATIONS
from rules.ops.binary import BINARY
from rules.ops.convolution import CONVOLUTION, POOLING
from rules.ops.cumulative import CUMULATIVE
from rules.ops.diagonals import DIAGONALS
from rules.ops.elementwise import ELEMENTWISE
from rules.ops.indexing import INDEXING
from rules.ops.joining import JOINING, SPLITTING
from rules.ops.linalg import LINALG
from rules.ops.losses import LOSSES
from rules.ops.manipulation import MANIPULATION
from rules.ops.normalisation import NORMALISATION
from rules.ops.op import Aliases, Op, Saves
from rules.ops.products import PRODUCTS
from rules.ops.recurrent import RECURRENT
from rules.ops.reductions import REDUCTIONS

FAMILIES: tuple[dict[str, Op], ...] = (
    ELEMENTWISE,
    BINARY,
    ACTIVATIONS,
    REDUCTIONS,
    CUMULATIVE,
    MANIPULATION,
    JOINING,
    SPLITTING,
    INDEXING,
    DIAGONALS,
    PRODUCTS,
    LOSSES,
    NORMALISATION,
    CONVOLUTION,
    POOLING,
    LINALG,
    RECURRENT,
)

OPS: dict[str, Op] = {name: op for family in FAMILIES for name, op in family.items()}

VIEWS = frozenset(name for name, op in OPS.items() if op.aliases is not Aliases.NEVER)
"""The ops whose results share memory with their first operand, or may."""

__all__ = ["FAMILIES", "OPS", "VIEWS", "Aliases", "Op", "Saves"]
