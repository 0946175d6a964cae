"""What the situation of a rule needs of a framework besides capabilities: ops of some kind, in the words of a report.

A rule whose situation cannot come about with what a framework claims does not apply to it, and the report names what is
missing. What is claimed decides that, never what was observed: a rule whose situation could come about and did not has
not been tested. Kinds of ops follow from the rows of the op tables wherever a row says it.
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
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np


@dataclass(frozen=True)
class Offer:
    """What a framework claims to have."""

    ops: frozenset[str]
    """Its ops, but for those that are known to be wrong, of which no program is made."""
    capabilities: frozenset[Capability] = frozenset()
    traits: Traits = PYTORCH
    writes: frozenset[str] = frozenset()
    optimizers: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()

    def can(self, *needs: Capability) -> bool:
        """Whether it claims all of some capabilities."""
        return self.capabilities.issuperset(needs)

    @property
    def single(self) -> bool:
        """Whether every value has one element: there are no others, or no call can begin at one of several."""
        return self.traits.scalars or not (self.can(Capability.COTANGENTS) or "sum" in self.ops)


@dataclass(frozen=True)
class Need:
    """Something without which a situation cannot come about."""

    words: str
    """What it is: the end of a sentence that begins with "needs"."""
    satisfied_by: Callable[[Offer], bool]
    """Whether a framework has it."""


def either(*needs: Need) -> Need:
    """One of several."""
    return Need(
        " or ".join(each.words for each in needs), lambda offer: any(each.satisfied_by(offer) for each in needs)
    )


def claimed(*capabilities: Capability) -> Need:
    """Capabilities, all of them, where they are one way among several to bring a situation about."""
    words = " and ".join(capability.value for capability in capabilities)
    return Need(words, lambda offer: offer.can(*capabilities))


# -- kinds of ops ------------------------------------------------------------------------------------------------------


TUPLES = frozenset({"slogdet"})
"""The ops of several results that give them as a tuple of numbers of their own; others give a sequence of views."""


def _operands(op: str) -> int | None:
    """How many operands an op has; None for a module, whose settings say it."""
    return None if op in MODULES else arity(row_of(op))


@lru_cache(maxsize=None)
def _takes_two(op: str) -> bool:
    """Whether an op takes two values of one shape."""
    row = row_of(op)
    return _operands(op) == 2 and any((first,) in rest_of(row, first) for first in row.fresh if row.accepts(first))


ONE_ELEMENT: tuple[Shape, ...] = ((), (1,))
"""The shapes of values where every one has a single element."""

NAMESPACE = SimpleNamespace(np=np)
"""What reference functions compute with where shapes alone are asked for."""


@lru_cache(maxsize=None)
def _made_of_one(op: str, shape: Shape) -> Shape | None:
    """The shape of what an op makes of two values of one element each; None where it takes none of that shape."""
    row = row_of(op)
    if _operands(op) != 2 or shape not in row.fresh or not row.accepts(shape) or (shape,) not in rest_of(row, shape):
        return None
    try:
        made = row.reference(NAMESPACE, np.ones(shape), np.ones(shape), **dict(row.choices(shape, shape)[0]))
    except Exception:  # a reference that needs more than NumPy: take it that it makes another value like them
        return shape
    return np.shape(made)


def _unites(op: str) -> bool:
    """Whether an op makes one element of two."""
    return any(_made_of_one(op, shape) in ONE_ELEMENT for shape in ONE_ELEMENT)


def _is_closed(op: str) -> bool:
    """Whether an op makes one element of two, and of the shape of both."""
    return any(_made_of_one(op, shape) == shape for shape in ONE_ELEMENT)


def _saves(op: str) -> bool:
    """Whether an op certainly saves values and has operands of one shape, so that one value may stand for all."""
    row = row_of(op)
    return row.saves is Certainty.ALWAYS and (_operands(op) == 1 or _takes_two(op))


def _some(holds: Callable[[str], bool]) -> Callable[[Offer], bool]:
    return lambda offer: any(map(holds, offer.ops))


CALLS = Need(
    "a call that computes gradients",
    lambda offer: offer.can(Capability.IMPERATIVE) or offer.can(Capability.FUNCTIONAL),
)
"""What every rule needs: without it a framework differentiates nothing."""

SAVING = Need("an op whose derivative needs saved values", _some(_saves))
TWO_OPERANDS = Need(
    "an op that makes one value of two",
    lambda offer: any(map(_unites if offer.single else _takes_two, offer.ops)),
)
COMBINING = Need(
    "an op that makes of two values another one like them",
    lambda offer: any(map(_is_closed if offer.single else _takes_two, offer.ops)),
)
SEVERAL_RESULTS = Need(
    "an op of several results, of values of several elements",
    lambda offer: not offer.single and any(row_of(op).sequence or op in TUPLES for op in offer.ops),
)
VIEWING = Need("an op that gives a view", _some(lambda op: row_of(op).aliases is Certainty.ALWAYS))
SEVERAL_ELEMENTS = Need("tensors of several elements, and a call that can begin at one", lambda offer: not offer.single)
ADDING = Need("the op add", lambda offer: "add" in offer.ops)
STATE = Need("the ops add and multiply", lambda offer: {"add", "multiply"} <= offer.ops)
WRITING = Need("an op in place", lambda offer: bool(offer.writes))

JOINED = either(TWO_OPERANDS, claimed(Capability.MULTIPLE_ROOTS))
"""What lets two values lead to one call."""

CHANGES = either(claimed(Capability.WRITES), claimed(Capability.OPTIMIZERS))
"""What changes a value after it was saved."""
