"""Computes what a program has to do, instruction by instruction, for a framework without choices.

A program makes a vector if the rules allow one outcome for each of its instructions. An observation of a framework that
follows the rules shows which one; the numbers and their bounds are the reference's. After an instruction that changes
values in place, the reference continues from the observed numbers, which the judge has compared with its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.programs.dtypes import DTYPES, HUGE
from autograd_conformance.programs.language import (
    RANDOM,
    Apply,
    AssignGrad,
    Backward,
    BackwardCall,
    Clip,
    Detach,
    Grad,
    Hook,
    InPlace,
    Leaf,
    Program,
    ReadGrad,
    Ref,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.observations import (
    Gradient,
    Kind,
    Observation,
    Raised,
    Returned,
    StepObservation,
    Tensor,
)
from autograd_conformance.programs.operands import grouped, operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.equality import is_equal
from autograd_conformance.reference.optimizers import slack
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.rounding.bounds import Bound, forward_bound, gradient_bound
from autograd_conformance.reference.rounding.perturbation import PerturbedRun
from autograd_conformance.rules.catalogue import RULES, Level
from autograd_conformance.rules.judge.choices import RETURNS, Choice
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.tape.trace import TraceStep, trace
from autograd_conformance.vectors.expected import Expected, Number

CLIPPED = 256
"""Units in the last place of the old gradient that clipping may lose, as the judge allows."""

AFTER_STEP = {"float64": 1e-8, "float32": 1e-3}
"""Share of a leaf's movement, and of the largest element of any later number, that is allowed from an optimizer's first
step on. The judge continues from the observed leaf there, which a vector cannot.
"""


class Undetermined(Exception):
    """The rules leave something of a program to the framework, or the program has numbers that cannot be compared; the
    message says what.
    """


def expectations(program: Program, observation: Observation, target: Target) -> tuple[tuple[Expected, ...], list[Slug]]:
    """Returns what each instruction of a program has to do in a framework that claims what `target` does, and the rules
    that the program puts to the test. `observation` is that of a framework that follows the rules. Raises
    `Undetermined`.
    """
    if any(isinstance(step, Apply) and step.op in RANDOM for step in program):
        raise Undetermined("it draws random numbers")
    judgement = judge(program, observation, Reference(program, target.traits), target.capabilities)
    if judgement.violation:
        raise Undetermined(f"the framework that observed it breaks {judgement.violation.rule}, or has other traits")
    is_open = any(not _may_be_unsupported(each) for each in judgement.choices)
    if judgement.unspecified or judgement.judged < len(program) or is_open:
        raise Undetermined("the rules allow several outcomes")
    tested = [rule for rule in judgement.exercised if RULES[rule].level is not Level.INFO]
    applying = [rule for rule in tested if RULES[rule].needs <= target.capabilities]
    return tuple(_Expectations(program, observation, target).steps()), applying


def _may_be_unsupported(choice: Choice) -> bool:
    """Whether an instruction returned, and may otherwise say only that a derivative is not implemented."""
    kinds = {kind for kind, _ in choice.allowed}
    return choice.chosen == RETURNS and kinds == {RETURNS, Kind.NOT_IMPLEMENTED.value}


class _Expectations:
    """Steps through a program, its observation and the reference together."""

    def __init__(self, program: Program, observation: Observation, target: Target) -> None:
        self.judging = Judging.of(program, Reference(program, target.traits), target.capabilities)
        self.program, self.observation = program, observation
        self.values: dict[Ref, Number] = {}
        """The right elements of each value."""
        self.seen: dict[Ref, np.ndarray] = {}
        """The observed elements of each value."""
        self.held: dict[Ref, Number | None] = {}
        """The right `.grad` of each value."""
        self.latest: dict[Ref, Gradient | None] = {}
        """The observed `.grad` of each value."""
        self.runs: list[PerturbedRun] = []
        """The perturbed runs of the program that bounds share."""
        self.stepped = False
        """Whether an optimizer has made a step."""

    def steps(self) -> Iterator[Expected]:
        """Yields the outcome of each instruction."""
        judging = self.judging
        last: tuple[TraceStep, dict[Ref, Number | None], dict[Ref, Number]] | None = None
        for traced in trace(self.program, self.observation, judging.reference, judging.tape, follows=judging.stateful):
            self._forget_runs()
            if last:
                yield self._after(*last)
            computed, fired = self._called(traced)
            last = traced, computed, fired
        self._forget_runs()
        if last:
            yield self._after(*last)

    def _forget_runs(self) -> None:
        """Forgets the perturbed runs if the reference has recorded an instruction since."""
        if self.judging.stateful:
            self.runs = []

    def _called(self, traced: TraceStep) -> tuple[dict[Ref, Number | None], dict[Ref, Number]]:
        """Returns the numbers of a backward call that returns, which have to be computed before the reference records
        the call: the new gradients, or results by their inputs, and the gradients with which hooks are called.
        """
        call, outcome = traced.step, traced.observed.outcome
        if not isinstance(call, BackwardCall) or not isinstance(outcome, Returned):
            return {}, {}
        fired: dict[Ref, Number] = {}
        for each in traced.observed.fired:
            if each.hook in fired or each.value is None:
                raise Undetermined("it calls a hook several times, or without a gradient")
            fired[each.hook] = self._fired(call, each.hook, each.dtype, traced.observed.gradients)
        if isinstance(call, Grad):
            results = enumerate(zip(call.inputs, outcome.values, strict=True))
            return {ref: self._result(traced.at, k, call, tensor) for k, (ref, tensor) in results}, fired
        reached = traced.expectation.traversal.must_accumulate
        return {ref: self._accumulated(call, ref, traced.observed.gradients.get(ref)) for ref in reached}, fired

    def _contributed(self, call: BackwardCall, ref: Ref) -> tuple[np.ndarray, np.ndarray]:
        """Returns what a call contributes to the gradient of a value, and its bound."""
        edge = self.judging.reference.tape.edge(ref)
        exact = self.judging.reference.pullbacks.of(call).get(edge)
        if exact is None:
            zeros = np.zeros(np.shape(self.judging.reference.values[ref]))
            return zeros, zeros
        bound = gradient_bound(self.judging.reference, call, edge, self.judging.dtype)
        return exact, self._shared(bound, exact)

    def _result(self, at: int, k: int, call: Grad, got: Tensor | None) -> Number | None:
        """Returns the gradient that a call has to return for its input `k`."""
        ref = call.inputs[k]
        if self.judging.reference.pullbacks.of(call).get(self.judging.reference.tape.edge(ref)) is None:
            return None if got is None else Number(np.zeros(got.value.shape), np.zeros(got.value.shape), got.dtype)
        exact, bound = self._contributed(call, ref)
        if got is not None and (np.any(exact) or call.materialize_grads):
            return self._number(exact, bound, got.dtype)
        if any(Ref(at, k) in operands(step) for step in self.program.instructions[at + 1 :]):
            raise Undetermined("it uses a gradient of zeros, in place of which there may be none")
        return replace(self._number(exact, bound, self._dtype(ref)), may_be_missing=True)

    def _accumulated(self, call: Backward, ref: Ref, got: Gradient | None) -> Number:
        """Returns the gradient that a value holds after a call."""
        exact, bound = self._contributed(call, ref)
        old = self.held.get(ref)
        dtype = self._dtype(ref) if got is None else got.dtype
        zeros = not np.any(exact) and (old is None or old.may_be_missing)
        if old is not None:
            exact = old.value + exact
            bound = old.bound + bound + 2 * self._epsilon(dtype) * (np.abs(old.value) + np.abs(exact))
        return replace(self._number(exact, bound, dtype), may_be_missing=zeros)

    def _dtype(self, ref: Ref) -> str:
        """Returns the name of the dtype that a value has, and so its gradient."""
        known = self.values.get(ref)
        return self.judging.dtype if known is None else known.dtype

    def _fired(
        self, call: BackwardCall, handle: Ref, dtype: str | None, gradients: Mapping[Ref, Gradient | None]
    ) -> Number:
        """Returns the gradient with which a call has to call a hook."""
        hook, reference = self.program[handle.at], self.judging.reference
        assert isinstance(hook, Hook)
        if hook.accumulated and isinstance(call, Backward):
            return self._accumulated(call, hook.target, gradients.get(hook.target))
        edge = reference.tape.edge(hook.target)
        bound = gradient_bound(reference, call, edge, self.judging.dtype, until=handle)
        return self._number(bound.exact, self._shared(bound, bound.exact), dtype or self.judging.dtype)

    # -- after an instruction ------------------------------------------------------------------------------------------

    def _after(self, traced: TraceStep, computed: dict[Ref, Number | None], fired: dict[Ref, Number]) -> Expected:
        observed = traced.observed
        earlier = {ref: tensor for ref, tensor in observed.values.items() if ref.at != traced.at}
        values = {ref: self._value(traced, ref, tensor) for ref, tensor in earlier.items()}
        self.values.update(values)
        returns = raises = instead = None
        match observed.outcome:
            case Returned(tensors):
                returns = tuple(self._returned(traced, k, tensor, computed) for k, tensor in enumerate(tensors))
                instead = next(iter(traced.expectation.raises), None)
            case Raised(kind):
                raises = next(iter(traced.expectation.raises)) if len(traced.expectation.raises) == 1 else kind
                if kind not in (raises, Kind.UNKNOWN):
                    raise Undetermined("the rules expect another error than the one that was observed")
                rule = traced.expectation.raises.get(raises)
                if rule is not None and not RULES[rule].needs <= self.judging.capabilities:
                    raise Undetermined("the framework does not claim to refuse it")
        self.stepped |= isinstance(traced.step, Step)
        gradients = {ref: self._gradient(traced, ref, got, computed) for ref, got in observed.gradients.items()}
        self.held.update(gradients)
        self.latest.update(observed.gradients)
        self.seen.update({ref: tensor.value for ref, tensor in observed.values.items()})
        expected = Expected(returns, raises, instead, gradients, values, fired)
        if not all(number.holds(value) for number, value in _compared(expected, observed)):
            raise Undetermined("the reference follows another path than the framework that observed it")
        return expected

    def _returned(
        self, traced: TraceStep, k: int, tensor: Tensor | None, computed: dict[Ref, Number | None]
    ) -> Number | None:
        if tensor is None:
            return computed[traced.step.inputs[k]] if isinstance(traced.step, Grad) else None
        return self._made(traced, k, tensor, computed)

    def _made(self, traced: TraceStep, k: int, tensor: Tensor, computed: dict[Ref, Number | None]) -> Number:
        """Returns the number that a result must be: of an op, of a call for gradients, or a leaf after a step."""
        step, ref = traced.step, Ref(traced.at, k)
        match step:
            case Step(leaves=leaves):
                return self.values[leaves[k]]
            case Grad(inputs=inputs):
                found = computed[inputs[k]]
                assert found is not None
                number = found
            case ReadGrad(leaf):
                held = self.held.get(leaf)
                if held is None or held.may_be_missing:
                    raise Undetermined("it reads a gradient that may be missing")
                number = Number(held.value, held.bound, tensor.dtype)
            case _:
                exact = self.judging.reference.values[ref]
                bound = self._shared(forward_bound(self.judging.reference, ref, self.judging.dtype), exact)
                flag = tensor.requires_grad if isinstance(step, Leaf | Apply | Detach) else None
                number = self._number(
                    exact, np.zeros_like(bound) if isinstance(step, Leaf) else bound, tensor.dtype, flag
                )
        self.values[ref], self.seen[ref] = number, tensor.value
        return number

    def _value(self, traced: TraceStep, ref: Ref, tensor: Tensor) -> Number:
        """Returns the number that an existing value must be after an instruction that changes values in place."""
        known, before = self.values.get(ref), self.seen.get(ref)
        if known is not None and before is not None and is_equal(before, tensor.value):
            return replace(known, requires_grad=None)  # an instruction may have changed the flag
        exact, step = self.judging.reference.values[ref], traced.step
        if isinstance(step, Step):
            if ref not in step.leaves or known is None:
                raise Undetermined("a step changes the memory of another value")
            state = self.judging.reference.optimizers.get((step, ref))
            if state is None or state.moved is None:
                raise Undetermined("a step moves a leaf without a gradient")
            bound = slack(step.optimizer, dict(dict(grouped(step))[ref]), state, tensor.dtype)
            bound = bound + AFTER_STEP[self.judging.precision(tensor.dtype)] * np.abs(exact - known.value) + known.bound
            return self._number(exact, bound, tensor.dtype)
        if not isinstance(step, InPlace):
            raise Undetermined("an instruction other than a write or a step changes a value")
        written = forward_bound(self.judging.reference, self.judging.reference.writes.latest, self.judging.dtype)
        return self._number(exact, self._shared(written, exact), tensor.dtype)

    def _gradient(
        self, traced: TraceStep, ref: Ref, got: Gradient | None, computed: dict[Ref, Number | None]
    ) -> Number | None:
        """Returns the gradient that a value must hold after an instruction; None if it must hold none."""
        step, old = traced.step, self.held.get(ref)
        if isinstance(step, Backward) and ref in computed:
            return computed[ref]
        if isinstance(step, Step | Clip) and ref in step.leaves and old is not None and old.may_be_missing:
            raise Undetermined("it uses a gradient of zeros, in place of which there may be none")
        if got is None:
            cleared = isinstance(step, ZeroGrad) and step.set_to_none and ref in step.leaves
            assigned = isinstance(step, AssignGrad) and step.leaf == ref
            return old if old is not None and old.may_be_missing and not (cleared or assigned) else None
        last = self.latest.get(ref)
        if last is not None and old is not None and is_equal(last.value, got.value) and last.dtype == got.dtype:
            return old
        match step:
            case ZeroGrad() if ref in step.leaves and not got.value.any():
                zeros = np.zeros(got.value.shape)
                return Number(zeros, zeros, got.dtype, may_be_missing=old is not None and old.may_be_missing)
            case AssignGrad(leaf, given) if leaf == ref and given is not None:
                return Number(self.values[given].value, self.values[given].bound, got.dtype)
            case Clip() if ref in step.leaves and old is not None:
                bound = CLIPPED * self._epsilon(got.dtype) * np.abs(old.value) + old.bound
                return self._number(got.value.astype(np.float64), bound, got.dtype)
            case _:
                raise Undetermined("a gradient changes in a way that no vector describes")

    def _shared(self, bound: Bound, exact: np.ndarray) -> np.ndarray:
        """Returns a bound for each element, from the runs that all bounds share as long as the reference is the
        same.
        """
        bound.shared = self.runs
        return bound.array(np.shape(exact))

    def _number(self, exact: np.ndarray, bound: np.ndarray, dtype: str, flag: bool | None = None) -> Number:
        """Returns a number; raises `Undetermined` if it is too large to be compared, infinite or NaN."""
        exact, bound = np.asarray(exact, np.float64), np.asarray(bound, np.float64)
        if exact.size and not (np.abs(exact).max() < HUGE and np.isfinite(bound).all()):
            raise Undetermined("it has numbers that cannot be compared")
        if self.stepped and exact.size:
            bound = bound + AFTER_STEP[self.judging.precision(dtype)] * np.abs(exact).max()
        return Number(exact, np.broadcast_to(bound, exact.shape), dtype, flag)

    def _epsilon(self, dtype: str) -> float:
        return DTYPES[self.judging.precision(dtype)].epsilon


def _compared(expected: Expected, observed: StepObservation) -> Iterator[tuple[Number, np.ndarray]]:
    """Yields each number that a vector expects of an instruction, with what was observed, as far as there is both."""
    results = observed.outcome.values if isinstance(observed.outcome, Returned) else ()
    fired = {each.hook: each for each in observed.fired}
    pairs = (
        *zip(expected.returns or (), results, strict=False),
        *((each, observed.gradients.get(ref)) for ref, each in expected.gradients.items()),
        *((each, observed.values.get(ref)) for ref, each in expected.values.items()),
        *((each, fired.get(ref)) for ref, each in expected.fired.items()),
    )
    for number, tensor in pairs:
        if number is not None and tensor is not None and tensor.value is not None:
            yield number, tensor.value
