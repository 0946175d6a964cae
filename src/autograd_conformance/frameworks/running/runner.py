"""Runs a program on a framework, and records the outcome of each instruction."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, assert_never

from autograd_conformance.frameworks.adapter import Adapter, HookFunction, HookRaised, Value
from autograd_conformance.frameworks.blame.raised import raised_outcome, unread_outcome
from autograd_conformance.frameworks.calls import call_adapter, reset
from autograd_conformance.frameworks.environment.interrupts import is_users
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.reading import identities, validation
from autograd_conformance.frameworks.reading.reader import Reader, Unread
from autograd_conformance.frameworks.running.entered_modes import EnteredModes
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import (
    SHOWING,
    Apply,
    AssignGrad,
    Attrs,
    Backward,
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
    Optimizer,
    Program,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.observations import (
    Gradient,
    HookCall,
    Observation,
    Outcome,
    Raised,
    Returned,
    Skipped,
    StepObservation,
    Tensor,
)
from autograd_conformance.programs.operands import clearing_optimizer, holders, operands, results
from autograd_conformance.programs.own_numpy import np

_Action = (
    Backward
    | ZeroGrad
    | InPlace
    | DetachInPlace
    | SetRequiresGrad
    | RetainGrad
    | Hook
    | RemoveHook
    | AssignGrad
    | Step
    | Optimizer
    | Clip
    | Delete
    | DefaultDtype
)
"""Instructions that make no tensor, such as a backward call, a write, or a hook, whose only result is its handle."""


def run(program: Program, adapter: Adapter) -> Observation:
    """Run a program, and return what happened at each instruction.

    Any exception of the framework is an outcome, also one that is raised while the elements of a value are computed.
    Raises `AdapterError` for an adapter bug. A signal that stops the run is not caught.
    """
    return Run(program, adapter).observe()


def literal(value: Literal) -> np.ndarray:
    """Returns a literal as an array of its dtype."""
    return np.array(value.data, dtype=value.dtype).reshape(value.shape)


class Run:
    """One run of a program, with the framework's values so far by `Ref`."""

    def __init__(self, program: Program, adapter: Adapter, unreadable: frozenset[Capability] = frozenset()) -> None:
        capabilities = adapter.capabilities
        self.program, self.adapter = program, adapter
        self.values: dict[Ref, Value] = {}
        self.handles: dict[Ref, Any] = {}
        self.holders = sorted(holders(program))
        self.fired: list[HookCall] = []
        self.modes = EnteredModes(self.adapter)
        self.reader = Reader(self.adapter, unreadable)
        self.saved = self.adapter.saved if Capability.COUNTS_SAVED in capabilities else _nothing
        self.passed_cotangents: list[tuple[int, np.ndarray, np.ndarray]] = []
        self.process = os.getpid()
        reset(adapter)
        call_adapter(adapter.name, "prepare()", adapter.prepare, program)

    def observe(self) -> Observation:
        """Run the whole program, and return its observation."""
        observation = self.ended()
        self._check_identities(observation)
        return observation

    def ended(self) -> Observation:
        """Run the whole program, and end it."""
        try:
            observation = tuple(self.observations())
            self.reader.check_copies()
        finally:
            if os.getpid() != self.process:
                os._exit(0)  # a process that the framework forked must not continue the run
            call_adapter(self.adapter.name, "leaving mode()", self.modes.leave)
            if any(isinstance(step, DefaultDtype) for step in self.program):
                call_adapter(self.adapter.name, "default_dtype(None)", self.adapter.default_dtype, None)
            call_adapter(self.adapter.name, "finish()", self.adapter.finish)
        return observation

    def _check_identities(self, observation: Observation) -> None:
        """Check that different gradients do not have the same identity."""
        if any(len(step.gradients) > 1 and identities.alike(step.gradients) for step in observation):
            adapter = self.adapter
            identities.check_differ(adapter, lambda program: Run(program, adapter).ended())

    def observations(self) -> Iterable[StepObservation]:
        """Observe every instruction, in order."""
        return [self.observe_step(at, step) for at, step in enumerate(self.program)]

    def observe_step(self, at: int, step: Instruction) -> StepObservation:
        """Run one instruction, and observe it."""
        values = self.values
        for ref in operands(step):
            if ref not in values and ref not in self.handles:
                return StepObservation(Skipped())
        outcome: Outcome
        try:
            made = self.do(at, step)
            written = [values[leaf] for leaf in step.leaves] if isinstance(step, Step) else made
            outcome = Returned(tuple([None if value is None else self.reader.tensor(value) for value in written]))
        except AdapterError:
            raise
        except Unread as failed:
            outcome = self.unread(failed)
        except BaseException as error:  # whatever the framework raises is an observation
            outcome = self.raised(step, error)
        else:
            for k, value in enumerate(made):
                if value is not None:
                    values[Ref(at, k)] = value
        with_values = isinstance(step, SHOWING) or (isinstance(step, Apply) and step.op in MODULES)
        return self.observe_after(at, step, outcome, not results(step) or isinstance(step, Grad), with_values)

    def observe_after(
        self, at: int, step: Instruction, outcome: Outcome, with_gradients: bool, with_values: bool
    ) -> StepObservation:
        """Returns the observation after an instruction, with all stored gradients if `with_gradients`, and all values
        if `with_values`.
        """
        gradients: Mapping[Ref, Gradient | None] = {}
        shown: Mapping[Ref, Tensor] = {}
        try:
            if with_gradients:
                gradients = {ref: self.reader.gradient(self.values[ref]) for ref in self.holders if ref in self.values}
            if with_values:
                shown = {ref: self.reader.tensor(value) for ref, value in self.values.items()}
        except Unread as failed:  # a framework that computes lazily raises only now
            outcome = self.unread(failed)
            for k in range(results(step)):
                self.values.pop(Ref(at, k), None)
        saved = self.reader.read_optional("saved", self.saved)
        if saved.__class__ is not int and saved is not None:
            saved = validation.number(self.adapter, "saved", saved)
        if not self.fired and not self.passed_cotangents and not self.reader.failed_reads:
            return StepObservation(outcome, gradients, shown, (), saved)
        mutated = tuple([k for k, array, before in self.passed_cotangents if _is_written(array, before)])
        unread = tuple(dict.fromkeys(self.reader.failed_reads))
        observation = StepObservation(outcome, gradients, shown, tuple(self.fired), saved, mutated, unobserved=unread)
        self.fired.clear()
        self.passed_cotangents.clear()
        self.reader.failed_reads.clear()
        return observation

    def raised(self, step: Instruction, error: BaseException) -> Raised:
        """Returns the outcome of an instruction that raised. An exception from a user's signal is raised again."""
        if is_users(error):
            raise error
        self.modes.leave(error)
        return raised_outcome(self.adapter, step, error, self._sample_values())

    def unread(self, failed: Unread) -> Raised:
        """Returns the outcome of an instruction whose values could not be read."""
        if is_users(failed.error):
            raise failed.error
        self.modes.leave(failed.error)
        return unread_outcome(self.adapter, failed.call, failed.error, self._sample_values())

    def _sample_values(self) -> Sequence[Value]:
        """Returns up to four of the framework's values; the modules of their classes help to find out whether code is
        the framework's or the adapter's.
        """
        return tuple(islice(self.values.values(), 4))

    def _cotangents(self, cotangents: Sequence[Literal | None]) -> list[np.ndarray | None]:
        """Returns cotangents as arrays for a call. Copies of them are kept, so that a write to them is detected."""
        arrays = [None if c is None else literal(c) for c in cotangents]
        self.passed_cotangents = [(k, array, array.copy()) for k, array in enumerate(arrays) if array is not None]
        return arrays

    def do(self, at: int, step: Instruction) -> Sequence[Value | None]:
        """Run an instruction, and return its values."""
        adapter, values = self.adapter, self.values
        if self.program.modes:
            self.modes.enter(self.program.mode(at))
        match step:
            case Leaf(value, requires_grad):
                return (self._made("leaf()", adapter.leaf(literal(value), requires_grad)),)
            case Apply(op, args, attrs):
                made = adapter.apply(op, [values[r] for r in args], attrs)
                if step.results == 1 and made.__class__ is tuple and len(made) == 1 and made[0] is not None:
                    return made
                return validation.results(adapter, step, made, step.results)
            case Detach(source):
                return (self._made("detach()", adapter.detach(values[source])),)
            case ReadGrad(leaf):
                return (required_gradient(adapter.gradient(values[leaf])),)
            case Grad(roots, inputs, cotangents, retain_graph, create_graph, allow_unused, materialize_grads):
                made = adapter.grad(
                    [values[r] for r in roots],
                    [values[r] for r in inputs],
                    self._cotangents(cotangents),
                    retain_graph,
                    create_graph,
                    allow_unused,
                    materialize_grads,
                )
                return validation.results(adapter, step, made, len(inputs))
            case _:
                self._act(at, step)
                return ()

    def _act(self, at: int, step: _Action) -> None:
        """Run an instruction that makes no tensor."""
        adapter, values = self.adapter, self.values
        match step:
            case Backward(roots, cotangents, retain_graph, create_graph, inputs):
                given = self._cotangents(cotangents)
                options: dict[str, Any] = {"create_graph": True} if create_graph else {}
                if inputs is not None:
                    options["inputs"] = [values[r] for r in inputs]
                adapter.backward([values[r] for r in roots], given, retain_graph, **options)
            case ZeroGrad(leaves, set_to_none):
                maker = clearing_optimizer(step, self.program.instructions[:at])
                if maker is None:
                    adapter.zero_grad([values[r] for r in leaves], set_to_none)
                else:
                    adapter.clear(*self._optimizer(maker), set_to_none, **_groups(maker))
            case InPlace(op, target, args, attrs):
                adapter.write(op, values[target], [values[r] for r in args], attrs)
            case DetachInPlace(target):
                adapter.detach_in_place(values[target])
            case SetRequiresGrad(target, on):
                adapter.set_requires_grad(values[target], on)
            case RetainGrad(target):
                adapter.retain_grad(values[target])
            case Hook(target, _, _, accumulated):
                register = adapter.accumulated_hook if accumulated else adapter.hook
                self.handles[Ref(at)] = register(values[target], self._hook(at, step))
            case RemoveHook(handle):
                adapter.remove(self.handles[handle])
            case AssignGrad(leaf, value):
                adapter.assign_grad(values[leaf], None if value is None else values[value])
            case Step():
                adapter.step(*self._optimizer(step), **_groups(step))
            case Optimizer():
                adapter.optimizer(*self._optimizer(step), **_groups(step))
            case Clip(leaves, kind, bound):
                adapter.clip([values[leaf] for leaf in leaves], kind, bound)
            case Delete(dropped):
                for ref in dropped:
                    del values[ref]
            case DefaultDtype(dtype):
                adapter.default_dtype(dtype)
            case _:
                assert_never(step)

    def _optimizer(self, step: Step | Optimizer) -> tuple[list[Value], str, Attrs]:
        return [self.values[leaf] for leaf in step.leaves], step.optimizer, step.settings

    def _hook(self, at: int, step: Hook) -> HookFunction:
        """Returns the function of a hook, which records each call.

        It references no values of the program. Otherwise a framework that cannot find cycles through its graph would
        never free them.
        """
        adapter, reader, fired = self.adapter, self.reader, self.fired

        def called(gradient: Value) -> Value | None:
            if gradient is None:
                fired.append(HookCall(Ref(at), None))
            else:
                fired.append(HookCall(Ref(at), *reader.elements(gradient)))
            if step.effect == "raise":
                raise HookRaised(HookRaised.MESSAGE)
            if gradient is None or step.effect == "observe":
                return None  # there is no gradient to change
            return adapter.hook_result(gradient, step.effect, step.factor)

        return called

    def _made(self, call: str, value: Value) -> Value:
        if value is None:
            validation.refuse(self.adapter, call, value, "a tensor")
        return value


def _groups(step: Step | Optimizer) -> dict[str, Any]:
    """Returns the keyword argument `groups` for a call of an adapter; empty if the instruction has no
    parameter groups.
    """
    return {"groups": step.groups} if step.groups else {}


def required_gradient(gradient: Value | None) -> Value:
    """Returns the gradient that a `ReadGrad` makes a value of the program; raises `LookupError` if there is none."""
    if gradient is None:
        raise LookupError("the leaf holds no gradient")
    return gradient


def _is_written(array: np.ndarray, before: np.ndarray) -> bool:
    """Whether a write changed an array. One NaN counts as any other: a framework without NumPy's bfloat16 gives it
    back with other bits.
    """
    if array.tobytes() == before.tobytes():
        return False
    same = (array == before) & (np.signbit(array) == np.signbit(before)) | np.isnan(array) & np.isnan(before)
    return not bool(np.all(same))


def _nothing() -> int | None:
    """Returns None: the number of saved tensors of a framework that does not count them."""
    return None
