"""A draft: a program under construction, made of valid instructions, with its exact values known at each instruction.

A draft draws numbers, tensors and calls. `OpBuilder` draws ops and operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import assert_never

from hypothesis.errors import UnsatisfiedAssumption

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.rows.domains import ANY, Domain
from autograd_conformance.ops.rows.dtypes import narrowest, result_dtype
from autograd_conformance.ops.rows.row import POOL, Certainty, choices_of
from autograd_conformance.ops.rows.shapes import form, size
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import (
    ACTIONS,
    Apply,
    AssignGrad,
    Attrs,
    Backward,
    BackwardCall,
    Clip,
    DefaultDtype,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    Modes,
    Optimizer,
    Program,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Shape,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.observations import Gradient, Kind, Raised, Returned, StepObservation
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.strategies.building.alphabet import Alphabet, current
from autograd_conformance.strategies.building.choices import Choices, Draw
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.tensors import literal
from autograd_conformance.tape.graph import Expectation
from autograd_conformance.tape.model import Tape

ANY_GRADIENT = Gradient(np.zeros(()), "float64")
"""Placeholder for any gradient where only its existence matters."""


class Unsupported(Exception):
    """No program of this kind can be drawn for the framework. The message names the missing feature."""


class UnsupportedOp(Unsupported):
    """This draw needs an op that the framework does not have; other draws may not need it."""


class UnsupportedShape(Unsupported, UnsatisfiedAssumption):
    """This draw needs a shape or form that the framework does not have. Hypothesis rejects the draw and tries another
    one.
    """


class Draft(Choices):
    """A program under construction, together with its values.

    It requires only capabilities that the framework claims. A call that needs others is changed or left out.
    """

    requiring: Sequence[bool] = (True, True, True, True, False)
    """Values to draw from evenly for `requires_grad` of a fresh operand. Also used for whether a leaf is an input of a
    functional call made in place of a backward call.
    """

    def __init__(self, draw: Draw, dtype: str | None = None, tracked: bool = False) -> None:
        super().__init__(draw)

        self.alphabet: Alphabet = current()
        """The ops, dtypes and capabilities that the program may use."""

        self.limited = self.alphabet.traits.distinct_roots or not (
            {Capability.RETAIN, Capability.COTANGENTS, Capability.MULTIPLE_ROOTS} <= self.alphabet.capabilities
        )
        """Whether some backward calls have to be changed to what the framework's capabilities allow."""

        self.reference = Reference(traits=self.alphabet.traits)
        """The instructions so far, with their exact values."""

        self.dtype = dtype or self.pick(tuple(self.alphabet.dtypes))
        """The dtype of new leaves."""

        self.dtypes: dict[Ref, str] = {}
        """The dtype of each value."""

        self.live: list[Ref] = []
        """The values that later instructions may use, oldest first."""

        self.leaves: list[Ref] = []
        """The leaves among `live`."""

        self.saving: set[Ref] = set()
        """The values whose graph certainly saved tensors, so that a second backward call raises if the graph was freed.
        """

        self.totals: dict[Ref, Ref] = {}
        """The sums computed by `total`, by their operand."""

        self.modes: Modes = ()
        """The grad modes of the next instruction, outermost first."""

        self.under_modes: list[Modes] = []
        """The grad modes of each instruction so far."""

        self.tape = Tape(self.reference, self.alphabet.capabilities, counts=False) if tracked else None
        """The tape model, if the draft has to know which instructions will raise; else None."""

        self.fails = False
        """Whether the newest instruction will raise or has an unspecified outcome. Always False without a tape model.
        """
        self.expectation = Expectation()
        """The outcomes that the tape model allows for the newest instruction."""

    def can(self, *needs: Capability) -> bool:
        """Whether the framework has these capabilities."""
        return self.alphabet.capabilities.issuperset(needs)

    def available(self, *names: str) -> tuple[str, ...]:
        """The named ops that can be drawn. Raises `UnsupportedOp` if there are none, or `UnsupportedShape` if the
        alphabet retries such draws.
        """
        found = tuple(name for name in names if name in self.alphabet.ops)
        if not found:
            unsupported = (
                f"{name} ({'breaks a rule' if name in self.alphabet.excluded else 'missing'})" for name in names
            )
            raise (UnsupportedShape if self.alphabet.retries else UnsupportedOp)(f"needs {' or '.join(unsupported)}")
        return found

    def require_absent_grad(self) -> None:
        """Raise `Unsupported` if a leaf's `.grad` is never None."""
        if self.alphabet.traits.begins_with_zeros and not self.can(Capability.ZERO_TO_NONE):
            raise Unsupported("needs leaves without a gradient; the framework gives every leaf a .grad of zeros")

    # -- drawing ------------------------------------------------------------------------------------------------------

    def shapes(self, options: Sequence[Shape]) -> Sequence[Shape]:
        """Those of some shapes that can be drawn. Raises `UnsupportedShape` if there are none."""
        if not self.alphabet.limits_shapes:
            return options
        found = tuple(filter(self.alphabet.admits, options))
        if not found and self.alphabet.absent_forms:
            absent = ", ".join(sorted(self.alphabet.absent_forms))
            raise UnsupportedShape(f"needs leaves of other forms; the framework has none that are {absent}")
        if not found:
            raise UnsupportedShape("needs tensors of several elements, and backward calls on them")
        return found

    def tensor(self, shape: Shape, dtype: str | None = None, domain: Domain = ANY) -> Literal:
        """A drawn literal of a shape, inside a domain."""
        data = self.raw(size(shape)) if size(shape) else b""
        return literal(data, shape, dtype or self.dtype, domain)

    # -- adding instructions ------------------------------------------------------------------------------------------

    def add(self, step: Instruction) -> int:
        """Append an instruction and make its results operands of later ones. Return its index."""
        if self.alphabet.limits_forms and isinstance(step, Apply | InPlace):
            self._require_supported(step)
        at = len(self.reference.steps)
        self.under_modes.append(self.modes)
        for k, _ in enumerate(self._record(at, step)):
            ref = Ref(at, k)
            self.live.append(ref)
            self.dtypes[ref] = self._dtype_of(step, k)
            if isinstance(step, Apply) and self._saves(step, ref):
                self.saving.add(ref)
        match step:
            case Grad():
                self.live = [r for r in self.live if r.at != at or self._is_used(step, r.output)]
            case SetRequiresGrad() | DetachInPlace():
                self.live = [r for r in self.live if r not in self.reference.storages.views_of_toggled]
            case Delete(values):
                self.live = [r for r in self.live if r not in values]
                self.leaves = [r for r in self.leaves if r not in values]
            case Leaf() | Apply() | Detach() | InPlace() | Backward() | RetainGrad() | Hook() | RemoveHook():
                pass
            case ZeroGrad() | ReadGrad() | AssignGrad() | Optimizer() | Step() | Clip() | DefaultDtype():
                pass
            case _:
                assert_never(step)
        return at

    def _require_supported(self, step: Apply | InPlace) -> None:
        """Raise `UnsupportedShape` if the framework does not support this form of an op or a write."""
        unsupported = self.unsupported_form(step)
        if unsupported is not None:
            raise UnsupportedShape(f"the framework does not support {unsupported}")

    def unsupported_form(self, step: Apply | InPlace) -> str | None:
        """The unsupported part of an op or a write, in words; None if the framework supports it."""
        shapes = [self.shape(ref) for ref in operands(step)]
        return self.alphabet.unsupported(step.op, shapes, step.attrs)

    def _record(self, at: int, step: Instruction) -> tuple[np.ndarray, ...]:
        """Add an instruction to the reference, unless it will raise. Return its values, and set `fails` and
        `expectation` if the draft is tracked.
        """
        if self.tape is None:
            return self.reference.add(step, self.modes)
        self.expectation = expectation = self.tape.expect(at, step, self.modes)
        self.fails = expectation.returns is None or expectation.unspecified
        made: tuple[np.ndarray, ...] = ()
        if self.fails:
            self.reference.skip(step)
            observed = StepObservation(Raised(next(iter(expectation.raises), Kind.UNKNOWN), "", ""))
        else:
            made = self.reference.add(step, self.modes)
            observed = StepObservation(Returned())
        self.tape.record(at, step, expectation, observed, self.modes)
        if isinstance(step, ACTIONS):
            self._follow_grads(step, expectation.traversal.must_accumulate)
        return made

    def _follow_grads(self, step: Instruction, into: Iterable[Ref]) -> None:
        """Record which leaves have a gradient after an action, without its values."""
        assert self.tape is not None
        if isinstance(step, ZeroGrad) and step.set_to_none:
            self.tape.grads.update(dict.fromkeys(step.leaves))
        elif isinstance(step, Backward) and not self.fails:
            self.tape.grads.update(dict.fromkeys(into, ANY_GRADIENT))
        elif isinstance(step, AssignGrad) and not self.fails:
            self.tape.grads[step.leaf] = None if step.value is None else ANY_GRADIENT
        self.tape.actions += 1

    def _is_used(self, step: Grad, number: int) -> bool:
        """Whether a result of the functional form will be a gradient and not None."""
        edge = self.reference.tape.edge(step.inputs[number])
        return step.materialize_grads or edge in self.reference.pullbacks.of(step)

    @contextmanager
    def under(self, *modes: str) -> Iterator[None]:
        """Add grad modes to the instructions appended inside a `with` block."""
        before, self.modes = self.modes, (*self.modes, *modes)
        try:
            yield
        finally:
            self.modes = before

    def _dtype_of(self, step: Instruction, number: int = 0) -> str:
        match step:
            case Leaf(value):
                return value.dtype
            case Detach(source):
                return self.dtypes[source]
            case ReadGrad(leaf):
                return self.dtypes[leaf]
            case Grad():
                return self.dtypes[step.inputs[number]]
            case Apply(op, args):
                given = [self.dtypes[r] for r in args]
                return result_dtype(row_of(op), given, [self.shape(r) for r in args]) or narrowest(given)
            case InPlace() | DetachInPlace() | SetRequiresGrad() | Backward() | RetainGrad() | Hook() | RemoveHook():
                raise _without_values(step)
            case ZeroGrad() | AssignGrad() | Optimizer() | Step() | Clip() | Delete() | DefaultDtype():
                raise _without_values(step)
            case _:
                assert_never(step)

    def _saves(self, step: Apply, ref: Ref) -> bool:
        """Whether a backward call on this value certainly needs a saved tensor."""
        if not self.reference.requires_grad[ref]:
            return False
        requires = [self.reference.requires_grad[r] for r in step.args]
        always = row_of(step.op).saving(requires) is Certainty.ALWAYS and self.reference.values[ref].size
        return bool(always) or any(r in self.saving for r in step.args)

    def leaf(
        self, shape: Shape | None = None, requires_grad: bool = True, domain: Domain = ANY, value: Literal | None = None
    ) -> Ref:
        """A fresh leaf; its shape and values are drawn if not given."""
        if value is None:
            value = self.tensor(self.pick(self.shapes(POOL)) if shape is None else shape, domain=domain)
        if self.alphabet.traits.scalars and value.shape != ():
            raise UnsupportedShape("the framework has no tensors of several elements")
        if self.alphabet.absent_forms and form(value.shape) in self.alphabet.absent_forms:
            raise UnsupportedShape(f"the framework has no leaves that are {form(value.shape)}")
        ref = Ref(self.add(Leaf(value, requires_grad or not self.can(Capability.CONSTANTS))))
        self.leaves.append(ref)
        return ref

    def apply(self, op: str, args: Iterable[Ref], attrs: Attrs = ()) -> list[Ref]:
        """Append an op on these operands. Return its results."""
        args = tuple(args)
        made = self.reference.apply(op, args, attrs)
        at = self.add(Apply(op, args, attrs, len(made)))
        return [Ref(at, k) for k in range(len(made))]

    def detach(self, source: Ref) -> Ref:
        """Append the detaching of a value. Return the detached value."""
        return Ref(self.add(Detach(source)))

    def backward(
        self, *roots: Ref, retain: bool | None = None, cotangents: Sequence[Literal | None] | None = None
    ) -> None:
        """Append a backward call. Cotangents are drawn if none are given."""
        if self.limited:
            roots, retain, cotangents = self._within_capabilities(roots, retain, cotangents)
        given = tuple(self.cotangent(r) for r in roots) if cotangents is None else tuple(cotangents)
        self.add(self.backward_call(roots, given, retain))

    def backward_call(
        self, roots: Sequence[Ref], cotangents: Sequence[Literal | None], retain: bool | None, create: bool = False
    ) -> BackwardCall:
        """A backward call whose gradients reach leaves. If the framework has no imperative form, or `create` is set and
        only the functional form can create a graph, it is a functional call for all or some leaves.
        """
        if self.can(Capability.IMPERATIVE) and (self.can(Capability.CREATES_IN_LEAVES) or not create):
            return Backward(tuple(roots), tuple(cotangents), retain, create)
        leaves = [leaf for leaf in self.leaves if self.requires(leaf)]
        inputs = [leaf for leaf in leaves if self.pick(self.requiring)] or leaves
        zeros = self.can(Capability.MATERIALIZES)
        unused = None if zeros else True
        return Grad(tuple(roots), tuple(inputs), tuple(cotangents), retain, create, unused, materialize_grads=zeros)

    def _within_capabilities(
        self, roots: tuple[Ref, ...], retain: bool | None, cotangents: Sequence[Literal | None] | None
    ) -> tuple[tuple[Ref, ...], bool | None, Sequence[Literal | None] | None]:
        """The roots, `retain` and cotangents of the most similar call that the framework supports: one root, its sum,
        distinct roots, or no `retain_graph`.
        """
        if not self.can(Capability.MULTIPLE_ROOTS):
            roots, cotangents = roots[-1:], cotangents and cotangents[-1:]
        if self.alphabet.traits.distinct_roots:
            kept = [k for k, root in enumerate(roots) if root not in roots[:k]]
            roots, cotangents = tuple(roots[k] for k in kept), cotangents and [cotangents[k] for k in kept]
        if not self.can(Capability.COTANGENTS) and cotangents is None:
            roots = tuple(self.total(root) for root in roots)
        return roots, retain if self.can(Capability.RETAIN) else None, cotangents

    def total(self, root: Ref) -> Ref:
        """The sum of a root's elements, computed once; the root itself if it needs no cotangent."""
        if self.alphabet.traits.implies(self.shape(root)):
            return root
        if root not in self.totals:
            self.totals[root] = self.summed(root)
        return self.totals[root]

    def summed(self, value: Ref) -> Ref:
        """The sum of all elements. Raises `UnsupportedShape` if the framework has no working `sum`; other shapes need
        none.
        """
        if "sum" not in self.alphabet.ops:
            raise UnsupportedShape("needs explicit cotangents, or a working sum, for roots of several elements")
        return self.apply("sum", (value,), self.choices("sum", value)[0])[0]

    def choices(self, op: str, *operands: Ref) -> Sequence[Attrs]:
        """The attributes that an op may have on these operands. Raises `UnsupportedShape` if there are none."""
        shapes = tuple(map(self.shape, operands))
        found = choices_of(self.alphabet.row(op), shapes)
        if not found:
            raise UnsupportedShape(f"the framework does not support {op} on operands of shapes {shapes}")
        return found

    def cotangent(self, root: Ref) -> Literal | None:
        """A legal cotangent for a root; None may be drawn if the root has one element."""
        shape = self.shape(root)
        may, must = self.alphabet.traits.implies(shape), not self.can(Capability.COTANGENTS)
        if may and (must or (self.can(Capability.IMPERATIVE) and self.coin())):
            return None
        return self.tensor(shape, self.dtypes[root])

    def refused_cotangents(self, root: Ref) -> list[Literal | None]:
        """Illegal cotangents of a root that the framework rejects: None, or one of two elements. If the framework
        neither supports a cotangent nor claims to reject it, its behaviour is unspecified.
        """
        shape = self.shape(root)
        implicit = self.can(Capability.NON_SCALAR_CHECK) or self.alphabet.traits.implies(shape)
        checked = self.can(Capability.COTANGENTS) and (shape == (2,) or self.can(Capability.COTANGENT_CHECK))
        return [*([None] if implicit else []), *([self.tensor((2,), self.dtypes[root])] if checked else [])]

    def zero_grad(self, *leaves: Ref, to_none: bool = True) -> None:
        """Clear gradients to None or to zeros, whichever the framework supports."""
        none, zeros = self.can(Capability.ZERO_TO_NONE), self.can(Capability.ZERO_TO_ZEROS)
        if not (none or zeros):
            return
        to_none = none if to_none else not zeros
        self.add(ZeroGrad(leaves, to_none))

    def program(self) -> Program:
        """The program so far."""
        return Program(tuple(self.reference.steps), tuple(self.under_modes))

    def drawn(self) -> Drawn:
        """The program so far with its reference; nothing may be added to the draft afterwards."""
        return Drawn(self.program(), self.reference)

    # -- queries ------------------------------------------------------------------------------------------------------

    def shape(self, ref: Ref) -> Shape:
        """The shape of a value."""
        return self.reference.values[ref].shape

    def requires(self, ref: Ref) -> bool:
        """Whether a value requires grad."""
        return self.reference.requires_grad[ref]

    def op_results(self) -> list[Ref]:
        """The values that are results of ops and require grad."""
        return [r for r in self.live if self.requires(r) and isinstance(self.reference.steps[r.at], Apply)]


def _without_values(step: Instruction) -> AssertionError:
    return AssertionError(f"{step} has no values")
