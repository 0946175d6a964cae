"""The smoke test of a server: checks that it speaks the protocol, with the simplest programs.

Like `frameworks.probing.smoke`, it requires nothing that a rule tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from autograd_conformance.frameworks.environment.process_end import ENDED
from autograd_conformance.frameworks.loading.registry import AdapterError, LoadingEnded
from autograd_conformance.frameworks.loading.requirements import missing_claims
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.ops.simplest import simplest
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.language import Apply, Backward, Leaf, Literal, Program, Ref, Shape
from autograd_conformance.programs.observations import Observation, Raised, Returned, Tensor
from autograd_conformance.programs.own_numpy import np

INFINITE = (float("inf"), float("-inf"), float("nan"))

NUMBERS = {
    name: (round(1.6 / dtype.epsilon) * dtype.epsilon / 16, -0.0, dtype.smallest, dtype.largest, *INFINITE)
    for name, dtype in DTYPES.items()
}
"""Numbers of each dtype that must not be rounded in transfer; the first is the nearest to a tenth."""


@dataclass(frozen=True)
class Trial:
    """A program that every server can run, with a check of its observation."""

    about: str
    """Short description of the checked feature: ``a float64 leaf``."""
    program: Program
    """The program."""
    result: int | None = None
    """Number of the instruction that has to return `values`; None if the trial checks only that no instruction before
    the last one raises.
    """
    values: tuple[float, ...] = ()
    """Elements of the tensor that the instruction with the number `result` has to return."""


def trials(target: Remote) -> Iterator[Trial]:
    """Yields the programs of the smoke test."""
    one = target.traits.scalars
    shape: Shape = () if one else (2,)
    for dtype in target.dtypes:
        data = (1.0, 2.0)[: size(shape)]
        leaf = Leaf(Literal(data, shape, dtype))
        yield Trial(f"a {dtype} leaf", Program((leaf,)), 0, data)
        yield Trial("the same program again", Program((leaf,)), 0, data)
        for number in NUMBERS[dtype] if one else ():
            yield Trial(f"{number} in {dtype}", Program((Leaf(Literal((number,), (), dtype)),)), 0, (number,))
        if not one:
            numbers = NUMBERS[dtype]
            every = Leaf(Literal(numbers, (len(numbers),), dtype))
            yield Trial(f"numbers of {dtype} that are hard to write", Program((every,)), 0, numbers)
        for name, count, attrs in islice(simplest(target.ops, shape), 1):
            applied = Program((leaf, Apply(name, (Ref(0),) * count, attrs)))
            yield Trial(f"the op {name}", applied)
            if Capability.IMPERATIVE in target.capabilities and Capability.COTANGENTS in target.capabilities:
                cotangent = Literal((1.0,) * size(shape), shape, dtype)
                yield Trial("a backward call", applied.upto(1).extended(Backward((Ref(0),), (cotangent,))))


def smoke(target: Remote) -> None:
    """Run the smoke test. Raises `AdapterError` with the reason if it fails."""
    for _ in passed_trials(target):
        pass


def passed_trials(target: Remote) -> Iterator[Trial]:
    """Run the trials, and yield each one that the server passes. Raises `AdapterError` at the first that it fails."""
    if absent := missing_claims(target.capabilities):
        raise AdapterError(f"{target.name}: its handshake lacks {'; '.join(absent)} (see docs/capabilities.md)")
    _ = target.dialect  # read it now, so that an invalid dialect is reported here
    for trial in trials(target):
        try:
            observation = target.observe(trial.program)
        except ENDED as error:
            raise LoadingEnded(f"{target.name}: {trial.about}: {error.how}; {_request(trial)}") from None
        why = _difference(trial, observation)
        if why:
            raise AdapterError(f"{target.name}: {trial.about}: {why}; {_request(trial)}")
        yield trial


def _request(trial: Trial) -> str:
    return f"the program was: {'; '.join(render(trial.program).splitlines())}"


def _difference(trial: Trial, observation: Observation) -> str | None:
    """Returns the reason why an observation fails its trial; None if it passes."""
    for observed in observation[:-1] if trial.result is None else observation:
        if isinstance(observed.outcome, Raised):
            return f"it raised {observed.outcome.type}: {observed.outcome.message}"
    if trial.result is None:
        return None
    outcome, leaf = observation[trial.result].outcome, trial.program[trial.result]
    assert isinstance(leaf, Leaf)
    if not isinstance(outcome, Returned) or not isinstance(value := outcome.values[0], Tensor):
        return "it gave no tensor"
    if value.dtype != leaf.value.dtype:
        return f"its dtype is {value.dtype!r}, not {leaf.value.dtype!r}"
    want = np.array(trial.values, leaf.value.dtype).reshape(leaf.value.shape)
    same = value.value.shape == want.shape and np.array_equal(value.value, want, equal_nan=True)
    if not same or not np.array_equal(np.signbit(value.value) & (want == want), np.signbit(want) & (want == want)):
        return f"it gave {value.value.tolist()} of shape {value.value.shape}, not {want.tolist()}, which went in"
    return None
