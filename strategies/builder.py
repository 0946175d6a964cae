"""The builder: puts a program together instruction by instruction, every one of them valid when it is drawn.

It computes the reference's values as it goes, so that an op is offered only operands inside its domain; where no value fits, a
fresh leaf is made that does. Nothing is rejected and drawn again. Choices run from the newest value to the oldest and from the
simplest op to the rarest, which is the order in which Hypothesis shrinks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from rules.catalogue import Needs
from rules.language import (
    Apply,
    Attrs,
    Backward,
    Detach,
    Instruction,
    Leaf,
    Literal,
    Program,
    Ref,
    Shape,
    ZeroGrad,
    operands,
)
from rules.ops import OPS, Op, Saves
from rules.ops.domains import ANY, Domain
from rules.ops.op import LARGEST, POOL, choices_of, rest_of
from rules.ops.shapes import size
from rules.reference.values import Reference, remember
from strategies.alphabet import Alphabet, current
from strategies.tensors import literal, raw

LIMIT = 100.0
"""The largest magnitude of a value: what would exceed it is passed through a calm op instead."""

CALM = ("tanh", "sin", "cos", "sigmoid", "negative")
"""Ops that take every value and make none larger than it was or than one."""

Draw = Callable[[st.SearchStrategy[Any]], Any]

REQUIRES = st.sampled_from((True, True, True, True, False))
RETAIN = st.sampled_from((None, True, False, True))
COIN = st.booleans()


@lru_cache(maxsize=None)
def _below(n: int) -> st.SearchStrategy[int]:
    return st.integers(0, n - 1)


@lru_cache(maxsize=None)
def one_of(options: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    """One of some options, the first being the simplest."""
    return st.sampled_from(options)


class Undrawable(Exception):
    """No program of a kind can be drawn for this framework; the message says what it lacks."""


class Builder:
    """A program under construction. `draw` is Hypothesis's.

    It asks for nothing that the framework does not claim: a call that would is brought within the claims, or left out.
    """

    def __init__(self, draw: Draw, dtype: str | None = None) -> None:
        self.draw = draw
        self.alphabet: Alphabet = current()
        self.modest = not {Needs.RETAIN, Needs.COTANGENTS, Needs.MULTIPLE_ROOTS} <= self.alphabet.claims
        self.reference = Reference()
        self.dtype = dtype or self.pick(tuple(self.alphabet.dtypes))
        self.dtypes: dict[Ref, str] = {}
        self.live: list[Ref] = []
        self.leaves: list[Ref] = []
        self.saving: set[Ref] = set()
        self.totals: dict[Ref, Ref] = {}

    def can(self, *needs: Needs) -> bool:
        """Whether the framework claims what is needed."""
        return self.alphabet.claims.issuperset(needs)

    def having(self, *names: str) -> tuple[str, ...]:
        """Those of some ops that can be drawn; `Undrawable` where there is none."""
        found = tuple(name for name in names if name in self.alphabet.ops)
        if not found:
            raise Undrawable(f"no such program can be drawn: it needs a working {' or '.join(names)}")
        return found

    # -- drawing ------------------------------------------------------------------------------------------------------

    def below(self, n: int) -> int:
        """A number from 0 to n - 1; nothing is drawn where there is no choice."""
        return self.draw(_below(n)) if n > 1 else 0

    def pick(self, options: Sequence[Any]) -> Any:
        """One of some options, the first being the simplest."""
        return options[self.below(len(options))]

    def recent(self, options: Sequence[Ref]) -> Ref:
        """One of some values, the newest being the simplest."""
        return options[len(options) - 1 - self.below(len(options))]

    def tensor(self, shape: Shape, dtype: str | None = None, domain: Domain = ANY) -> Literal:
        """A literal inside a domain."""
        data = self.draw(raw(size(shape))) if size(shape) else b""
        return literal(data, shape, dtype or self.dtype, domain)

    # -- adding instructions --------------------------------------------------------------------------------------------

    def add(self, step: Instruction) -> int:
        """Append an instruction; its values become operands for later ones."""
        at = len(self.reference.steps)
        for k, _ in enumerate(self.reference.add(step)):
            ref = Ref(at, k)
            self.live.append(ref)
            self.dtypes[ref] = self._dtype_of(step)
            if isinstance(step, Apply) and self._saves(step, ref):
                self.saving.add(ref)
        return at

    def _dtype_of(self, step: Instruction) -> str:
        match step:
            case Leaf(value):
                return value.dtype
            case Detach(source):
                return self.dtypes[source]
            case Apply(op, args):
                return OPS[op].dtype or self.dtypes[args[0]]
        raise AssertionError(step)

    def _saves(self, step: Apply, ref: Ref) -> bool:
        """Whether walking back from this value surely needs something saved."""
        if not self.reference.requires_grad[ref]:
            return False
        requires = [self.reference.requires_grad[r] for r in step.args]
        surely = OPS[step.op].saving(requires) is Saves.SURELY and np.size(self.reference.values[ref])
        return bool(surely) or any(r in self.saving for r in step.args)

    def leaf(
        self, shape: Shape | None = None, requires_grad: bool = True, domain: Domain = ANY, value: Literal | None = None
    ) -> Ref:
        """A fresh leaf."""
        if value is None:
            value = self.tensor(self.pick(POOL) if shape is None else shape, domain=domain)
        ref = Ref(self.add(Leaf(value, requires_grad or not self.can(Needs.CONSTANTS))))
        self.leaves.append(ref)
        return ref

    def apply(self, op: str, args: Iterable[Ref], attrs: Attrs = ()) -> list[Ref]:
        """An op on given operands; its results."""
        args = tuple(args)
        made = self.reference.apply(op, args, attrs)
        at = self.add(Apply(op, args, attrs, len(made)))
        return [Ref(at, k) for k in range(len(made))]

    def detach(self, source: Ref) -> Ref:
        """A detached value."""
        return Ref(self.add(Detach(source)))

    def backward(
        self, *roots: Ref, retain: bool | None = None, cotangents: Sequence[Literal | None] | None = None
    ) -> None:
        """A backward call; cotangents are drawn where none are given."""
        if self.modest:
            roots, retain, cotangents = self._within_claims(roots, retain, cotangents)
        given = tuple(self.cotangent(r) for r in roots) if cotangents is None else tuple(cotangents)
        self.add(Backward(roots, given, retain))

    def _within_claims(
        self, roots: tuple[Ref, ...], retain: bool | None, cotangents: Sequence[Literal | None] | None
    ) -> tuple[tuple[Ref, ...], bool | None, Sequence[Literal | None] | None]:
        """The call that comes nearest to what is asked for: one root, its total, nothing said about the graph."""
        if not self.can(Needs.MULTIPLE_ROOTS):
            roots, cotangents = roots[-1:], cotangents and cotangents[-1:]
        if not self.can(Needs.COTANGENTS) and cotangents is None:
            roots = tuple(self._total(root) for root in roots)
        return roots, retain if self.can(Needs.RETAIN) else None, cotangents

    def _total(self, root: Ref) -> Ref:
        """One element made from a root, the same one each time."""
        if size(self.shape(root)) == 1:
            return root
        if root not in self.totals:
            (name,) = self.having("sum")
            self.totals[root] = self.apply(name, (root,), choices_of(OPS[name], (self.shape(root),))[0])[0]
        return self.totals[root]

    def cotangent(self, root: Ref) -> Literal | None:
        """A legal cotangent for a root: None is one where it has one element."""
        shape = self.shape(root)
        if size(shape) == 1 and (not self.can(Needs.COTANGENTS) or self.draw(COIN)):
            return None
        return self.tensor(shape, self.dtypes[root])

    def zero(self, *leaves: Ref, to_none: bool = True) -> None:
        """Clear gradients, in the way that is asked for or else in the other; in none where none is claimed."""
        none, zeros = self.can(Needs.ZERO_TO_NONE), self.can(Needs.ZERO_TO_ZEROS)
        if not (none or zeros):
            return
        to_none = none if to_none else not zeros
        self.add(ZeroGrad(leaves, to_none))

    def program(self) -> Program:
        """The program so far, with its reference kept for the judge."""
        return remember(Program(tuple(self.reference.steps)), self.reference)

    # -- looking ----------------------------------------------------------------------------------------------------------

    def shape(self, ref: Ref) -> Shape:
        """The shape of a value."""
        return np.shape(self.reference.values[ref])

    def requires(self, ref: Ref) -> bool:
        """Whether a value requires grad."""
        return self.reference.requires_grad[ref]

    def made(self) -> list[Ref]:
        """The values that ops made and that require grad."""
        return [r for r in self.live if self.requires(r) and isinstance(self.reference.steps[r.at], Apply)]

    # -- drawing ops ------------------------------------------------------------------------------------------------------

    def op(self, name: str | None = None, fresh: bool = False, on: Ref | None = None) -> list[Ref]:
        """A drawn op on drawn operands; `fresh` makes all operands leaves, `on` is used as the first operand where it can be."""
        if name is None and not self.alphabet.weighted:
            raise Undrawable("no program can be drawn: no op of the framework works")
        op = OPS[name or self.draw(one_of(tuple(self.alphabet.weighted)))]
        first = on if on is not None and self._fits(op, 0, on) else self._operand(op, 0, op.accepts, op.fresh, fresh)
        options = rest_of(op, self.shape(first))
        others: list[Ref] = []
        if len(options[0]) == 1 and not fresh:
            fitting = {shape for (shape,) in options}
            others.append(self._operand(op, 1, fitting.__contains__, [s for (s,) in options], fresh, self.dtypes[first]))
        else:
            for k, shape in enumerate(self.pick(options), 1):
                others.append(self._operand(op, k, shape.__eq__, (shape,), fresh, self.dtypes[first]))
        args = (first, *others)
        attrs = self.pick(choices_of(op, tuple([self.shape(r) for r in args])))
        return self._checked(op, args, attrs)

    def _checked(self, op: Op, args: tuple[Ref, ...], attrs: Attrs) -> list[Ref]:
        """The op itself, or a calm one (or none) of its first operand where its results would be too large or its operands tie."""
        values = self.reference.values
        if op.apart is None or op.apart(*(values[r] for r in args)):
            made = self.reference.apply(op.name, args, attrs)
            if all(y.size <= 2 * LARGEST and y.ndim <= 5 and (not y.size or np.abs(y).max() <= LIMIT) for y in made):
                at = self.add(Apply(op.name, args, attrs, len(made)))
                return [Ref(at, k) for k in range(len(made))]
        calm = next((name for name in CALM if name in self.alphabet.ops), None)
        return self.apply(calm, args[:1]) if calm else [args[0]]

    def _fits(self, op: Op, place: int, ref: Ref) -> bool:
        return op.accepts(self.shape(ref)) and op.domain(place).holds(self.reference.values[ref])

    def _operand(
        self, op: Op, place: int, accepts: Callable[[Shape], bool], shapes: Sequence[Shape], fresh: bool, dtype: str | None = None
    ) -> Ref:
        """An existing value that fits (the newest first), or a fresh leaf in the op's domain."""
        domain = op.domain(place)
        fitting = [] if fresh else [
            r for r in self.live if accepts(self.shape(r)) and (dtype is None or self.dtypes[r] == dtype)
        ]  # fmt: skip
        if fitting:
            choice = self.below(len(fitting) + 1)
            if choice < len(fitting):
                at = len(fitting) - 1 - choice
                for ref in (*fitting[at::-1], *fitting[:at:-1]):
                    if domain is ANY or domain.holds(self.reference.values[ref]):
                        return ref
        value = self.tensor(self.pick(shapes), dtype or self.dtype, domain)
        return self.leaf(value=value, requires_grad=self.draw(REQUIRES))

    def grow(self, least: int, most: int) -> None:
        """Between `least` and `most` drawn ops."""
        for _ in range(least + self.below(most - least + 1)):
            self.op()

    # -- values with a property -------------------------------------------------------------------------------------------

    def required(self) -> Ref:
        """A non-empty value that requires grad: one that is there, or a fresh leaf."""
        options = [r for r in self.live if self.requires(r) and self.reference.values[r].size]
        if options and self.below(4) < 3:
            return self.recent(options)
        return self.leaf(self.pick(_NONEMPTY))

    def nonlinear(self, value: Ref, name: str | None = None) -> Ref:
        """The result of an op on `value` that surely saves."""
        name = name or self.pick(self._products())
        unary = "{1}" not in OPS[name].torch
        return self.apply(name, (value,) if unary else (value, value))[0]

    def _products(self) -> tuple[str, ...]:
        named = tuple(n for n in ("multiply", "sin", "square", "sigmoid", "tanh") if n in self.alphabet.ops)
        return named or self.having("cos", "atan", "softplus", "silu", "gelu")

    def root(self, most: int = 5) -> Ref:
        """A value whose walk surely needs saved values, at the end of up to `most` drawn ops."""
        if not self.leaves:
            self.leaf(self.pick(_NONEMPTY))
        self.grow(0, most)
        options = [r for r in self.live if r in self.saving]
        if options and self.below(4) < 3:
            return self.recent(options)
        return self.nonlinear(self.required())

    def beyond(self, value: Ref) -> Ref:
        """A new value made from `value` by one op that can take it."""
        for _ in range(2):
            made = self.op(on=value)[0]
            if value in operands(self.reference.steps[made.at]) and self.requires(made):
                return made
        named = tuple(n for n in ("negative", "sin", "tanh") if n in self.alphabet.ops)
        return self.apply(self.pick(named), (value,))[0] if named else self.nonlinear(value)


_NONEMPTY = tuple(s for s in POOL if 0 not in s)
