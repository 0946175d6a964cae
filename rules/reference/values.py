"""Every value and every gradient of a program, composed from the vector-Jacobian products of its ops.

`Reference` grows with the program, an instruction at a time, so that a strategy can draw with it and the judge can
reuse what was computed. All arithmetic is in float64, whatever the program's dtypes: the reference is the exact
answer as far as a float32 framework is concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rules.language import (
    Apply,
    AssignGrad,
    Attrs,
    Backward,
    Detach,
    Held,
    Instruction,
    Leaf,
    Literal,
    Program,
    Ref,
    Step,
    ZeroGrad,
)
from rules.reference.functions import VJP, Array, array, forward_of, vjp_of
from rules.reference.optimizers import State, stepped


@dataclass(frozen=True, slots=True)
class Record:
    """An op as it was recorded: the values that it made, and its operands with the values that they had then."""

    at: int
    outs: tuple[Ref, ...]
    op: str
    attrs: Attrs
    args: tuple[Ref, ...]
    operands: tuple[Array, ...]


class Reference:
    """The exact values of a program so far; `add` takes its next instruction.

    A write changes what a leaf, and what was detached from it,
    is from then on; what was recorded before keeps the operands
    that it was recorded with. `observe` puts observed values in the place of computed ones,
    so that nothing is held against a
    framework twice.
    """

    def __init__(self, program: Program | None = None) -> None:
        self.steps: list[Instruction] = []
        self.values: dict[Ref, Array] = {}
        self.requires_grad: dict[Ref, bool] = {}
        self.records: list[Record] = []
        self.gradients: dict[Ref, Ref] = {}
        self.optimizers: dict[Step, State] = {}
        self.seen: dict[Ref, Array | None] | None = None
        self._pullbacks: dict[object, dict[Ref, Array]] = {}
        for step in program or ():
            self.add(step)

    def add(self, step: Instruction) -> tuple[Array, ...]:
        """Compute the values that an instruction makes."""
        at = len(self.steps)
        self.steps.append(step)
        match step:
            case Leaf(literal, requires_grad):
                return self._make(at, (array(literal),), requires_grad)
            case Detach(source):
                return self._make(at, (self.values[source],), False)
            case Apply(op, args, attrs):
                made = self.apply(op, args, attrs)
                requires_grad = any(self.requires_grad[r] for r in args)
                outs = tuple([Ref(at, k) for k in range(len(made))])
                self.records.append(Record(at, outs, op, attrs, args, tuple([self.values[r] for r in args])))
                return self._make(at, made, requires_grad)
            case Held(leaf):
                history = self.gradients.get(leaf)
                if history is not None:
                    self.records.append(Record(at, (Ref(at),), "clone", (), (history,), (self.values[history],)))
                value = self.held(leaf)
                return self._make(
                    at, (np.zeros_like(self.values[leaf]) if value is None else value,), history is not None
                )
            case Backward() if step.create_graph:
                self._create(at, step)
            case Backward():
                for leaf in [r for r in self.gradients if r in self.pullback(step)]:
                    del self.gradients[leaf]
            case ZeroGrad(leaves):
                for leaf in leaves:
                    self.gradients.pop(leaf, None)
            case AssignGrad(leaf, given):
                self.gradients.pop(leaf, None)
                if given is not None and self.requires_grad[given]:
                    self.gradients[leaf] = given
            case Step():
                self._step(step)
        return ()

    def _make(self, at: int, made: tuple[Array, ...], requires_grad: bool) -> tuple[Array, ...]:
        for k, value in enumerate(made):
            self.values[Ref(at, k)] = value
            self.requires_grad[Ref(at, k)] = requires_grad
        return made

    def apply(self, op: str, args: tuple[Ref, ...], attrs: Attrs) -> tuple[Array, ...]:
        """The results that an op would have here, without adding an instruction."""
        operands = [self.values[r] for r in args]
        return forward_of(op, attrs, tuple([x.shape for x in operands]))(*operands)

    def pullback(self, call: Backward) -> Mapping[Ref, Array]:
        """What a backward call contributes to every value that its roots depend on (leaves and others)."""
        key = (call.roots, call.cotangents)
        if key not in self._pullbacks:
            self._pullbacks[key] = pull(self.records, self.values, self.requires_grad, call)
        return self._pullbacks[key]

    # -- gradients as values ------------------------------------------------------------------------------------------

    def held(self, leaf: Ref) -> Array | None:
        """The gradient that a leaf holds: as it was seen, or as it follows if every call so far was legal."""
        if self.seen is not None:
            return self.seen.get(leaf)
        total: Array | None = None
        for step in self.steps:
            match step:
                case Backward():
                    due = self.pullback(step).get(leaf)
                    total = total if due is None else due if total is None else total + due
                case ZeroGrad(leaves, to_none) if leaf in leaves:
                    total = None if to_none or total is None else np.zeros_like(total)
                case AssignGrad(target, given) if target == leaf:
                    total = None if given is None else self.values[given]
        return total

    def depends(self, gradient: Ref) -> bool:
        """Whether a gradient that has a history depends on some leaf at all, as far as its own derivative shows."""
        ones = Literal((1.0,) * self.values[gradient].size, self.values[gradient].shape)
        reached = self.pullback(Backward((gradient,), (ones,)))
        return any(value.any() for ref, value in reached.items() if isinstance(self.steps[ref.at], Leaf))

    def _create(self, at: int, call: Backward) -> None:
        """Record the backward pass itself, so that the gradients have a history of their own."""
        made = created(self, at, call)
        for leaf, contribution in made.items():
            if not isinstance(self.steps[leaf.at], Leaf):
                continue
            old = self.gradients.get(leaf)
            if old is None:
                self.gradients[leaf] = contribution
            else:
                self.gradients[leaf] = self.shadow(at, "add", (), (old, contribution))[0]

    def shadow(self, at: int, op: str, attrs: Attrs, args: tuple[Ref, ...]) -> tuple[Ref, ...]:
        """An op recorded by instruction `at`, which makes no values of the program; what it makes."""
        made = self.apply(op, args, attrs)
        first = 1 + max([r.output for r in self.values if r.at == at], default=-1)
        outs = tuple([Ref(at, first + k) for k in range(len(made))])
        self.records.append(Record(at, outs, op, attrs, args, tuple([self.values[r] for r in args])))
        for ref, value in zip(outs, made, strict=True):
            self.values[ref] = value
            self.requires_grad[ref] = any(self.requires_grad[r] for r in args)
        return outs

    def constant(self, at: int, value: Array) -> Ref:
        """A value without history among those that instruction `at` records."""
        ref = Ref(at, 1 + max([r.output for r in self.values if r.at == at], default=-1))
        self.values[ref], self.requires_grad[ref] = value, False
        return ref

    # -- writes -------------------------------------------------------------------------------------------------------

    def _step(self, step: Step) -> None:
        state = self.optimizers.setdefault(step, State())
        for leaf in step.leaves:
            gradient = self.held(leaf)
            if gradient is not None:
                self.write(leaf, stepped(step, state, leaf, self.values[leaf], gradient))

    def write(self, leaf: Ref, value: Array) -> None:
        """A leaf, and all that was detached from it, has another value from here on."""
        self.values[leaf] = value
        for at, step in enumerate(self.steps):
            if isinstance(step, Detach) and step.source == leaf:
                self.write(Ref(at), value)


Vjp = Callable[[Record, list[Array], list[Array]], tuple[Array, ...]]


def exact_vjp(record: Record, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
    """One op's vector-Jacobian product in float64."""
    return vjp_of(record.op, record.attrs, tuple([x.shape for x in operands]))(*operands, *cotangents)


def pull(
    records: Sequence[Record],
    values: Mapping[Ref, Array],
    requires_grad: Mapping[Ref, bool],
    call: Backward,
    vjp: Vjp = exact_vjp,
    combine: Callable[[Array, Array], Array] = np.add,
    joined: bool = True,
) -> dict[Ref, Array]:
    """Reverse accumulation over what was recorded, newest first.

    `combine` joins the contributions to a value; where it is not a sum,
    `joined` says whether what one op contributes to
    a value that it takes in several places counts as one contribution.
    """
    cotangents: dict[Ref, Array] = {}

    def add(ref: Ref, ct: Array) -> None:
        if requires_grad[ref]:
            cotangents[ref] = combine(cotangents[ref], ct) if ref in cotangents else ct

    for root, given in zip(call.roots, call.cotangents, strict=True):
        add(root, np.ones_like(values[root]) if given is None else array(given))
    for record in reversed(records):
        if not any(r in cotangents for r in record.outs):
            continue
        cts = [cotangents[r] if r in cotangents else np.zeros_like(values[r]) for r in record.outs]
        contributions = vjp(record, list(record.operands), cts)
        if combine is np.add or not joined:
            for ref, ct in zip(record.args, contributions, strict=True):
                add(ref, ct)
        else:
            for ref in dict.fromkeys(record.args):
                add(ref, np.add.reduce([ct for r, ct in zip(record.args, contributions, strict=True) if r == ref]))
    return cotangents


def created(reference: Reference, at: int, call: Backward) -> dict[Ref, Ref]:
    """The backward pass of `call`, recorded op by op: for each value that it reaches, the value of its gradient."""
    cotangents: dict[Ref, Ref] = {}

    def add(ref: Ref, ct: Ref) -> None:
        if reference.requires_grad[ref]:
            cotangents[ref] = reference.shadow(at, "add", (), (cotangents[ref], ct))[0] if ref in cotangents else ct

    for root, given in zip(call.roots, call.cotangents, strict=True):
        add(root, reference.constant(at, np.ones_like(reference.values[root]) if given is None else array(given)))
    for record in list(reversed(reference.records)):
        if not any(r in cotangents for r in record.outs):
            continue
        zeros = {
            r: reference.constant(at, np.zeros_like(reference.values[r])) for r in record.outs if r not in cotangents
        }
        cts = tuple(cotangents.get(r) or zeros[r] for r in record.outs)
        made = reference.shadow(at, f"{VJP}{len(record.args)} {record.op}", record.attrs, record.args + cts)
        for ref, ct in zip(record.args, made, strict=True):
            add(ref, ct)
    return cotangents


_latest: tuple[Program, Reference] | None = None


def remember(program: Program, reference: Reference) -> Program:
    """Keep the reference that a program was drawn with for whoever judges it next."""
    global _latest
    _latest = (program, reference)
    return program


def reference_of(program: Program) -> Reference:
    """The reference of a program: the one that it was drawn with if that was the latest, else a new one."""
    if _latest is not None and _latest[0] is program:
        return _latest[1]
    return Reference(program)
