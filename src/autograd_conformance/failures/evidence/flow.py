"""The gradients and saved tensors of a failing backward call, for the drawing of the graph in a failure's report: which
gradients are wrong, and which saved tensors the call needs.

Hooks that only observe are added to every value just before the call, to read the gradients between the leaves. If the
program behaves differently with these hooks, their gradients are discarded. Then only the `.grad` of leaves and the
values that the functional form returned are compared with the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from autograd_conformance.failures.case import Case
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import BackwardCall, Grad, Hook, Ref
from autograd_conformance.programs.observations import Gradient, Raised, Returned, StepObservation, Tensor
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import GradientEdge
from autograd_conformance.reference.rounding.bounds import close, gradient_bound, working_dtype
from autograd_conformance.reporting.records.flow import GradientFlow, SavedTensor, ValueGradient
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.explanation.context import Context
from autograd_conformance.rules.judge.checks.contributions import is_same, value_of
from autograd_conformance.rules.prose import shown, shown_distinct
from autograd_conformance.tape.graph import Node
from autograd_conformance.tape.versions import kept_storages

MAX_LINES = 40
"""The report draws no gradient flow for a backward call after this many lines or more, as the drawing would be too
large.
"""


def flow(case: Case) -> GradientFlow | None:
    """Returns the gradients of a failing backward call and the tensors that its ops saved; None if there are none of
    either, if the failing line is no backward call, or if too many lines precede it.
    """
    if RULES[case.violation.rule].compares.has_no_reference:
        return None
    call = case.program[case.violation.at]
    if not isinstance(call, BackwardCall) or case.violation.at >= MAX_LINES:
        return None
    gradients = tuple(_Call(case, call).gradients()) if _compares(case) else ()
    saved = tuple(_saved(case))
    return GradientFlow(gradients=gradients, saved=saved) if gradients or saved else None


def _compares(case: Case) -> bool:
    """Whether the failing call returned, and the rules allow it to return. If one side is an error, there are no
    gradients to compare.
    """
    return case.context.expectation.returns is not None and case.context.raised(case.violation.at) is None


# -- gradients --------------------------------------------------------------------------------------------------------


def _both(want: np.ndarray, got: np.ndarray | None, right: bool | None) -> tuple[str, ...]:
    """Returns the expected and the observed gradient as text, with enough digits to see the difference if the gradient
    is wrong (`right` is false).
    """
    return shown_distinct(want, got) if right is False else (shown(want), shown(got))


@dataclass(frozen=True)
class _Call:
    """A failing backward call that returned; compares its gradients with the reference."""

    case: Case
    call: BackwardCall

    def gradients(self) -> Iterator[ValueGradient]:
        """Yields the gradients of the named values, from the last value to the first. If the `.grad` of a value is also
        compared, it follows the value's gradient.
        """
        context = self.case.context
        by_ref = self._returned() | self._hooked()
        expected_gradients, traversal = context.reference.pullbacks.of(self.call), context.expectation.traversal
        for edge, ref in sorted(self._edges().items(), key=lambda each: each[0].at, reverse=True):
            if edge not in expected_gradients or not (edge in traversal.must_reach or ref in self._requested):
                continue
            lines = {n.at + 1 for n in context.nodes if self._passes_on(n.entry.args, n.entry.needs_input_grad, edge)}
            through = tuple(sorted(lines - {edge.at + 1}, reverse=True))
            made = partial(ValueGradient, name=context.name(ref), line=edge.at + 1, through=through)
            got = by_ref.get(ref, _UNOBSERVED) if context.reference.tape.edge(ref) == edge else _UNOBSERVED
            right = None if isinstance(got, _Unobserved) else self._is_right(edge, got, expected_gradients[edge])
            expected, observed = (
                (shown(expected_gradients[edge]), None)
                if isinstance(got, _Unobserved)
                else _both(expected_gradients[edge], got, right)
            )
            yield made(expected=expected, observed=observed, right=right)
            if right is not False and ref in traversal.must_accumulate:
                yield from self._accumulated(ref, edge, expected_gradients[edge], made, unobserved=right is None)

    def _accumulated(
        self, ref: Ref, edge: GradientEdge, added: np.ndarray, made: Callable[..., ValueGradient], unobserved: bool
    ) -> Iterator[ValueGradient]:
        """Yields the `.grad` of a value after the call, if it is the only gradient that was observed or the only one
        that is wrong.
        """
        context = self.case.context
        gradients, old = self._observed.gradients, context.tape.grads.get(ref)
        if ref not in gradients:
            return
        want, got = added if old is None else old.value + added, value_of(gradients[ref])
        right = self._is_right(edge, got, want, old)
        if unobserved or right is False:
            expected, observed = _both(want, got, right)
            yield made(expected=expected, observed=observed, right=right, held=True)

    @property
    def _requested(self) -> frozenset[Ref]:
        """The inputs of `Grad`, or for `Backward` the value that the violation is about. The gradients of these values
        are shown even if the model cannot say that the call must reach them.
        """
        if isinstance(self.call, Grad):
            return frozenset(self.call.inputs)
        return frozenset(filter(None, [self.case.violation.subject]))

    @property
    def _observed(self) -> StepObservation:
        return self.case.observation[self.case.violation.at]

    def _edges(self) -> dict[GradientEdge, Ref]:
        """Returns the current and former gradient edges of named values, each with its value."""
        names, reference = self.case.names, self.case.context.reference
        made = [ref for ref in names if ref.at < self.case.violation.at and ref in reference.requires_grad]
        return {ref: ref for ref in made} | {reference.tape.edge(ref): ref for ref in reversed(made)}

    @staticmethod
    def _passes_on(args: tuple[GradientEdge, ...], needs: tuple[bool, ...], edge: GradientEdge) -> bool:
        return any(arg == edge and needed for arg, needed in zip(args, needs, strict=True))

    def _is_right(
        self, edge: GradientEdge, got: np.ndarray | None, want: np.ndarray, old: Gradient | None = None
    ) -> bool | None:
        """Whether a gradient equals the reference up to the bound on rounding; None if the reference is too large to
        compare. `old` is the `.grad` to which the gradient was added.
        """
        dtype = working_dtype(self.case.program)
        if not np.abs(want).max(initial=0) < DTYPES[dtype].huge:
            return None
        if got is None:
            return not want.any()
        if got.shape != want.shape:
            return False
        if close(got, want, dtype):
            return True
        bound = gradient_bound(self.case.context.reference, self.call, edge, dtype)
        slack = 0.0 if old is None else 2 * DTYPES[dtype].epsilon * (np.abs(old.value) + np.abs(want))
        return bound.allows(np.abs(got - want), slack)

    def _returned(self) -> dict[Ref, np.ndarray | None]:
        """Returns the gradients that the functional form returned, by input."""
        outcome = self._observed.outcome
        if not isinstance(self.call, Grad) or not isinstance(outcome, Returned):
            return {}
        results = zip(self.call.inputs, outcome.values, strict=False)
        return {ref: None if made is None else made.value for ref, made in results}

    def _hooked(self) -> dict[Ref, np.ndarray | None]:
        """Returns the gradients that added hooks observed during the call, by value; empty if the program behaves
        differently with these hooks, or hooks cannot be added.
        """
        case, at = self.case, self.case.violation.at
        if Capability.HOOKS not in case.target.capabilities:
            return {}
        fired = case.context.expectation.traversal.must_fire - case.context.reference.views.rebased
        named = [ref for edge, ref in self._edges().items() if edge in fired]
        targets = sorted({ref for ref in named if self._is_hookable(ref)})
        before = case.program.upto(at)
        hooked = before.extended(*map(Hook, targets)).extended(self.call)
        if case.program.mode(at) or not targets:
            return {}
        rerun = case.observe(hooked)
        if any(isinstance(each.outcome, Raised) for each in rerun[at:]) or not self._same(rerun[-1]):
            return {}
        calls = {call.hook: call.value for call in rerun[-1].fired}
        return {target: calls.get(Ref(at + k)) for k, target in enumerate(targets)}

    def _is_hookable(self, ref: Ref) -> bool:
        """Whether a hook can be added to a value safely: it is not deleted, and no view whose memory was written to, as
        such a hook has crashed PyTorch.
        """
        reference = self.case.context.reference
        return ref not in reference.storages.deleted and not reference.views.may_be_written_view(ref)

    def _same(self, rerun: StepObservation) -> bool:
        """Whether the call with the added hooks returned the same values and left the same `.grad` as without these
        hooks.
        """
        one, other = ([None if t is None else t.value for t in _values(each)] for each in (self._observed, rerun))
        same_grads = all(
            is_same(value_of(g), value_of(rerun.gradients.get(r))) for r, g in self._observed.gradients.items()
        )
        return same_grads and len(one) == len(other) and all(map(is_same, one, other))


class _Unobserved:
    """Marks a gradient that could not be observed; None means that the framework has no gradient."""


_UNOBSERVED = _Unobserved()


def _values(step: StepObservation) -> tuple[Tensor | None, ...]:
    return step.outcome.values if isinstance(step.outcome, Returned) else ()


# -- saved tensors ----------------------------------------------------------------------------------------------------


def _saved(case: Case) -> Iterator[SavedTensor]:
    """Yields the saved tensors that the failing call needs, op by op: operands, and results that the op may have saved
    instead and that were written to later.

    Ops of compiled regions, whose instructions run as one function, are left out, as their operands are not saved one
    by one. So are ops of derivatives.
    """
    context = case.context
    for node in sorted(context.nodes, key=lambda node: node.at):
        if context.tape.region(node) or node.at >= case.violation.at:
            continue
        for ref in dict.fromkeys((*context.needs(node), *_written_results(node, context))):
            writes = context.writes.get(context.reference.storages.storage(ref), [])
            if node.at in writes and ref.at != node.at:
                continue  # the write overwrote it: a framework that needs it must keep a copy
            yield SavedTensor(
                line=node.at + 1,
                name=context.name(ref),
                version=sum(at < node.at for at in writes),
                now=len(writes),
                freed_by=None if node.freed_by is None else node.freed_by + 1,
            )


def _written_results(node: Node, context: Context) -> Iterator[Ref]:
    """Yields the results of an op that the op may have saved and that were written to later."""
    kept = set(kept_storages(node)) if not node.derivative else set()
    for ref in node.entry.outs:
        storage = context.reference.storages.storage(ref)
        if ref in context.names and storage in kept and any(at > node.at for at in context.writes.get(storage, ())):
            yield ref
