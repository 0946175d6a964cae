"""Runs a program on a functional framework: one that differentiates functions and records nothing between its calls.

A call for gradients becomes a call of `vjp`. Its function takes the inputs as arguments, computes again what depends on
them, and gives the roots; all else is what it closes over. Where it needs a gradient that was made to be
differentiated, `vjp` is called within it: so derivatives of higher order come about by nesting.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from autograd_conformance.frameworks.adapter import Adapter, HasVjp, Value
from autograd_conformance.frameworks.reading import validation
from autograd_conformance.frameworks.running.runner import Run, literal
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.differentiated_functions import body, made
from autograd_conformance.programs.language import Apply, Delete, Detach, Grad, Instruction, Program, Ref
from autograd_conformance.programs.own_numpy import np


class Functional:
    """What the adapter of a functional framework answers to all that is asked of leaves that hold gradients: nothing.

    To be inherited from; what is left to write is `leaf`, `apply`, `vjp`, `read`, `dtype` and `classify`.
    """

    def reset(self) -> None:
        """Nothing is kept between programs."""

    def detach(self, value: Value) -> Value:
        """Not claimed, so never asked for."""
        raise NotImplementedError("there is no detach")

    def backward(
        self,
        roots: Sequence[Value],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool = False,
    ) -> None:
        """Not claimed, so never asked for."""
        raise NotImplementedError("there is no call that accumulates")

    def zero_grad(self, leaves: Sequence[Value], set_to_none: bool) -> None:
        """Not claimed, so never asked for."""
        raise NotImplementedError("no leaf holds a gradient")

    def gradient(self, leaf: Value) -> None:
        """No leaf holds a gradient."""

    def identity(self, gradient: Value) -> None:
        """No leaf holds a gradient."""

    def requires_grad(self, value: Value) -> None:
        """What is differentiated is said by each call, not by values."""


class FunctionalRun(Run):
    """One run of one program, whose calls for gradients are calls of `vjp`."""

    def __init__(self, program: Program, adapter: Adapter, unreadable: frozenset[Capability] = frozenset()) -> None:
        super().__init__(program, adapter, unreadable)
        self.deleted: dict[Ref, Value] = {}
        """Values that the program has let go of: functions that are made later may need them."""
        self.ones: dict[Ref, np.ndarray] = {}
        """The cotangents of roots for which calls gave none."""

    def do(self, at: int, step: Instruction) -> Sequence[Value | None]:
        """Do what an instruction does, and give the values that it makes."""
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
    """The roots of a call as a function of its inputs."""

    program: Program
    call: Grad
    adapter: Adapter
    values: Mapping[Ref, Value]
    """Every value as it was made, outside of all functions."""
    outside: Callable[[Ref], Value]
    """The values that it closes over, and those that it is called with."""
    ones: dict[Ref, np.ndarray]
    """The cotangents of roots for which calls gave none: within functions, values cannot be read everywhere, but each
    call within one was run by itself before.
    """

    def gradients(self, cotangents: Sequence[np.ndarray | None]) -> Sequence[Value]:
        """What `vjp` gives for it."""
        given = [self._ones(root) if each is None else each for root, each in zip(self.call.roots, cotangents)]
        found = cast(HasVjp, self.adapter).vjp(self, [self.outside(ref) for ref in self.call.inputs], given)
        return validation.results(self.adapter, self.call, found, len(self.call.inputs))

    def _ones(self, root: Ref) -> np.ndarray:
        """The cotangent of a root for which a program gives none: `vjp` has no implicit one."""
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
