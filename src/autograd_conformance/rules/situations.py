"""Features that programs for a rule need besides capabilities, such as ops of a certain kind, each with its text in
reports.

A rule does not apply to a framework whose claims cannot bring about the situation that the rule is about; the report
names the missing feature. Claims alone decide that, never observations: a rule whose situation was possible but did not
occur was not tested. Kinds of ops are derived from the rows of the op tables wherever a row contains the information.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.rows.row import Certainty, arity, rest_of
from autograd_conformance.programs.capabilities import PYTORCH, Capability, Traits
from autograd_conformance.programs.dtypes import COARSE
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np


@dataclass(frozen=True)
class Offer:
    """The ops, capabilities and other features that a framework claims."""

    ops: frozenset[str]
    """The framework's ops, except for ops known to be faulty, which programs never contain."""
    capabilities: frozenset[Capability] = frozenset()
    traits: Traits = PYTORCH
    writes: frozenset[str] = frozenset()
    optimizers: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    dtypes: frozenset[str] = frozenset()
    """The dtypes of the run."""
    lowered: frozenset[str] = frozenset()
    """The ops that compute in fewer digits than float32 under autocast."""

    def can(self, *needs: Capability) -> bool:
        """Whether the framework claims all of the given capabilities."""
        return self.capabilities.issuperset(needs)

    @property
    def single(self) -> bool:
        """Whether every value that a call begins at has one element, because the framework has no others or because no
        call can begin at others.
        """
        return self.traits.scalars or not (self.can(Capability.COTANGENTS) or "sum" in self.ops)


@dataclass(frozen=True)
class Need:
    """A feature that a framework needs so that programs can test a rule."""

    words: str
    """The feature, as the end of a sentence that begins with "needs", such as "an in-place op"."""
    satisfied_by: Callable[[Offer], bool]
    """A function that says whether a framework has the feature."""


def either(*needs: Need) -> Need:
    """Returns a need that is satisfied if any of several needs is."""
    return Need(
        " or ".join(each.words for each in needs), lambda offer: any(each.satisfied_by(offer) for each in needs)
    )


def claimed(*capabilities: Capability) -> Need:
    """Returns a need for all of the given capabilities, for use where they are one of several ways to test a rule."""
    words = " and ".join(capability.value for capability in capabilities)
    return Need(words, lambda offer: offer.can(*capabilities))


# -- kinds of ops ------------------------------------------------------------------------------------------------------


TUPLES = frozenset({"slogdet"})
"""The ops with several results that return separate tensors, as a tuple; others return a sequence of views."""


def _operands(op: str) -> int | None:
    """Returns the number of an op's operands; None for a module, whose settings decide it."""
    return None if op in MODULES else arity(row_of(op))


@lru_cache(maxsize=None)
def _takes_two(op: str) -> bool:
    """Whether an op takes two values of one shape."""
    row = row_of(op)
    return _operands(op) == 2 and any((first,) in rest_of(row, first) for first in row.fresh if row.accepts(first))


ONE_ELEMENT: tuple[Shape, ...] = ((), (1,))
"""The shapes of tensors with one element on which an op is tried: a number, and one dimension."""

NAMESPACE = SimpleNamespace(np=np)
"""The array library with which reference functions of ops are called when only the shape of the result matters: NumPy
alone.
"""


@lru_cache(maxsize=None)
def _made_of_one(op: str, shape: Shape) -> Shape | None:
    """Returns the shape of an op's result for two operands of this shape, which has one element; None if the op does
    not take such operands.
    """
    row = row_of(op)
    if _operands(op) != 2 or shape not in row.fresh or not row.accepts(shape) or (shape,) not in rest_of(row, shape):
        return None
    try:
        made = row.reference(NAMESPACE, np.ones(shape), np.ones(shape), **dict(row.choices(shape, shape)[0]))
    except Exception:  # a reference that needs more than NumPy: assume a result of the same shape
        return shape
    return np.shape(made)


def _unites(op: str) -> bool:
    """Whether an op of two operands computes a single element from two tensors of one element."""
    return any(_made_of_one(op, shape) in ONE_ELEMENT for shape in ONE_ELEMENT)


def _is_closed(op: str) -> bool:
    """Whether an op computes one element from two, where the result and both operands have the same shape."""
    return any(_made_of_one(op, shape) == shape for shape in ONE_ELEMENT)


def _saves(op: str) -> bool:
    """Whether an op certainly saves tensors, and has one operand or two of the same shape, so that one value can be
    used for all.
    """
    row = row_of(op)
    return row.saves is Certainty.ALWAYS and (_operands(op) == 1 or _takes_two(op))


def _some(holds: Callable[[str], bool]) -> Callable[[Offer], bool]:
    return lambda offer: any(map(holds, offer.ops))


CALLS = Need(
    "a call that computes gradients",
    lambda offer: offer.can(Capability.IMPERATIVE) or offer.can(Capability.FUNCTIONAL),
)
"""The need of every rule: without a call that computes gradients, a framework differentiates nothing."""

SAVING = Need("an op whose derivative needs saved tensors", _some(_saves))
TWO_OPERANDS = Need(
    "an op that computes one value from two",
    lambda offer: any(map(_unites if offer.single else _takes_two, offer.ops)),
)
COMBINING = Need(
    "an op that combines two values into one of the same shape",
    lambda offer: any(map(_is_closed if offer.single else _takes_two, offer.ops)),
)
SEVERAL_RESULTS = Need(
    "an op with several results, on values with several elements",
    lambda offer: not offer.single and any(row_of(op).sequence or op in TUPLES for op in offer.ops),
)
VIEWING = Need("an op that returns a view", _some(lambda op: row_of(op).aliases is Certainty.ALWAYS))
SEVERAL_ELEMENTS = Need(
    "tensors with several elements, and a call that can begin at such a tensor", lambda offer: not offer.single
)
ADDING = Need("the op add", lambda offer: "add" in offer.ops)
STATE = Need("the ops add and multiply", lambda offer: {"add", "multiply"} <= offer.ops)
TRAINING_OPS = (
    "linear", "linear_bias", "tanh", "mse_loss", "add", "mean", "multiply", "multiply_scalar", "subtract", "square",
)  # fmt: skip
"""The ops of every training loop."""

TRAINING = Need(f"the ops {', '.join(TRAINING_OPS)}", lambda offer: offer.ops.issuperset(TRAINING_OPS))
LISTED = Need(
    "an op that computes in fewer digits under autocast, and float32",
    lambda offer: not offer.lowered.isdisjoint(offer.ops) and "float32" in offer.dtypes,
)
FEW_DIGITS = Need("a dtype of few digits, with --dtype", lambda offer: not offer.dtypes.isdisjoint(COARSE))
WRITING = Need("an in-place op", lambda offer: bool(offer.writes))

JOINED = either(TWO_OPERANDS, claimed(Capability.MULTIPLE_ROOTS))
"""The need of rules about a call to which two values contribute."""

CHANGES = either(claimed(Capability.WRITES), claimed(Capability.OPTIMIZERS))
"""The need of rules about a value that changes after an op saved it: in-place ops or optimizer steps."""
