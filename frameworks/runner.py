"""Runs a program on a framework and writes down what happened, instruction by instruction."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, assert_never, cast

import numpy as np

from autograd_conformance.frameworks.base import Adapter, FullAdapter, HookFunction, HookRaised, Value
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import (
    SHOWING,
    Apply,
    AssignGrad,
    Attrs,
    Backward,
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
    Kind,
    Observation,
    Outcome,
    Raised,
    Returned,
    Skipped,
    StepObservation,
    Tensor,
)
from autograd_conformance.programs.operands import holders, made_for, operands, results

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
)
"""The instructions that make no value."""


def run(program: Program, adapter: Adapter) -> Observation:
    """What a framework does with a program. Exceptions of the framework become outcomes; nothing else is caught."""
    running = _Run(program, adapter)
    try:
        return tuple([running.seen(at, step) for at, step in enumerate(program)])
    finally:
        running.modes.leave()


def literal(value: Literal) -> np.ndarray:
    """A literal as an array of its dtype."""
    return np.array(value.data, dtype=value.dtype).reshape(value.shape)


class _Run:
    """One run of one program: the values that it has made so far, by the references that the program has to them."""

    def __init__(self, program: Program, adapter: Adapter) -> None:
        capabilities = adapter.capabilities
        self.program, self.adapter = program, cast(FullAdapter, adapter)
        self.values: dict[Ref, Value] = {}
        self.handles: dict[Ref, Any] = {}
        self.holders = sorted(holders(program))
        self.fired: list[HookCall] = []
        self.modes = _Modes(self.adapter)
        self.memory = self.adapter.memory if Capability.MEMORY in capabilities else _unseen
        self.strides = self.adapter.strides if Capability.LAYOUT in capabilities else _unseen
        self.grad_requires_grad = adapter.requires_grad if Capability.CREATE_GRAPH in capabilities else _unseen
        self.saved = self.adapter.saved if Capability.COUNTS_SAVED in capabilities else _nothing
        adapter.reset()

    def seen(self, at: int, step: Instruction) -> StepObservation:
        values = self.values
        for ref in operands(step):
            if ref not in values and ref not in self.handles:
                return StepObservation(Skipped())
        outcome: Outcome
        try:
            self.modes.enter(self.program.mode(at))
            made = self._do(at, step)
        except Exception as error:  # whatever the framework raises is an observation
            self.modes.leave(error)
            kind = Kind.HOOK_RAISED if _is_ours(error) else self.adapter.classify(error)
            outcome = Raised(kind, type(error).__name__, str(error))
        else:
            for k, value in enumerate(made):
                if value is not None:
                    values[Ref(at, k)] = value
            written = [values[leaf] for leaf in step.leaves] if isinstance(step, Step) else made
            outcome = Returned(tuple([None if value is None else self._tensor(value) for value in written]))
        return self._after(step, outcome)

    def _after(self, step: Instruction, outcome: Outcome) -> StepObservation:
        looks = not results(step) or isinstance(step, Grad)
        seen = StepObservation(
            outcome,
            {ref: self._gradient(self.values[ref]) for ref in self.holders if ref in self.values} if looks else {},
            {ref: self._tensor(value) for ref, value in self.values.items()} if isinstance(step, SHOWING) else {},
            tuple(self.fired),
            self.saved(),
        )
        self.fired.clear()
        return seen

    def _do(self, at: int, step: Instruction) -> Sequence[Value | None]:
        """The values that an instruction makes."""
        adapter, values = self.adapter, self.values
        match step:
            case Leaf(value, requires_grad):
                return (adapter.leaf(literal(value), requires_grad),)
            case Apply(op, args, attrs):
                return adapter.apply(op, [values[r] for r in args], attrs)
            case Detach(source):
                return (adapter.detach(values[source]),)
            case ReadGrad(leaf):
                return (_some(adapter.gradient(values[leaf])),)
            case Grad(roots, inputs, cotangents, retain_graph, create_graph, allow_unused, materialize_grads):
                return adapter.grad(
                    [values[r] for r in roots],
                    [values[r] for r in inputs],
                    [None if c is None else literal(c) for c in cotangents],
                    retain_graph,
                    create_graph,
                    allow_unused,
                    materialize_grads,
                )
            case _:
                self._act(at, step)
                return ()

    def _act(self, at: int, step: _Action) -> None:
        """Do what an instruction that makes no value does."""
        adapter, values = self.adapter, self.values
        match step:
            case Backward(roots, cotangents, retain_graph, create_graph, inputs):
                given = [None if c is None else literal(c) for c in cotangents]
                options: dict[str, Any] = {"create_graph": True} if create_graph else {}
                if inputs is not None:
                    options["inputs"] = [values[r] for r in inputs]
                adapter.backward([values[r] for r in roots], given, retain_graph, **options)
            case ZeroGrad(leaves, set_to_none):
                maker = made_for(step, self.program.instructions[:at])
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
            case _:
                assert_never(step)

    def _optimizer(self, step: Step | Optimizer) -> tuple[list[Value], str, Attrs]:
        return [self.values[leaf] for leaf in step.leaves], step.optimizer, step.settings

    def _hook(self, at: int, step: Hook) -> HookFunction:
        """The function that a hook calls; it notes each call."""
        adapter, fired = self.adapter, self.fired

        def called(gradient: Value) -> Value | None:
            fired.append(HookCall(Ref(at), None if gradient is None else adapter.read(gradient)))
            if step.effect == "raise":
                raise HookRaised(HookRaised.MESSAGE)
            if gradient is None or step.effect == "observe":
                return None  # nothing came by that could be changed
            return adapter.altered(gradient, step.effect, step.factor)

        return called

    def _tensor(self, value: Value) -> Tensor:
        adapter = self.adapter
        return Tensor(
            adapter.read(value),
            adapter.dtype(value),
            adapter.requires_grad(value),
            self.memory(value),
            self.strides(value),
        )

    def _gradient(self, leaf: Value) -> Gradient | None:
        adapter = self.adapter
        gradient = adapter.gradient(leaf)
        if gradient is None:
            return None
        return Gradient(
            adapter.read(gradient),
            adapter.dtype(gradient),
            adapter.identity(gradient),
            self.grad_requires_grad(gradient),
            self.memory(gradient),
            self.strides(gradient),
        )


def _groups(step: Step | Optimizer) -> dict[str, Any]:
    """Parameter groups are told to frameworks only where a program has them."""
    return {"groups": step.groups} if step.groups else {}


class _Modes:
    """The grad modes that are entered: instructions under a common prefix stand in the same `with` blocks."""

    def __init__(self, adapter: FullAdapter) -> None:
        self.adapter = adapter
        self.entered: list[tuple[str, AbstractContextManager[Any]]] = []

    def enter(self, modes: Modes) -> None:
        """Leave what the next instruction does not stand under, enter what it does."""
        if not modes and not self.entered:
            return
        common = 0
        while common < min(len(modes), len(self.entered)) and self.entered[common][0] == modes[common]:
            common += 1
        self.leave(keep=common)
        for mode in modes[common:]:
            context = self.adapter.mode(mode)
            context.__enter__()
            self.entered.append((mode, context))

    def leave(self, error: BaseException | None = None, keep: int = 0) -> None:
        """Leave all but the outermost `keep`, because of an exception or at their ends."""
        while len(self.entered) > keep:
            _, context = self.entered.pop()
            context.__exit__(*((None,) * 3 if error is None else (type(error), error, error.__traceback__)))


def _is_ours(error: BaseException | None) -> bool:
    """Whether a hook of the program raised this, however it comes out."""
    while error is not None:
        if isinstance(error, HookRaised) or HookRaised.MESSAGE in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _some(gradient: Value | None) -> Value:
    if gradient is None:
        raise LookupError("the leaf holds no gradient")
    return gradient


def _unseen(value: Value) -> Any:
    """Stands in for a method by which a framework would show more of a value: None."""


def _nothing() -> int | None:
    """The saved tensors of a framework that does not count them."""
    return None
