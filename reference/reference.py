"""Every value and every gradient of a program, composed from the vector-Jacobian products of its ops.

`Reference` grows with the program, an instruction at a time, so that a strategy can draw with it and the judge can
reuse what was computed. All arithmetic is in float64, whatever the program's dtypes: the reference is the exact
answer as far as a float32 framework is concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.row import Certainty
from autograd_conformance.programs.language import (
    RANDOM,
    Apply,
    AssignGrad,
    Attrs,
    Backward,
    BackwardCall,
    Clip,
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
from autograd_conformance.reference.clipping import clipped
from autograd_conformance.reference.held_gradients import Holding
from autograd_conformance.reference.inplace import Writing
from autograd_conformance.reference.reverse import GradientEdge, Hooked, evaluate, pull
from autograd_conformance.reference.staging.derivatives import Array, array, reaching
from autograd_conformance.reference.storage import Derived


class Reference(Writing, Holding):
    """The exact values of a program so far; `add` takes its next instruction.

    A write changes what a value, and all that shares its memory, is from then on; what was recorded before keeps the
    operands that it was recorded with. Where what was seen is handed in, the reference follows it in all that the rules
    leave open: which results are views, whether a gradient was replaced or changed in place.
    """

    def __init__(self, program: Program | None = None) -> None:
        super().__init__()
        self.skipped: set[int] = set()
        self._totals: dict[Ref, tuple[int, Array | None]] = {}
        self._pullbacks: dict[object, tuple[dict[GradientEdge, Array], list[tuple[Ref, Array]]]] = {}
        for at, step in enumerate(program or ()):
            self.add(step, program.mode(at) if program else ())

    def add(self, step: Instruction, modes: Modes = (), seen: StepObservation | None = None) -> tuple[Array, ...]:
        """Take an instruction that returned; the values that it makes."""
        at = len(self.steps)
        self.steps.append(step)
        match step:
            case Leaf(literal, requires_grad):
                return self._make(at, (array(literal),), requires_grad)
            case Detach(source):
                self.storages.shares(Ref(at), Derived(source))
                return self._make(at, (self.values[source],), False)
            case Apply():
                return self._apply(at, step, is_recorded(modes), seen)
            case ReadGrad(leaf):
                return self._held(at, leaf)
            case Backward() | Grad():
                return self._call(at, step)
            case ZeroGrad() | AssignGrad():
                self._changed(step)
            case SetRequiresGrad(target, on):
                self.held(target)  # what it holds by now it got under the flag that it had
                self._switch(target, on)
            case RetainGrad(target):
                if not self.is_leaf(target):
                    self.retained.add(target)
            case Hook(target):
                place = self.after if step.accumulated else self.hooks
                place.setdefault(self.edge(target), []).append((Ref(at), step))
                self._pullbacks.clear()
            case RemoveHook(handle):
                for hooked in (*self.hooks.values(), *self.after.values()):
                    hooked[:] = [entry for entry in hooked if entry[0] != handle]
                self._pullbacks.clear()
            case InPlace():
                self._write(at, step, is_recorded(modes))
            case DetachInPlace(target):
                self._cut(at, target)
            case Step():
                self._step(at, step)
            case Clip():
                self._clip(at, step)
            case Delete(gone):
                self.storages.forget(gone)
        return ()

    def skip(self, step: Instruction) -> None:
        """Take an instruction that did nothing: it was refused."""
        self.skipped.add(len(self.steps))
        self.steps.append(step)

    # -- ops ----------------------------------------------------------------------------------------------------------

    def apply(self, op: str, args: tuple[Ref, ...], attrs: Attrs) -> tuple[Array, ...]:
        """The results that an op would have here, without adding an instruction."""
        return evaluate(op, attrs, [self.values[r] for r in args])

    def _apply(self, at: int, step: Apply, recording: bool, seen: StepObservation | None) -> tuple[Array, ...]:
        operands = tuple([self.values[r] for r in step.args])
        made = evaluate(step.op, step.attrs, operands)
        draws = step.op in RANDOM
        if draws and seen is not None and isinstance(seen.outcome, Returned):
            made = tuple([old if t is None else t.value for old, t in zip(made, seen.outcome.values, strict=True)])
        needs_input_grad = tuple([recording and not draws and self.requires_grad[r] for r in step.args])
        outs = tuple([Ref(at, k) for k in range(len(made))])
        if row_of(step.op).aliases is not Certainty.NEVER:
            self._share(step, outs, recording, seen)
        self.record(at, outs, step.op, step.attrs, step.args, operands, needs_input_grad)
        self._make(at, made, any(needs_input_grad))
        if any(needs_input_grad) and step.op in MODULES:  # a result may come from some of the parameters only
            shapes = tuple([np.shape(x) for x in operands])
            for out, on in zip(outs, reaching(step.op, step.attrs, shapes), strict=True):
                self.requires_grad[out] = any(needs_input_grad[k] for k in on)
        return made

    def _share(self, step: Apply, outs: tuple[Ref, ...], recording: bool, seen: StepObservation | None) -> None:
        """Say whose memory the results use: as documented, or as was seen, or (before it is seen) as is usual."""
        documented = row_of(step.op).aliases is Certainty.ALWAYS
        for k, out in enumerate(outs):
            source: Ref | None = step.args[0] if len(step.args) == 1 or documented else step.args[k % len(step.args)]
            if seen is not None and isinstance(seen.outcome, Returned):
                tensor = seen.outcome.values[k]
                memory = None if tensor is None else tensor.memory
                if memory is not None:
                    ids = self.storages.ids
                    source = next((r for r in step.args if ids.get(self.storages.storage(r)) == memory), None)
                elif not documented:
                    source = None
                    self.storages.unspecified.add(out)
            if source is not None:
                derived = Derived(source, step.op, step.attrs, step.args, k)
                self.storages.views(out, derived, restricted=not recording or row_of(step.op).multi)

    def _make(self, at: int, made: tuple[Array, ...], requires_grad: bool) -> tuple[Array, ...]:
        for k, value in enumerate(made):
            self.values[Ref(at, k)] = value
            self.requires_grad[Ref(at, k)] = requires_grad
        return made

    # -- gradients ----------------------------------------------------------------------------------------------------

    def roots(self, call: BackwardCall) -> list[tuple[GradientEdge, Array]]:
        """Where a call begins, and with what."""
        return [
            (self.edge(root), np.ones_like(self.values[root]) if given is None else array(given))
            for root, given in zip(call.roots, call.cotangents, strict=True)
            if self.requires_grad[root]
        ]

    def pullback(self, call: BackwardCall) -> Mapping[GradientEdge, Array]:
        """What a call contributes to every slot that its roots depend on (leaves and others)."""
        return self._pulled(call)[0]

    def firings(self, call: BackwardCall) -> list[tuple[Ref, Array]]:
        """The hooks that a call comes by, with what each of them is called with, in the order of reverse
        accumulation.
        """
        return self._pulled(call)[1]

    def is_zero(self, call: BackwardCall, ref: Ref) -> bool:
        """Whether a call has nothing to give to a value, or zeros throughout: a framework may leave it undefined, and
        then no hook makes anything of it.
        """
        pulled = [self.pullback(call)]
        if self.hooks:
            pulled.append(self._pulled(call, hooked=False)[0])
        edge = self.edge(ref)
        return any(edge not in due or not due[edge].any() for due in pulled)

    def _pulled(
        self, call: BackwardCall, hooked: bool = True
    ) -> tuple[dict[GradientEdge, Array], list[tuple[Ref, Array]]]:
        key = (tuple([self.edge(r) for r in call.roots]), call.cotangents, hooked)
        if key not in self._pullbacks:
            fired: list[tuple[Ref, Array]] = []
            changes = self.hooked(fired) if hooked else {}
            pulled = pull(self.entries, self.values, self.roots(call), hooked=changes)
            self._pullbacks[key] = (pulled, fired)
        return self._pullbacks[key]

    def hooked(self, fired: list[tuple[Ref, Array]] | None = None) -> Hooked:
        """What hooks make of gradients; `fired` takes down what they are called with."""
        into = [] if fired is None else fired
        return {edge: [_calling(handle, hook, into) for handle, hook in on] for edge, on in self.hooks.items()}

    def held(self, leaf: Ref) -> Array | None:
        """The gradient that a leaf holds: as it was seen, or as it follows if every call so far was legal."""
        if self.observing:
            held = self.grads.get(leaf)
            return None if held is None else self.values[held]
        since, total = self._totals.get(leaf, (0, None))
        for at in range(since, len(self.steps)):
            if at not in self.skipped:
                total = self._after(at, self.steps[at], leaf, total)
        self._totals[leaf] = len(self.steps), total
        return total

    def _after(self, at: int, step: Instruction, leaf: Ref, total: Array | None) -> Array | None:
        """What a leaf holds after an instruction, if it held `total` before."""
        due: Array | None = None
        match step:
            case Backward() if at in self._due:
                due = self._due[at].get(leaf)
            case Backward() if self.requires_grad[leaf] and self._is_legal(step):
                due = self.pullback(step).get(self.edge(leaf))
            case ZeroGrad(leaves, to_none) if leaf in leaves:
                return None if to_none or total is None else np.zeros_like(total)
            case AssignGrad(target, given) if target == leaf:
                return None if given is None else self.values[given]
        return total if due is None else due if total is None else total + due

    def _clip(self, at: int, step: Clip) -> None:
        held = {leaf: gradient for leaf in step.leaves if (gradient := self.held(leaf)) is not None}
        made = clipped(step, held)
        self._totals.update({leaf: (at + 1, gradient) for leaf, gradient in made.items()})
        if self.observing:
            objects = {leaf: self.grads[leaf] for leaf in held}
            owners = {self.storages.storage(place) for place in objects.values() if place}
            self.unspecified = self.unspecified or len(owners) < len(
                objects
            )  # one memory, clipped as often as leaves hold it
            for leaf, gradient in made.items():
                self.overwrite(at, objects[leaf], gradient)  # type: ignore[arg-type]

    def depends(self, gradient: Ref) -> bool:
        """Whether a gradient that has a history depends on some leaf at all, as far as its own derivative shows."""
        ones = Literal((1.0,) * self.values[gradient].size, self.values[gradient].shape)
        reached = pull(self.entries, self.values, self.roots(Backward((gradient,), (ones,))))
        return any(value.any() for ref, value in reached.items() if ref not in self.producer)


def _calling(handle: Ref, hook: Hook, fired: list[tuple[Ref, Array]]) -> Callable[[Array], Array]:
    def call(cotangent: Array) -> Array:
        fired.append((handle, cotangent))
        match hook.effect:
            case "scale":
                return cotangent * hook.factor
            case "replace":
                return np.full_like(cotangent, hook.factor)
        return cotangent

    return call


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
