"""Runs a program on a framework and writes down what happened, instruction by instruction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frameworks.base import Framework, Value
from rules.language import (
    Apply,
    AssignGrad,
    Backward,
    Detach,
    Held,
    Instruction,
    Leaf,
    Literal,
    Program,
    Ref,
    Step,
    ZeroGrad,
    operands,
    results,
)
from rules.observations import Gradient, NotRun, Observation, Outcome, Raised, Returned, Seen, Tensor


def run(program: Program, framework: Framework) -> Observation:
    """What `framework` does with `program`. Exceptions of the framework become outcomes; nothing else is caught."""
    return _Run(framework).program(program)


def literal(value: Literal) -> np.ndarray:
    """A literal as an array of its dtype."""
    return np.array(value.data, dtype=value.dtype).reshape(value.shape)


def _some(gradient: Value | None) -> Value:
    if gradient is None:
        raise LookupError("the leaf holds no gradient")
    return gradient


class _Run:
    def __init__(self, framework: Framework) -> None:
        self.framework = framework
        self.values: dict[Ref, Value] = {}
        self.leaves: dict[Ref, Value] = {}

    def program(self, program: Program) -> Observation:
        self.framework.reset()
        return tuple(self._seen(at, step) for at, step in enumerate(program))

    def _seen(self, at: int, step: Instruction) -> Seen:
        if any(ref not in self.values for ref in operands(step)):
            return Seen(NotRun())
        outcome: Outcome
        try:
            made = self._do(step)
        except Exception as error:  # whatever the framework raises is an observation
            outcome = Raised(self.framework.classify(error), type(error).__name__, str(error))
        else:
            for k, value in enumerate(made):
                self.values[Ref(at, k)] = value
            if isinstance(step, Leaf):
                self.leaves[Ref(at)] = made[0]
            written = [self.values[leaf] for leaf in step.leaves] if isinstance(step, Step) else made
            outcome = Returned(tuple([self._tensor(value) for value in written]))
        if results(step):
            return Seen(outcome, saved=self._saved())
        return Seen(outcome, {ref: self._gradient(leaf) for ref, leaf in self.leaves.items()}, self._saved())

    def _do(self, step: Instruction) -> Sequence[Value]:
        framework, values = self.framework, self.values
        match step:
            case Leaf(value, requires_grad):
                return (framework.leaf(literal(value), requires_grad),)
            case Apply(op, args, attrs):
                return framework.apply(op, [values[r] for r in args], attrs)
            case Detach(source):
                return (framework.detach(values[source]),)
            case Held(leaf):
                return (_some(framework.gradient(values[leaf])),)
            case Backward(roots, cotangents, retain_graph, create_graph):
                given = [None if c is None else literal(c) for c in cotangents]
                options = {"create_graph": True} if create_graph else {}
                framework.backward([values[r] for r in roots], given, retain_graph, **options)
            case AssignGrad(leaf, value):
                framework.assign_grad(values[leaf], None if value is None else values[value])  # type: ignore[attr-defined]
            case Step(leaves, optimizer, settings):
                framework.step([values[leaf] for leaf in leaves], optimizer, settings)  # type: ignore[attr-defined]
            case ZeroGrad(leaves, set_to_none):
                framework.zero_grad([values[r] for r in leaves], set_to_none)
        return ()

    def _tensor(self, value: Value) -> Tensor:
        framework = self.framework
        return Tensor(framework.read(value), framework.dtype(value), framework.requires_grad(value))

    def _saved(self) -> int | None:
        count = getattr(self.framework, "saved", None)
        return None if count is None else count()

    def _gradient(self, leaf: Value) -> Gradient | None:
        framework = self.framework
        gradient = framework.gradient(leaf)
        if gradient is None:
            return None
        return Gradient(framework.read(gradient), framework.dtype(gradient), framework.identity(gradient))
