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
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.inplace import Writes
from autograd_conformance.reference.computation.storage import Derived
from autograd_conformance.reference.domains import is_finite_call, is_smooth
from autograd_conformance.reference.staging.derivatives import Array, array, reaching


class Reference(Writes):
    """The exact values of a program so far; `add` records its next instruction.

    A write changes a value and all values that share its storage from then on. Tape entries recorded earlier keep the
    operands with which they were recorded. If observations are given, the reference adopts them wherever several
    outcomes are legal: whether a result is a view, and whether a gradient was replaced or changed in place.
    """

    def __init__(self, program: Program | None = None, traits: Traits = PYTORCH) -> None:
        super().__init__()
        self.traits = traits
        self._was_drawn = program is None
        self._is_outside_domains: bool | None = None
        for at, step in enumerate(program or ()):
            self.add(step, program.mode(at) if program else ())

    def empty(self) -> Reference:
        """A reference for the same framework, without instructions."""
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
            inside = self._was_drawn or all(self._is_inside(step) for step in self.steps)
            self._is_outside_domains = not inside
        return self._is_outside_domains

    def _is_inside(self, step: Instruction) -> bool:
        return is_finite_call(step) if isinstance(step, BackwardCall) else is_smooth(step, self.values)

    def add(self, step: Instruction, modes: Modes = (), observed: StepObservation | None = None) -> tuple[Array, ...]:
        """Record an instruction that returned, and return the values that it makes."""
        at = len(self.steps)
        self.steps.append(step)
        match step:
            case Leaf(literal, requires_grad):
                made = self._make(at, (array(literal),), requires_grad)
                if self.begins_with_zeros:
                    self._init_grad(Ref(at))
                return made
            case Detach(source):
                self.storages.add_alias(Ref(at), Derived(source))
                return self._make(at, (self.values[source],), False)
            case Apply():
                return self._apply(at, step, is_recorded(modes), observed)
            case ReadGrad(leaf):
                return self._read(at, leaf)
            case Backward() | Grad():
                returned = self._call(at, step)
                if self.traits.ends and self.is_legal(step):
                    self._end(at, step)
                return returned
            case ZeroGrad():
                self._clear(step)
            case AssignGrad(leaf, given):
                self._assign(leaf, given)
            case SetRequiresGrad(target, on):
                self._set_requires_grad(target, on)
            case RetainGrad(target):
                if not self.is_leaf(target):
                    self.retained.add(target)
            case Hook():
                self.add_hook(Ref(at), step)
            case RemoveHook(handle):
                self.remove_hook(handle)
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
        """Record an instruction that raised, and so had no effect."""
        self.skipped.add(len(self.steps))
        self.steps.append(step)

    # -- ops ----------------------------------------------------------------------------------------------------------

    def is_random(self, ref: Ref) -> bool:
        """Whether a random op made a value."""
        step = self.steps[ref.at]
        return isinstance(step, Apply) and step.op in RANDOM

    def _apply(self, at: int, step: Apply, recording: bool, observed: StepObservation | None) -> tuple[Array, ...]:
        operands = tuple([self.values[r] for r in step.args])
        made = self._applied(at, step.op, step.args, step.attrs, operands)
        draws = step.op in RANDOM
        if draws and observed is not None and isinstance(observed.outcome, Returned):
            found = observed.outcome.values
            self.storages.unspecified.update(Ref(at, k) for k, tensor in enumerate(found) if tensor is None)
            made = tuple([old if t is None else t.value for old, t in zip(made, found, strict=True)])
        needs_input_grad = tuple([recording and not draws and self.requires_grad[r] for r in step.args])
        outs = tuple([Ref(at, k) for k in range(len(made))])
        if row_of(step.op).aliases is not Certainty.NEVER:
            self._share(step, outs, recording, observed)
        self.record(at, outs, step.op, step.attrs, step.args, operands, needs_input_grad)
        self._make(at, made, any(needs_input_grad))
        if any(needs_input_grad) and step.op in MODULES:  # a result may depend on some of the parameters only
            shapes = tuple([np.shape(x) for x in operands])
            for out, on in zip(outs, reaching(step.op, step.attrs, shapes), strict=True):
                self.requires_grad[out] = any(needs_input_grad[k] for k in on)
        return made

    def _share(self, step: Apply, outs: tuple[Ref, ...], recording: bool, observed: StepObservation | None) -> None:
        """Record whose storage the results of an op use: as documented, as observed, or, before an observation, as most
        frameworks do.
        """
        documented = row_of(step.op).aliases is Certainty.ALWAYS
        for k, out in enumerate(outs):
            source: Ref | None = step.args[0] if len(step.args) == 1 or documented else step.args[k % len(step.args)]
            if observed is not None and isinstance(observed.outcome, Returned):
                tensor = observed.outcome.values[k]
                memory = None if tensor is None else tensor.memory
                if memory is not None:
                    ids = self.storages.ids
                    source = next((r for r in step.args if ids.get(self.storages.storage(r)) == memory), None)
                elif not documented:
                    source = None
                    self.storages.unspecified.add(out)
            if source is not None:
                derived = Derived(source, step.op, step.attrs, step.args, k)
                self.storages.add_view(out, derived, restricted=not recording or row_of(step.op).multi)

    def _make(self, at: int, made: tuple[Array, ...], requires_grad: bool) -> tuple[Array, ...]:
        for k, value in enumerate(made):
            self.values[Ref(at, k)] = value
            self.requires_grad[Ref(at, k)] = requires_grad
        return made
