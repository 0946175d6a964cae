"""The op catalogue: one table, by name, of every differentiable op that programs may use.

To add an op, add a row to the file of its family. Names are those of the Array API standard if it has the op, and
otherwise those of PyTorch's documentation.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.row import Certainty, Op
from autograd_conformance.ops.tables.activations import ACTIVATIONS
from autograd_conformance.ops.tables.binary import BINARY
from autograd_conformance.ops.tables.complex_numbers import COMPLEX_NUMBERS
from autograd_conformance.ops.tables.convolution import CONVOLUTION
from autograd_conformance.ops.tables.cumulative import CUMULATIVE
from autograd_conformance.ops.tables.decompositions import DECOMPOSITIONS
from autograd_conformance.ops.tables.diagonals import DIAGONALS
from autograd_conformance.ops.tables.distances import DISTANCES
from autograd_conformance.ops.tables.elementwise import ELEMENTWISE
from autograd_conformance.ops.tables.fourier import FOURIER
from autograd_conformance.ops.tables.images import IMAGES
from autograd_conformance.ops.tables.indexing import INDEXING
from autograd_conformance.ops.tables.joining import JOINING, SPLITTING
from autograd_conformance.ops.tables.linalg import LINALG
from autograd_conformance.ops.tables.losses import LOSSES
from autograd_conformance.ops.tables.manipulation import MANIPULATION
from autograd_conformance.ops.tables.margins import MARGINS
from autograd_conformance.ops.tables.normalisation import NORMALISATION
from autograd_conformance.ops.tables.pooling import POOLING
from autograd_conformance.ops.tables.products import PRODUCTS
from autograd_conformance.ops.tables.recurrent import RECURRENT
from autograd_conformance.ops.tables.reductions import REDUCTIONS

FAMILIES: tuple[dict[str, Op], ...] = (
    ELEMENTWISE,
    BINARY,
    ACTIVATIONS,
    REDUCTIONS,
    CUMULATIVE,
    MANIPULATION,
    IMAGES,
    JOINING,
    SPLITTING,
    INDEXING,
    DIAGONALS,
    PRODUCTS,
    LOSSES,
    DISTANCES,
    MARGINS,
    NORMALISATION,
    CONVOLUTION,
    POOLING,
    LINALG,
    DECOMPOSITIONS,
    FOURIER,
    COMPLEX_NUMBERS,
    RECURRENT,
)

OPS: dict[str, Op] = {name: op for family in FAMILIES for name, op in family.items()}

VIEWS = frozenset(name for name, op in OPS.items() if op.aliases is not Certainty.NEVER)
"""The ops whose results share memory, or may share it, with their first operand."""

__all__ = ["FAMILIES", "OPS", "VIEWS", "Op"]
