"""Runs a program on a functional framework, which differentiates functions and records no graph between calls.

A call for gradients becomes a call of `vjp`. Its function takes the inputs as arguments, recomputes the values that
depend on them, and returns the roots; all other values are captured. If the function needs a gradient that was computed
with `create_graph`, it calls `vjp` itself, so that nested calls compute derivatives of higher order.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from autograd_conformance.frameworks.adapter import Adapter, Value
from autograd_conformance.frameworks.reading import validation
from autograd_conformance.frameworks.running.runner import Run, literal
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.differentiated_functions import body, made
from autograd_conformance.programs.language import Apply, Delete, Detach, Grad, Instruction, Program, Ref
from autograd_conformance.programs.own_numpy import np


class Functional(Adapter):
    """Base class for adapters of functional frameworks, which store no gradients: methods for stored gradients raise
    `NotImplementedError`, or return None.

    A derived class defines `leaf`, `apply`, `vjp`, `read`, `dtype` and `classify`.
    """

    def reset(self) -> None:
        """Does nothing: there is no state between programs."""

    def detach(self, value: Value) -> Value:
        """Raises `NotImplementedError`; an adapter whose framework has a detach overrides this."""
        raise NotImplementedError("there is no detach")

    def backward(
        self,
        roots: Sequence[Value],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool = False,
    ) -> None:
        """Raises `NotImplementedError`: no call of a functional framework accumulates gradients."""
        raise NotImplementedError("there is no call that accumulates")

    def zero_grad(self, leaves: Sequence[Value], set_to_none: bool) -> None:
        """Raises `NotImplementedError`: no leaf of a functional framework stores a gradient."""
        raise NotImplementedError("no leaf holds a gradient")

    def gradient(self, leaf: Value) -> None:
        """Returns None: leaves store no gradients."""

    def identity(self, gradient: Value) -> None:
        """Returns None: leaves store no gradients."""

    def requires_grad(self, value: Value) -> None:
        """Returns None: each call names the values to differentiate."""


class FunctionalRun(Run):
    """One run of a program on a functional framework, with a call of `vjp` for each `Grad` instruction."""

    def __init__(self, program: Program, adapter: Adapter, unreadable: frozenset[Capability] = frozenset()) -> None:
        super().__init__(program, adapter, unreadable)
        self.deleted: dict[Ref, Value] = {}
        """Deleted values, which the functions of later calls may need."""
        self.ones: dict[Ref, np.ndarray] = {}
        """Cotangents of ones, for roots without an explicit cotangent."""

    def do(self, at: int, step: Instruction) -> Sequence[Value | None]:
        """Run an instruction, and return its values."""
        match step:
            case Grad():
                values = ChainMap(self.values, self.deleted)
                function = Differentiated(self.program, step, self.adapter, values, values.__getitem__, self.ones)
                return function.gradients(self._cotangents(step.cotangents))
            case Delete(dropped):
                self.deleted.update({ref: self.values[ref] for ref in dropped})
        return super().do(at, step)


@dataclass(frozen=True)
class Differentiated:
    """The roots of a `Grad` call as a function of the call's inputs."""

    program: Program
    call: Grad
    adapter: Adapter
    values: Mapping[Ref, Value]
    """Every value that was computed outside of functions."""
    outside: Callable[[Ref], Value]
    """A function that returns the value of a reference which the differentiated function does not compute itself."""
    ones: dict[Ref, np.ndarray]
    """Cotangents of ones, for roots without an explicit cotangent. They are stored because some frameworks cannot read
    values inside a function; every call inside a function ran outside of it before.
    """

    def gradients(self, cotangents: Sequence[np.ndarray | None]) -> Sequence[Value]:
        """Call `vjp` for the function, and return the gradients of its inputs."""
        given = [self._ones(root) if each is None else each for root, each in zip(self.call.roots, cotangents)]
        found = self.adapter.vjp(self, [self.outside(ref) for ref in self.call.inputs], given)
        return validation.results(self.adapter, self.call, found, len(self.call.inputs))

    def _ones(self, root: Ref) -> np.ndarray:
        """Returns the cotangent of a root for which the program gives none; `vjp` has no implicit one."""
        if root not in self.ones:
            value = self.values[root]
            self.ones[root] = np.ones_like(self.adapter.read(value), self.adapter.dtype(value))
        return self.ones[root]

    def __call__(self, *arguments: Value) -> tuple[Value, ...]:
        known = dict(zip(self.call.inputs, arguments, strict=True))

        def value(ref: Ref) -> Value:
            return known[ref] if ref in known else self.outside(ref)

        for at in body(self.program, self.call):
            known.update(zip(made(self.program, at), self._computed(self.program[at], value), strict=True))
        return tuple(map(value, self.call.roots))

    def _computed(self, step: Instruction, value: Callable[[Ref], Value]) -> Sequence[Value | None]:
        match step:
            case Apply(op, args, attrs):
                found = self.adapter.apply(op, [value(ref) for ref in args], attrs)
                return validation.results(self.adapter, step, found, step.results)
            case Detach(source):
                return (self.adapter.detach(value(source)),)
            case Grad():
                inner = replace(self, call=step, outside=value)
                return inner.gradients([None if c is None else literal(c) for c in step.cotangents])
            case _:
                raise AssertionError(f"{step} is in no function's body")
