"""Templates with which programs are printed as code for HIPS autograd, on its NumPy."""

from __future__ import annotations

from autograd_conformance.frameworks.numpylike.ops import SEQUENCES, TABLE
from autograd_conformance.printing.functional import functional

OPS = TABLE
"""Template of the code for each op, by the suite's name of the op: a function that autograd wraps and can
differentiate, for all attributes and shapes. Left out: `diagonal` with an offset; SciPy's `logsumexp`, whose result for
a number has shape `(1,)` if dimensions are kept.
"""

DIALECT = functional(
    prelude="import autograd.numpy as np\n"
    "import autograd.scipy.special as special\n"
    "from autograd import make_vjp\n"
    "from autograd.builtins import tuple as traced_tuple",
    tensor="np.array({data}, np.{dtype})",
    empty="np.zeros({shape}, np.{dtype})",
    ops=OPS,
    sequences=SEQUENCES,
    vjp="make_vjp({function}, [{places}])({inputs})[0]({cotangent})",
    ones="np.ones_like({root})",
    together="traced_tuple(({values}))",
)
"""Templates with which programs are printed as autograd code; autograd differentiates through a `traced_tuple`."""
