"""A draft: a program under construction, one valid instruction after another, whose exact values are known at any time.

A draft draws numbers, tensors and calls; which ops and operands to draw is up to `OpBuilder`.
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

SOME = Gradient(np.zeros(()), "float64")
"""What stands for any gradient, where only whether there is one matters."""


class Unsupported(Exception):
    """No program of a kind can be drawn for this framework; the message says what it lacks."""


class UnsupportedOp(Unsupported):
    """A draw came upon an op that the framework does not have; other draws may need none."""


class UnsupportedShape(Unsupported, UnsatisfiedAssumption):
    """This program cannot be drawn, for the shape of something in it; another draw may give one that can: Hypothesis
    goes on to that.
    """


class Draft(Choices):
    """A program under construction, together with its values.

    It asks for nothing that the framework does not claim: a call that would is brought within the claims, or left out.
    """

    requiring: Sequence[bool] = (True, True, True, True, False)
    """Whether a fresh operand requires grad is drawn from these, and whether a leaf is an input of a call of the
    functional form that stands for one of another.
    """

    def __init__(self, draw: Draw, dtype: str | None = None, tracked: bool = False) -> None:
        super().__init__(draw)

        self.alphabet: Alphabet = current()
        """What the program may be made of."""

        self.limited = self.alphabet.traits.distinct_roots or not (
            {Capability.RETAIN, Capability.COTANGENTS, Capability.MULTIPLE_ROOTS} <= self.alphabet.capabilities
        )
        """Whether some backward calls have to be brought within the claims."""

        self.reference = Reference(traits=self.alphabet.traits)
        """The instructions so far, and the exact values that they make."""

        self.dtype = dtype or self.pick(tuple(self.alphabet.dtypes))
        """The dtype of new leaves."""

        self.dtypes: dict[Ref, str] = {}
        """The dtype of every value."""

        self.live: list[Ref] = []
        """The values that later instructions may use, oldest first."""

        self.leaves: list[Ref] = []
        """The leaves among them."""

        self.saving: set[Ref] = set()
        """The values from which no second backward call is possible once the graph is freed: tensors were saved."""

        self.totals: dict[Ref, Ref] = {}
        """For values that stood for a root by their sum: that sum."""

        self.modes: Modes = ()
        """The grad modes that the next instruction stands under, the outermost first."""

        self.under_modes: list[Modes] = []
        """The grad modes of every instruction so far."""

        self.tape = Tape(self.reference, self.alphabet.capabilities, counts=False) if tracked else None
        """The model of the tape, where the draft has to know which of its instructions will raise."""

        self.fails = False
        """Whether the newest instruction will raise, or may do anything; never without a tape."""
        self.expectation = Expectation()
        """What the model of the tape allowed for the last instruction of a tracked draft."""

    def can(self, *needs: Capability) -> bool:
        """Whether the framework claims what is needed."""
        return self.alphabet.capabilities.issuperset(needs)

    def available(self, *names: str) -> tuple[str, ...]:
        """The named ops that can be drawn. Raises `UnsupportedOp` if there are none, or `UnsupportedShape` if the
        alphabet retries such draws.
        """
        found = tuple(name for name in names if name in self.alphabet.ops)
        if not found:
            lacking = (
                f"{name}, which is {'wrong' if name in self.alphabet.excluded else 'not there'}" for name in names
            )
            raise (UnsupportedShape if self.alphabet.retries else UnsupportedOp)(f"it needs {' or '.join(lacking)}")
        return found

    def require_absent_grad(self) -> None:
        """Give up where leaves always hold a gradient."""
        if self.alphabet.traits.begins_with_zeros and not self.can(Capability.ZERO_TO_NONE):
            raise Unsupported("every leaf holds a gradient, of zeros in the beginning")

    # -- drawing ------------------------------------------------------------------------------------------------------

    def shapes(self, options: Sequence[Shape]) -> Sequence[Shape]:
        """Those of some shapes that can be drawn; raises `Unsupported` where there is none."""
        if not self.alphabet.limits_shapes:
            return options
        found = tuple(filter(self.alphabet.admits, options))
        if not found and self.alphabet.absent_forms:
            raise UnsupportedShape(
                f"leaves of other forms are not there: {', '.join(sorted(self.alphabet.absent_forms))}"
            )
        if not found:
            raise UnsupportedShape("it needs tensors of several elements, and a call that can begin at one")
        return found

    def tensor(self, shape: Shape, dtype: str | None = None, domain: Domain = ANY) -> Literal:
        """A literal inside a domain."""
        data = self.raw(size(shape)) if size(shape) else b""
        return literal(data, shape, dtype or self.dtype, domain)

    # -- adding instructions ------------------------------------------------------------------------------------------

    def add(self, step: Instruction) -> int:
        """Append an instruction; its values become operands for later ones."""
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
        """Raise `UnsupportedShape` where the framework does not take an op, or a write, in this form."""
        beyond = self.unsupported_form(step)
        if beyond is not None:
            raise UnsupportedShape(f"the framework does not take {beyond}")

    def unsupported_form(self, step: Apply | InPlace) -> str | None:
        """What of an op, or of a write, the framework does not take, in words; None where it takes it all."""
        shapes = [self.shape(ref) for ref in operands(step)]
        return self.alphabet.unsupported(step.op, shapes, step.attrs)

    def _record(self, at: int, step: Instruction) -> tuple[np.ndarray, ...]:
        """Let the reference take an instruction, unless it will raise; `fails` says whether it will."""
        if self.tape is None:
            return self.reference.add(step, self.modes)
        self.expectation = expectation = self.tape.expect(at, step, self.modes)
        self.fails = expectation.returns is None or expectation.unspecified
        made: tuple[np.ndarray, ...] = ()
        if self.fails:
            self.reference.skip(step)
            seen = StepObservation(Raised(next(iter(expectation.raises), Kind.UNKNOWN), "", ""))
        else:
            made = self.reference.add(step, self.modes)
            seen = StepObservation(Returned())
        self.tape.record(at, step, expectation, seen, self.modes)
        if isinstance(step, ACTIONS):
            self._follow_grads(step, expectation.traversal.must_accumulate)
        return made

    def _follow_grads(self, step: Instruction, into: Iterable[Ref]) -> None:
        """Follow whether leaves will have a gradient after an action, not which."""
        assert self.tape is not None
        if isinstance(step, ZeroGrad) and step.set_to_none:
            self.tape.grads.update(dict.fromkeys(step.leaves))
        elif isinstance(step, Backward) and not self.fails:
            self.tape.grads.update(dict.fromkeys(into, SOME))
        elif isinstance(step, AssignGrad) and not self.fails:
            self.tape.grads[step.leaf] = None if step.value is None else SOME
        self.tape.actions += 1

    def _is_used(self, step: Grad, number: int) -> bool:
        """Whether a result of the functional form will be a gradient, not none."""
        return step.materialize_grads or self.reference.edge(step.inputs[number]) in self.reference.pullback(step)

    @contextmanager
    def under(self, *modes: str) -> Iterator[None]:
        """Inside the `with` block, instructions stand under these grad modes as well."""
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
        """A fresh leaf."""
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
        if self.limited:
            roots, retain, cotangents = self._within_capabilities(roots, retain, cotangents)
        given = tuple(self.cotangent(r) for r in roots) if cotangents is None else tuple(cotangents)
        self.add(self.called(roots, given, retain))

    def called(
        self, roots: Sequence[Ref], cotangents: Sequence[Literal | None], retain: bool | None, create: bool = False
    ) -> BackwardCall:
        """A backward call that reaches leaves, in the form that the framework has: without an imperative one, the
        functional form gives the gradients of leaves, all or some. So it does where that form alone creates a graph.
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
        """The nearest call within the claims: one root, its sum, each root once, nothing said about the graph."""
        if not self.can(Capability.MULTIPLE_ROOTS):
            roots, cotangents = roots[-1:], cotangents and cotangents[-1:]
        if self.alphabet.traits.distinct_roots:
            kept = [k for k, root in enumerate(roots) if root not in roots[:k]]
            roots, cotangents = tuple(roots[k] for k in kept), cotangents and [cotangents[k] for k in kept]
        if not self.can(Capability.COTANGENTS) and cotangents is None:
            roots = tuple(self.total(root) for root in roots)
        return roots, retain if self.can(Capability.RETAIN) else None, cotangents

    def total(self, root: Ref) -> Ref:
        """One element made from a root, the same one each time."""
        if self.alphabet.traits.implies(self.shape(root)):
            return root
        if root not in self.totals:
            self.totals[root] = self.summed(root)
        return self.totals[root]

    def summed(self, value: Ref) -> Ref:
        """The sum of all elements; raises `UnsupportedShape` where the framework has none: other shapes need none."""
        if "sum" not in self.alphabet.ops:
            raise UnsupportedShape(
                "several elements have to become one: it needs explicit cotangents, or a working sum"
            )
        return self.apply("sum", (value,), self.choices("sum", value)[0])[0]

    def choices(self, op: str, *operands: Ref) -> Sequence[Attrs]:
        """The attributes that an op may have on these operands. Raises `UnsupportedShape` if there are none."""
        shapes = tuple(map(self.shape, operands))
        found = choices_of(self.alphabet.row(op), shapes)
        if not found:
            raise UnsupportedShape(f"the framework does not take {op} of the shapes {shapes}")
        return found

    def cotangent(self, root: Ref) -> Literal | None:
        """A legal cotangent for a root: None is one where it has one element."""
        shape = self.shape(root)
        may, must = self.alphabet.traits.implies(shape), not self.can(Capability.COTANGENTS)
        if may and (must or (self.can(Capability.IMPERATIVE) and self.coin())):
            return None
        return self.tensor(shape, self.dtypes[root])

    def refused_cotangents(self, root: Ref) -> list[Literal | None]:
        """The cotangents with which a call on a root may be refused: none, and one of two elements. What a framework
        does with one that it neither takes nor claims to refuse is said nowhere.
        """
        shape = self.shape(root)
        implicit = self.can(Capability.NON_SCALAR_CHECK) or self.alphabet.traits.implies(shape)
        checked = self.can(Capability.COTANGENTS) and (shape == (2,) or self.can(Capability.COTANGENT_CHECK))
        return [*([None] if implicit else []), *([self.tensor((2,), self.dtypes[root])] if checked else [])]

    def zero_grad(self, *leaves: Ref, to_none: bool = True) -> None:
        """Clear gradients to none or to zeros, as far as the framework claims either."""
        none, zeros = self.can(Capability.ZERO_TO_NONE), self.can(Capability.ZERO_TO_ZEROS)
        if not (none or zeros):
            return
        to_none = none if to_none else not zeros
        self.add(ZeroGrad(leaves, to_none))

    def program(self) -> Program:
        """The program so far."""
        return Program(tuple(self.reference.steps), tuple(self.under_modes))

    def drawn(self) -> Drawn:
        """The program so far, and its reference, which must not be added to from then on."""
        return Drawn(self.program(), self.reference)

    # -- looking ------------------------------------------------------------------------------------------------------

    def shape(self, ref: Ref) -> Shape:
        """The shape of a value."""
        return self.reference.values[ref].shape

    def requires(self, ref: Ref) -> bool:
        """Whether a value requires grad."""
        return self.reference.requires_grad[ref]

    def made(self) -> list[Ref]:
        """The values that ops made and that require grad."""
        return [r for r in self.live if self.requires(r) and isinstance(self.reference.steps[r.at], Apply)]


def _without_values(step: Instruction) -> AssertionError:
    return AssertionError(f"a value of {step}, which makes none")
