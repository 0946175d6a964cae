"""The script of a program under construction: its instructions so far, with their exact values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.rows.dtypes import narrowest, result_dtype
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.language import (
    ACTIONS,
    Apply,
    AssignGrad,
    Attrs,
    Backward,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    InPlace,
    Instruction,
    Leaf,
    Modes,
    Program,
    ReadGrad,
    Ref,
    SetRequiresGrad,
    Shape,
    ZeroGrad,
)
from autograd_conformance.programs.observations import Gradient, Kind, Raised, Returned, StepObservation
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.strategies.building.alphabet import Alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.unsupported import UnsupportedShape
from autograd_conformance.tape.graph import Expectation
from autograd_conformance.tape.model import Tape

ANY_GRADIENT = Gradient(np.zeros(()), "float64")
"""Placeholder for a gradient of which only its existence matters."""


class Script:
    """The instructions of a program under construction, together with their values. Nothing is drawn here."""

    def __init__(self, alphabet: Alphabet, tracked: bool) -> None:
        self.alphabet = alphabet
        """The ops, dtypes and capabilities that the program may use."""

        self.reference = Reference(traits=alphabet.traits)
        """The instructions so far, with their exact values."""

        self.dtypes: dict[Ref, str] = {}
        """The dtype of each value."""

        self.live: list[Ref] = []
        """The values that later instructions may use, oldest first."""

        self.leaves: list[Ref] = []
        """The leaves among `live`."""

        self.saving: set[Ref] = set()
        """The values whose graph certainly saved tensors, so that a second backward call on a freed graph raises."""

        self.modes: Modes = ()
        """The grad modes of the next instruction, outermost first."""

        self.under_modes: list[Modes] = []
        """The grad modes of each instruction so far."""

        self.tape = Tape(self.reference, alphabet.capabilities, counts=False) if tracked else None
        """The tape, the model of what a framework recorded, if the script has to know which instructions will raise;
        else None.
        """

        self.expectations: list[Expectation] = []
        """The outcomes that the tape, the model of what a framework recorded, allows for each instruction. Empty
        without a tape.
        """

        self.fails = False
        """Whether the newest instruction will raise or has an unspecified outcome. Always False without a tape."""

        self.refuses = True
        """Whether `add` raises for an op with shapes or attributes that the framework does not support; otherwise
        `unsupported` lists the op.
        """

        self.unsupported: list[str] = []
        """The ops of the script with shapes or attributes that the framework does not support, in words such as "sum
        with keepdim=True".
        """

    # -- adding instructions ------------------------------------------------------------------------------------------

    def add(self, step: Instruction) -> int:
        """Appends an instruction and makes its results operands of later ones. Returns its index."""
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
        return at

    def _require_supported(self, step: Apply | InPlace) -> None:
        """Raises `UnsupportedShape`, or adds to `unsupported`, if the framework does not support an op or an in-place
        op with these shapes and attributes.
        """
        unsupported = self.unsupported_form(step)
        if unsupported is None:
            return
        if self.refuses:
            raise UnsupportedShape(f"the framework does not support {unsupported}")
        self.unsupported.append(unsupported)

    def unsupported_form(self, step: Apply | InPlace) -> str | None:
        """Describes why the framework does not support an op or an in-place op, as "sum with keepdim=True"; returns
        None if it does.
        """
        shapes = [self.shape(ref) for ref in operands(step)]
        return self.alphabet.unsupported(step.op, shapes, step.attrs)

    def _record(self, at: int, step: Instruction) -> tuple[np.ndarray, ...]:
        """Computes an instruction's exact values, unless it will raise, and returns the values. Sets `fails` if the
        script is tracked.
        """
        if self.tape is None:
            return self.reference.add(step, self.modes)
        expectation = self.tape.expect(at, step, self.modes)
        self.expectations.append(expectation)
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
        """Records which leaves have a gradient after an instruction such as backward, without the gradients' values."""
        assert self.tape is not None
        if isinstance(step, ZeroGrad) and step.set_to_none:
            self.tape.grads.update(dict.fromkeys(step.leaves))
        elif isinstance(step, Backward) and not self.fails:
            self.tape.grads.update(dict.fromkeys(into, ANY_GRADIENT))
        elif isinstance(step, AssignGrad) and not self.fails:
            self.tape.grads[step.leaf] = None if step.value is None else ANY_GRADIENT
        self.tape.actions += 1

    def _is_used(self, step: Grad, number: int) -> bool:
        """Whether a result of a functional call will be a gradient and not None."""
        return step.materialize_grads or self.reference.tape.edge(step.inputs[number]) in self.reference.pullbacks.of(
            step
        )

    @contextmanager
    def under(self, *modes: str) -> Iterator[None]:
        """Adds grad modes to the instructions appended inside a `with` block."""
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
            case _:
                raise _without_values(step)

    def _saves(self, step: Apply, ref: Ref) -> bool:
        """Whether a backward call on this value certainly needs a saved tensor."""
        if not self.reference.requires_grad[ref]:
            return False
        requires = [self.reference.requires_grad[r] for r in step.args]
        always = row_of(step.op).saving(requires) is Certainty.ALWAYS and self.reference.values[ref].size
        return bool(always) or any(r in self.saving for r in step.args)

    def apply(self, op: str, args: Iterable[Ref], attrs: Attrs = ()) -> list[Ref]:
        """Appends an op on these operands. Returns its results."""
        args = tuple(args)
        made = self.reference.apply(op, args, attrs)
        at = self.add(Apply(op, args, attrs, len(made)))
        return [Ref(at, k) for k in range(len(made))]

    def detach(self, source: Ref) -> Ref:
        """Appends the detaching of a value. Returns the detached value."""
        return Ref(self.add(Detach(source)))

    def program(self) -> Program:
        """Returns the program so far."""
        return Program(tuple(self.reference.steps), tuple(self.under_modes))

    def drawn(self) -> Drawn:
        """Returns the program so far with its exact values; nothing may be added afterwards."""
        return Drawn(self.program(), self.reference)

    # -- queries ------------------------------------------------------------------------------------------------------

    def shape(self, ref: Ref) -> Shape:
        """Returns the shape of a value."""
        return self.reference.values[ref].shape

    def requires(self, ref: Ref) -> bool:
        """Whether a value requires grad."""
        return self.reference.requires_grad[ref]

    def op_results(self) -> list[Ref]:
        """Returns the values that are results of ops and require grad."""
        return [r for r in self.live if self.requires(r) and isinstance(self.reference.steps[r.at], Apply)]


def _without_values(step: Instruction) -> AssertionError:
    return AssertionError(f"{step} has no values")
