"""Three independent computations of a gradient, called votes: the framework's, JAX's over the whole program, and finite
differences.

Finite differences use the framework's own forward pass, and therefore neither the framework's derivatives nor the
suite's.
"""

from __future__ import annotations

from collections.abc import Mapping

from autograd_conformance.failures.case import Case
from autograd_conformance.programs.language import (
    RANDOM,
    Apply,
    Backward,
    BackwardCall,
    Detach,
    Grad,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    Program,
    ReadGrad,
    Ref,
)
from autograd_conformance.programs.observations import Observation, Returned, Tensor
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference import whole_program as whole
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.staging.derivatives import array
from autograd_conformance.reporting.records.failure import Votes
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.diagnosis.kinds import DiagnosisKind
from autograd_conformance.rules.prose import shown, shown_distinct

STEPS = {"float64": 1e-5, "float32": 1e-2}
"""Step size of the finite differences, by the dtype of the leaf; other dtypes have too few digits for them."""

OF_WHAT_IS_HELD = frozenset(
    (DiagnosisKind.OVERWRITTEN, DiagnosisKind.NOTHING_ADDED, DiagnosisKind.OLD_ADDED, DiagnosisKind.HELD_TWICE)
)
"""Faults of a leaf's sum. The contribution of the call is right, so the votes, which are about it, would contradict."""

CLOSE = 0.1
"""Finite differences agree with a gradient if they differ from it by at most this fraction of the distance between the
framework's gradient and the reference's.
"""

CLEAR = 0.01
"""JAX's gradient confirms the reference's if the two differ by at most this fraction of the bound on rounding errors
within which the framework's gradient had to be, or of the largest error of the framework's gradient."""


def votes(case: Case) -> Votes | None:
    """Returns the three computations of the wrong gradient as text, and the conclusion.

    None if the violation is not about a gradient's value, if the diagnosis says that the call's contribution is right,
    or if there are no finite differences and JAX does not contradict the reference: the votes would add nothing to the
    explanation.
    """
    program, violation = case.program, case.violation
    call = program[violation.at]
    if (
        not isinstance(call, BackwardCall)
        or violation.got is None
        or violation.want is None
        or violation.subject is None
        or RULES[violation.rule].compares.has_no_reference
        or violation.observed.is_about_hook()  # a hook got the gradient of an earlier version of a value
        or (violation.diagnosis is not None and violation.diagnosis.kind in OF_WHAT_IS_HELD)
    ):
        return None
    before = 0.0 if violation.grad_before is None else violation.grad_before
    got, want = violation.got - before, violation.want - before
    authority = differences = None
    if isinstance(call, Backward) and _is_one_function(case):
        authority = whole.gradients(program, call).get(violation.subject)
        differences = finite_differences(case, call, violation.subject)
    else:
        reference = case.context.reference
        leaf = call.inputs[violation.subject.output] if isinstance(call, Grad) else violation.subject
        authority = whole.recorded(reference, call, reference.tape.edge(leaf))
        if isinstance(call, Backward) and _is_differentiable(case) and isinstance(program[leaf.at], Leaf):
            differences = finite_differences(case, call, leaf, kept=DIFFERENTIABLE)
    if authority is not None and not np.isfinite(authority).all():
        authority = None  # not a number: neither confirms nor contradicts
    bound = np.zeros(()) if violation.bound is None else violation.bound
    confirmed = authority is None or _agrees(authority, want, np.maximum(bound, _largest(got - want)))
    if differences is None and confirmed:
        return None
    framework, jax = shown_distinct(got, want if authority is None else authority)
    third = "not available" if differences is None else shown(differences)
    before_call = case.program.instructions[: violation.at]
    decision = _decide(got, want, confirmed, differences)
    if any(isinstance(step, BackwardCall) for step in before_call) and program.stateful:
        decision = decision.replace("forward pass", "earlier derivative").replace("the op's", "its")
    return Votes(framework, jax, third, decision)


def _is_one_function(case: Case) -> bool:
    """Whether the roots of the failing call are a pure function of the leaves: the program has no writes, hooks or grad
    modes, and no earlier call ended a graph.
    """
    earlier = case.program.instructions[: case.violation.at]
    ended = case.target.traits.ends and any(isinstance(step, BackwardCall) for step in earlier)
    return not (case.program.stateful or ended)


PURE = (Leaf, Apply, Detach)
"""Instructions of which a program without earlier calls and writes consists."""

DIFFERENTIABLE = (*PURE, InPlace, Backward, Grad, ReadGrad)
"""Instructions of which values may be computed that the failing call differentiates: writes to values that are no
leaves, and calls that record the graph of their gradients.
"""


def _is_differentiable(case: Case) -> bool:
    """Whether the roots of the failing call are a function of the leaves, computed by the program with its writes and
    earlier calls, of which the call has to give the derivative.
    """
    program, seen = case.program, case.observation
    earlier = program.instructions[: case.violation.at]
    if program.modes or not all(isinstance(step, DIFFERENTIABLE) for step in earlier):
        return False
    calls = [step for step in earlier if isinstance(step, BackwardCall)]
    writes = [step for step in earlier if isinstance(step, InPlace)]
    onto_leaf = any(isinstance(program[step.target.at], Leaf) for step in writes)
    random = any(isinstance(step, Apply) and step.op in RANDOM for step in earlier)
    returned = all(isinstance(each.outcome, Returned) for each in seen[: case.violation.at])
    hidden = bool(writes) and any(isinstance(step, Detach) for step in earlier)  # a write may change it, too
    return returned and not (random or onto_leaf or hidden) and all(call.create_graph for call in calls)


LARGE = 8.0
"""The magnitude of a number from which on the step size grows with it, so that a step changes it at all."""


def finite_differences(
    case: Case, call: Backward, leaf: Ref, kept: tuple[type[Instruction], ...] = PURE
) -> np.ndarray | None:
    """Computes the derivative of the roots with respect to one leaf, as central differences weighted with the
    cotangents; it has the leaf's shape. Instructions that are not `kept` do not run.

    None if the dtype has too few digits, if the forward pass fails or leaves the domain in which its ops are smooth, or
    at the case's deadline.
    """
    step = case.program[leaf.at]
    assert isinstance(step, Leaf)
    value = step.value
    h = STEPS.get(value.dtype)
    detached = _detached(case)
    if h is None or detached is None:
        return None
    out = np.zeros(len(value.data))
    for k in range(len(value.data)):
        ends = []
        for sign in (1, -1):
            moved = list(value.data)
            moved[k] = float(np.dtype(value.dtype).type(moved[k] + sign * h * max(1.0, abs(moved[k]) / LARGE)))
            changed = Leaf(Literal(tuple(moved), value.shape, value.dtype), step.requires_grad)
            last = case.violation.at if InPlace in kept else max(root.at for root in call.roots) + 1
            forward = _forward(case.program.upto(last), {**detached, leaf.at: changed}, kept)
            is_outside = case.is_over() or Reference(forward).is_outside_domains
            weighted = None if is_outside else _weighted(case.observe(forward), call)
            if weighted is None:
                return None
            ends.append((weighted, moved[k]))
        out[k] = (ends[0][0] - ends[1][0]) / (ends[0][1] - ends[1][1])
    return out.reshape(value.shape)


def _detached(case: Case) -> dict[int, Leaf] | None:
    """Returns each detached value as a constant leaf, by instruction: the derivative treats it as a constant, so finite
    differences must not move it. None if a detached value is internal to a compiled or checkpointed function and was
    not observed.
    """
    found: dict[int, Leaf] = {}
    observation = case.observe(case.program)
    for at, step in enumerate(case.program):
        if isinstance(step, Detach) and isinstance(observation[at].outcome, Returned):
            tensor = _made(observation, Ref(at))
            if tensor is None:
                return None
            found[at] = Leaf(Literal(tuple(tensor.value.ravel().tolist()), tensor.value.shape, tensor.dtype), False)
    return found


def _forward(program: Program, changed: Mapping[int, Leaf], kept: tuple[type[Instruction], ...]) -> Program:
    """Returns a program with the leaves in `changed` replaced. Instructions that are not `kept` are replaced by unused
    copies of a leaf, so that instruction numbers stay, and that no dtype or shape is new to the framework.
    """
    steps: list[Instruction] = []
    unused = next(step for step in program if isinstance(step, Leaf))
    for at, step in enumerate(program):
        if not isinstance(step, kept):
            step = unused
        steps.append(changed.get(at, step))
    return Program(tuple(steps))


def _weighted(observation: Observation, call: Backward) -> float | None:
    """Returns the sum of the roots' elements weighted with the cotangents; None if a root was not observed."""
    total = 0.0
    for root, cotangent in zip(call.roots, call.cotangents, strict=True):
        made = _made(observation, root)
        if made is None:
            return None
        value = made.value.astype(np.float64)
        total += float((value * (1.0 if cotangent is None else array(cotangent))).sum())
    return total


def _made(observation: Observation, ref: Ref) -> Tensor | None:
    """Returns the value of a result as its instruction, the compiled or checkpointed function with this instruction, or
    the last write to it returned it; None if it was not observed.
    """
    outcome = observation[ref.at].outcome
    if not isinstance(outcome, Returned):
        return None
    written = [made for each in observation[ref.at + 1 :] if (made := each.values.get(ref)) and not each.region]
    if written:
        return written[-1]
    later = (each.values.get(ref) for each in observation[ref.at :] if each.region)
    return outcome.values[ref.output] or next(filter(None, later), None)


def _agrees(authority: np.ndarray, want: np.ndarray, error: np.ndarray) -> bool:
    """Whether JAX over the whole program confirms the reference. The tolerance allows two ways of computing the same
    value to round differently, and is far below the framework's error.
    """
    return bool((np.abs(authority - want) <= np.maximum(1e-9 * np.abs(want) + 1e-12, CLEAR * error)).all())


def _largest(errors: np.ndarray) -> float:
    """Returns the size of the largest finite error, 0 if there is none."""
    return float(np.max(np.abs(errors), initial=0.0, where=np.isfinite(errors)))


def _decide(got: np.ndarray, want: np.ndarray, confirmed: bool, differences: np.ndarray | None) -> str:
    """Returns the conclusion from the three computations as a sentence that makes sense without its context."""
    if not confirmed:
        return "JAX over the whole program does not confirm the suite's reference: this is the suite's fault."
    if np.isnan(got).any():
        return "The framework's gradient is not a number, and JAX's is one: the gradient is wrong."
    if np.isinf(got).any():
        return "The framework's gradient is infinite, and JAX's is not: the gradient is wrong."
    if differences is None or not differences.size or not np.isfinite(differences).all():
        return "JAX disagrees with the framework; finite differences do not decide."
    to_got, to_want = np.abs(differences - got).max(), np.abs(differences - want).max()
    apart = np.abs(got - want).max()
    if to_want <= CLOSE * apart:
        return "Finite differences of the framework's own forward pass agree with JAX: the gradient is wrong."
    if to_got <= CLOSE * apart:
        return "Finite differences agree with the framework: the forward pass differs from the op's definition."
    if apart <= min(to_got, to_want) and apart <= CLOSE * max(np.abs(got).max(), np.abs(want).max()):
        return "The difference is too small for finite differences to resolve; JAX decides."
    return "Finite differences agree with neither; JAX decides."
