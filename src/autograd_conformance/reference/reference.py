"""The reference: every value and gradient of a program, composed from the vector-Jacobian products of its ops.

`Reference` grows with the program, one instruction at a time, so that a strategy can use it while drawing and the judge
can reuse what was computed. All arithmetic is in float64, whatever the program's dtypes, so that it is exact compared
with a float32 framework.
"""

from __future__ import annotations

from typing import assert_never

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.capabilities import PYTORCH, Traits
from autograd_conformance.programs.language import (
    RANDOM,
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
    Modes,
    Optimizer,
    Program,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
    is_recorded,
)
from autograd_conformance.programs.observations import Returned, StepObservation
from autograd_conformance.programs.operands import grouped
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.calls import Calls
from autograd_conformance.reference.computation.flags import Flags
from autograd_conformance.reference.computation.hooks import Hooks
from autograd_conformance.reference.computation.memory.grads import Grads
from autograd_conformance.reference.computation.memory.storage import Derived, Storages
from autograd_conformance.reference.computation.memory.views import Views
from autograd_conformance.reference.computation.memory.writes import Writes
from autograd_conformance.reference.computation.pullbacks import Pullbacks
from autograd_conformance.reference.computation.reverse import TapeEntry, evaluate
from autograd_conformance.reference.computation.tape import ReferenceTape
from autograd_conformance.reference.computation.totals import Totals
from autograd_conformance.reference.domains import is_finite_call, is_smooth
from autograd_conformance.reference.optimizers import LeafState, clipped, stepped
from autograd_conformance.reference.staging.derivatives import Array, array, reaching


class Reference:
    """The exact values of a program so far; `add` carries out its next instruction.

    The state has parts: the tape, the storages, the views, the hooks, and the `.grad` of values. `calls`, `writes` and
    `flags` carry out the instructions that change several parts.

    A write changes a value and all values that share its storage from then on. Tape entries recorded earlier keep the
    operands with which they were recorded. If observations are given, the reference adopts them wherever several
    outcomes are legal: whether a result is a view, and whether a gradient was replaced or changed in place.
    """

    def __init__(self, program: Program | None = None, traits: Traits = PYTORCH) -> None:
        self.traits = traits
        """The framework's choices where the rules allow several behaviours."""
        self.steps: list[Instruction] = []
        """The instructions so far."""
        self.skipped: set[int] = set()
        """The numbers of the instructions that raised or were not run; the reference computes no effect of these."""
        self.observing = False
        """Whether the reference is given observations. If so, `.grad` is as observed; otherwise it follows from the
        calls so far."""
        self.unobserved: set[Ref] = set()
        """Values that were not observed when they were made, such as those inside a region: instructions that run as
        one compiled or checkpointed function."""
        self.shown_late: dict[Ref, int] = {}
        """The instruction with which each of these values was observed. Ops up to there may have used it: they used the
        framework's elements, and not those of the reference."""
        self.unspecified = False
        """Whether an instruction used something that the rules leave unspecified: from then on, nothing is judged."""
        self.optimizers: dict[tuple[Step, Ref], LeafState] = {}
        """The state of each optimizer for each of its leaves, by the optimizer's step and the leaf."""
        self.tape = ReferenceTape()
        self.values, self.requires_grad = self.tape.values, self.tape.requires_grad  # read most often
        self.storages = Storages(self.values)
        self.views = Views(self.steps, self.tape, self.storages)
        self.hooks = Hooks()
        self.pullbacks = Pullbacks(self.tape, self.hooks, traits)
        self.totals = Totals(self.steps, self.skipped, self.tape, self.pullbacks)
        self.grads = Grads(self.tape, self.storages)
        self.calls = Calls(self.tape, self.storages, self.pullbacks, self.grads, self.totals)
        self.writes = Writes(self.tape, self.storages, self.views, self.grads)
        self.flags = Flags(self.tape, self.storages, self.grads)
        self.was_drawn = program is None
        """Whether a strategy has drawn the instructions, inside all domains by construction."""
        self._is_outside_domains: bool | None = None
        self._cached: tuple[object, tuple[Array, ...]] = (None, ())  # the key of the latest `apply`, and its results
        for at, step in enumerate(program or ()):
            self.add(step, program.mode(at) if program else ())

    def empty(self) -> Reference:
        """Returns a reference with the same traits and without instructions."""
        return Reference(traits=self.traits)

    def needs_observations(self, program: Program) -> bool:
        """Whether the expected results of a program depend on what the framework did, so that the reference has to
        adopt observations.
        """
        return program.stateful or self.traits.ends or self.is_outside_domains

    @property
    def is_outside_domains(self) -> bool:
        """Whether an op of the program is computed where it is not smooth, or with operands that are not finite. This
        is computed without observations, for programs that do not depend on them. It is false for drawn programs, which
        are inside all domains by construction.
        """
        if self._is_outside_domains is None:
            inside = self.was_drawn or all(self._is_inside(step) for step in self.steps)
            self._is_outside_domains = not inside
        return self._is_outside_domains

    def _is_inside(self, step: Instruction) -> bool:
        return is_finite_call(step) if isinstance(step, BackwardCall) else is_smooth(step, self.values)

    def add(self, step: Instruction, modes: Modes = (), observed: StepObservation | None = None) -> tuple[Array, ...]:
        """Carries out an instruction that returned, and returns the values that it makes."""
        at = len(self.steps)
        self.steps.append(step)
        match step:
            case Leaf(literal, requires_grad):
                leaf = Ref(at)
                made = self._make((leaf,), (array(literal),), requires_grad)
                if self.observing and (zeros := self.totals.initial(leaf)) is not None:
                    self.grads.tensors[leaf] = self.grads.new(zeros)
                return made
            case Detach(source):
                out = Ref(at)
                self.storages.add_alias(out, Derived(source))
                return self._make((out,), (self.values[source],), False)
            case Apply():
                return self._apply(at, step, is_recorded(modes), observed)
            case ReadGrad(leaf):
                return self.grads.read(Ref(at), self._grad_tensor(leaf))
            case Backward() | Grad():
                returned = self.calls.call(at, step, self.observing)
                if self.traits.ends and not step.retain_graph and self.pullbacks.is_legal(step):
                    self.tape.end(at, set(self.pullbacks.of(step)))
                    self.pullbacks.forget()
                return returned
            case ZeroGrad():
                self.grads.clear(at, step)
            case AssignGrad(leaf, given):
                self.grads.assign(leaf, given, self.traits.copies)
            case SetRequiresGrad(target, on):
                self._set_requires_grad(target, on)
            case RetainGrad(target):
                if not self.tape.is_leaf(target):
                    self.calls.retained.add(target)
            case Hook(target):
                self.hooks.add(self.tape.edge(target), Ref(at), step)
                self.pullbacks.forget()
            case RemoveHook(handle):
                self.hooks.remove(handle)
                self.pullbacks.forget()
            case InPlace():
                self._write(at, step, is_recorded(modes))
            case DetachInPlace(target):
                self._detach_in_place(at, target)
            case Optimizer():
                pass  # the reference makes it at its first step
            case Step():
                self._step(at, step)
            case Clip():
                self._clip(at, step)
            case Delete(deleted):
                self.storages.forget(deleted)
            case DefaultDtype():
                pass  # programs give every tensor its dtype
            case _:
                assert_never(step)
        return ()

    def skip(self, step: Instruction) -> None:
        """Records an instruction that raised or was not run, without computing any effect."""
        self.skipped.add(len(self.steps))
        self.steps.append(step)

    def grad(self, leaf: Ref) -> Array | None:
        """Returns a leaf's `.grad`: as observed, or as it follows if every legal call so far was carried out."""
        if not self.observing:
            return self.totals.of(leaf)
        tensor = self.grads.tensors.get(leaf)
        return None if tensor is None else self.values[tensor]

    # -- ops ----------------------------------------------------------------------------------------------------------

    def apply(self, op: str, args: tuple[Ref, ...], attrs: Attrs) -> tuple[Array, ...]:
        """Computes the results that an op, or an in-place write, would have now, without adding an instruction. The
        results are cached for the instruction that may follow.
        """
        made = evaluate(op, attrs, [self.values[r] for r in args])
        self._cached = (len(self.steps), op, args, attrs), made
        return made

    def _applied(
        self, at: int, op: str, args: tuple[Ref, ...], attrs: Attrs, operands: tuple[Array, ...]
    ) -> tuple[Array, ...]:
        """Returns the results of the op that instruction `at` applies, from the cache if `apply` computed them just
        before.
        """
        key, made = self._cached
        return made if key == (at, op, args, attrs) else evaluate(op, attrs, operands)

    def is_random(self, ref: Ref) -> bool:
        """Whether a random op, such as ``dropout_mask``, made a value."""
        step = self.steps[ref.at]
        return isinstance(step, Apply) and step.op in RANDOM

    def _apply(self, at: int, step: Apply, recording: bool, observed: StepObservation | None) -> tuple[Array, ...]:
        operands = tuple([self.values[r] for r in step.args])
        if ("dim", ()) in step.attrs and "keepdim" in dict(step.attrs) and (dims := np.ndim(operands[0])):
            # For NumPy such a reduction changes nothing; for PyTorch it is one over all dimensions.
            raise ValueError(f"dim=() names none of its dimensions; all are dim={(*range(dims),)}")
        made = self._applied(at, step.op, step.args, step.attrs, operands)
        if len(made) != step.results:
            raise ValueError(f"the number of results is {len(made)}, not {step.results}")
        draws = step.op in RANDOM
        if draws and observed is not None and isinstance(observed.outcome, Returned):
            found = observed.outcome.values
            self.storages.unspecified.update(Ref(at, k) for k, tensor in enumerate(found) if tensor is None)
            made = tuple([old if t is None else t.value for old, t in zip(made, found, strict=True)])
        needs_input_grad = tuple([recording and not draws and self.requires_grad[r] for r in step.args])
        outs = tuple([Ref(at, k) for k in range(len(made))])
        if row_of(step.op).aliases is not Certainty.NEVER:
            self.views.share(step, outs, recording, observed)
        tape, storages = self.tape, self.storages.storage_of_view
        edges = step.args if not tape.edges and not tape.same_object else tuple([tape.edge(r) for r in step.args])
        memory = tuple([storages.get(r, r) for r in step.args]), tuple([storages.get(r, r) for r in outs])
        tape.append(TapeEntry(at, outs, step.op, step.attrs, edges, operands, needs_input_grad, *memory))
        self._make(outs, made, any(needs_input_grad))
        if any(needs_input_grad) and step.op in MODULES:  # a result may depend on some of the parameters only
            shapes = tuple([np.shape(x) for x in operands])
            for out, on in zip(outs, reaching(step.op, step.attrs, shapes), strict=True):
                self.requires_grad[out] = any(needs_input_grad[k] for k in on)
        return made

    def _make(self, outs: tuple[Ref, ...], made: tuple[Array, ...], requires_grad: bool) -> tuple[Array, ...]:
        for out, value in zip(outs, made, strict=True):
            self.values[out] = value
            self.requires_grad[out] = requires_grad
        return made

    # -- changes ------------------------------------------------------------------------------------------------------

    def _write(self, at: int, step: InPlace, recording: bool) -> None:
        refs = (step.target, *step.args)
        operands = tuple([self.values[r] for r in refs])
        (made,) = self._applied(at, step.op, refs, step.attrs, operands)
        if np.shape(made) != np.shape(operands[0]):
            raise ValueError(f"{step.op} writes {np.shape(made)} to a tensor of shape {np.shape(operands[0])}")
        recorded = self.writes.write(at, step, operands, made, recording)
        if recorded and self.storages.base(step.target) in self.flags.toggled:
            self.unspecified = True  # earlier users of this leaf now find it inside the graph

    def _detach_in_place(self, at: int, target: Ref) -> None:
        receivers = self.calls.retained | self.calls.captured_inputs
        if not self.tape.is_leaf(target) and self.tape.same_objects([target]) & receivers:
            self.unspecified = True  # the rules do not say whether it still receives gradients
        self.flags.detach_in_place(at, target)
        self.pullbacks.forget()

    def _set_requires_grad(self, target: Ref, on: bool) -> None:
        self.grad(target)  # computes its .grad so far under the old flag
        if self.tape.is_leaf(target):
            self.flags.set_requires_grad(target, on)
            self.pullbacks.forget()

    def _grad_tensor(self, leaf: Ref) -> Ref:
        """Returns the name of the tensor in a leaf's `.grad`, or makes a tensor with the elements of that `.grad`."""
        tensor = self.grads.tensors.get(leaf) if self.observing else None
        if tensor is not None:
            return tensor
        value = self.grad(leaf)
        return self.grads.represent(leaf, np.zeros_like(self.values[leaf]) if value is None else value)

    # -- optimizers ---------------------------------------------------------------------------------------------------

    def has_specified_grad(self, leaf: Ref) -> bool:
        """Whether the rules say what an optimizer or clipping makes of a leaf's `.grad`: it is None, or its elements
        are specified and finite.
        """
        gradient, tensor = self.grad(leaf), self.grads.tensors.get(leaf)
        known = tensor is None or self.storages.unspecified.isdisjoint(self.storages.aliases(tensor))
        return known and (gradient is None or bool(np.isfinite(gradient).all()))

    def _step(self, at: int, step: Step) -> None:
        for leaf, settings in grouped(step):
            gradient = self.grad(leaf)
            if gradient is not None:
                state = self.optimizers.setdefault((step, leaf), LeafState())
                moved = stepped(step.optimizer, dict(settings), state, self.values[leaf], gradient)
                self.writes.overwrite(at, leaf, moved)

    def _clip(self, at: int, step: Clip) -> None:
        gradients = {leaf: gradient for leaf in step.leaves if (gradient := self.grad(leaf)) is not None}
        made = clipped(step, gradients)
        if not self.observing:
            self.totals.replace(made)
            return
        tensors = {leaf: ref for leaf in gradients if (ref := self.grads.tensors[leaf]) is not None}
        if len({self.storages.storage(ref) for ref in tensors.values()}) < len(tensors):
            self.unspecified = True  # a gradient that several leaves share is clipped several times
        for leaf, ref in tensors.items():
            self.writes.overwrite(at, ref, made[leaf])
