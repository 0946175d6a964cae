"""Every op by name: the rows of all tables, and the ops that programs may apply in place.

The first operand of an in-place op is the target's old value; its only result is the target's new value, of the same
shape. Its `torch` code is a statement. Names end in an underscore, as PyTorch's do; assignments to parts, which are
also statements in PyTorch, are named ``set_..._``. Ops that change the target's shape or memory in place
(``transpose_``, ``resize_``) are not included.
"""

from __future__ import annotations

from functools import lru_cache

from autograd_conformance.ops.attributes import Kinds, attributes_problem, kinds_of, settings_problem
from autograd_conformance.ops.inplace.assignments import ASSIGNMENTS, VALUES
from autograd_conformance.ops.inplace.methods import INPLACE, narrower
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.ops.rows.row import Certainty, Op, table
from autograd_conformance.ops.rows.shapes import every, nonempty, offer, ranked, shaped
from autograd_conformance.ops.tables import OPS, VIEWS
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.validation import Vocabulary

MAYBE, NEVER = Certainty.MAYBE, Certainty.NEVER


def _copy(j, x, source):
    return j.np.broadcast_to(source, x.shape)


def _filled(j, x, value):
    return j.np.full(x.shape, value)


def _fill_diagonal(j, x, value):
    return j.np.where(np.eye(*x.shape) == 1, value, x)


def _op(name: str, torch: str, reference, saves: Certainty, accepts=lambda shape: True, **more) -> Op:
    return Op(name, torch, reference, saves, **more, **shaped(accepts))


WHOLE = (
    _op("copy_", "{0}.copy_({1})", _copy, NEVER, rest=narrower, promotes=Certainty.ALWAYS),
    _op("zero_", "{0}.zero_()", lambda j, x: j.np.zeros(x.shape), NEVER),
    _op("fill_", "{0}.fill_({value})", _filled, NEVER, choices=offer(value=VALUES)),
    _op("fill_tensor_", "{0}.fill_({1})", _copy, NEVER, rest=lambda first: [((),)]),
    _op(
        "fill_diagonal_",
        "{0}.fill_diagonal_({value})",
        _fill_diagonal,
        MAYBE,
        every(nonempty, ranked(2, 2)),
        choices=offer(value=VALUES),
    ),
)

WRITES: dict[str, Op] = {**INPLACE, **table("writes", *WHOLE, *ASSIGNMENTS)}
"""The rows of in-place ops."""

ROWS: dict[str, Op] = {**OPS, **WRITES, **MODULES, **RANDOM_OPS}
"""The rows of ops, in-place ops, modules and random ops by name; the names are distinct."""

APPLIED = frozenset((*OPS, *MODULES, *RANDOM_OPS))
"""The names of ops that programs apply, including modules and random ops; in-place ops are in `WRITES`."""


HIDDEN_BASES = frozenset((
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "avg_pool1d", "cov", "cross_entropy", "dropout", "einsum",
    "einsum_broadcast", "einsum_three", "inner", "instance_norm", "linear_bias", "lp_pool1d", "matmul", "max_pool1d",
    "multi_dot", "nll_loss", "repeat", "repeat_uneven", "tensordot",
))  # fmt: skip
"""Ops whose result has separate memory, but which PyTorch returns, for some operands, as a view of an internal tensor
of the op (such as a product in another shape)."""

CUT = frozenset(("chunk", "unstack"))
"""Ops whose number of results depends on the operand's shape."""

LONG = frozenset(("recurrent",))
"""Families of which each single op computes as much as many elementary ops, such as a recurrent layer over a whole
sequence; rounding errors are larger there.
"""

MAY_BE_VIEWS = VIEWS | HIDDEN_BASES | frozenset(MODULES)
"""Ops whose results may be views, of an operand or of an internal tensor. Results of all other ops are never views."""


@lru_cache(maxsize=None)
def _kinds(op: str) -> Kinds:
    return kinds_of(ROWS[op])


def _attributes_problem(op: str, attrs: Attrs) -> str | None:
    return attributes_problem(op, attrs, _kinds(op))


VOCABULARY = Vocabulary(APPLIED, WRITES, OPTIMIZERS, _attributes_problem, settings_problem)
"""The names of ops, in-place ops and optimizers that programs may use, and functions that validate their attributes and
settings.
"""


def row_of(name: str) -> Op:
    """The row of an op of the tables, of an in-place op, of a module, or of a random op."""
    return ROWS[name]
